//! The rules of the house that a machine can check, one module a rule or a family of them.
//!
//! It reads the source tree as text and tokens and must not know what the code does: no member of the workspace is
//! linked here. Every rule is shown a small text that breaks it, so that each is known to be able to fail.

mod tidy {
    //! Rules and what they share; the folder beside this file.

    mod dependencies;
    mod floors;
    mod heads;
    mod machine;
    mod rule;
    mod sizes;
    mod source;
    mod stubs;
    mod words;
}
