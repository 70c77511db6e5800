//! Numbers that look random and are the same in every run.

/// A generator with 64 bits of state (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub const fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    /// 32 bytes, as a digest has.
    pub fn digest(&mut self) -> [u8; 32] {
        let mut digest = [0; 32];
        for eight in digest.chunks_mut(8) {
            eight.copy_from_slice(&self.number().to_le_bytes());
        }
        digest
    }
}
