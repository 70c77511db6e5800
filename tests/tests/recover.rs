//! What becomes of an operation whose outcome nobody knows: sent again under the provider's key, looked up, searched
//! for, handed to a person.
//!
//! The provider is really called over HTTP, and effects are counted in its books.

mod recover {
    //! One module a way to find out; [`stage`] has the tools.

    mod chain;
    mod habits;
    mod late;
    mod lookup;
    mod provider_key;
    mod reconciler;
    mod settling;
    mod stage;
    mod told;
}
