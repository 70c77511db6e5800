//! Which types are sets to Rust and sequences to serde. Knows them by name only.
//!
//! Serde gives a serialiser no sign of a set, and idem owns neither `HashSet` nor the types that hold one. What a
//! serialiser does have is the static type of every field and element, and so its name. The standard library does
//! not promise how names look; a test pins them, so that a compiler that changes them fails the build of idem and
//! not the keys of its users.

use std::any::type_name;

/// Sequences whose order means nothing and may change from run to run.
const UNORDERED: [&str; 3] = [
    "std::collections::hash::set::HashSet<",
    "hashbrown::set::HashSet<",
    "alloc::collections::binary_heap::BinaryHeap<",
];

/// Pointers that serialise as what they point to, without passing the serialiser again.
const POINTERS: [&str; 4] = ["&", "alloc::boxed::Box<", "alloc::sync::Arc<", "alloc::rc::Rc<"];

/// Whether the name of `T` says that its order means nothing. Looks through one pointer.
#[inline(always)]
#[expect(clippy::inline_always, reason = "folds to a constant only where `T` is known")]
pub(super) fn is_unordered<T: ?Sized>() -> bool {
    let name = type_name::<T>();
    let pointed = POINTERS.iter().find_map(|pointer| name.strip_prefix(pointer)).unwrap_or(name);
    UNORDERED.iter().any(|set| pointed.starts_with(set))
}
