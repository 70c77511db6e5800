//! Chance that a seed repeats.
//!
//! Must not know what is drawn.

/// A small source of chance, the same for a seed.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The draws of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Anything below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
