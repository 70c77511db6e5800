//! Tool sets: from a provider's message to guarded calls, and back, in every format.
//!
//! Effects are counted in the world outside, and reservations in the ledger.

#![cfg(feature = "tools")]

mod toolset {
    //! One module a question; [`stage`] has the tools, [`written`] the formats as a provider writes and reads them.

    mod answers;
    mod arguments;
    mod definitions;
    mod ends;
    mod ids;
    mod sets;
    mod stage;
    mod streams;
    mod written;
}
