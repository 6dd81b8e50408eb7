//! Inputs made from a corpus by changes that a seed decides: the same seed, the same inputs.

/// Bytes that are near a limit of some field.
const NEAR_LIMITS: [&[u8]; 12] = [
    &[0],
    &[0x7f],
    &[0x80],
    &[0xff],
    &[0, 0],
    &[0x7f, 0xff],
    &[0xff, 0xff],
    &[0, 0, 0, 0],
    &[0x7f, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
];
const MAX_BYTES: usize = 16 << 10;

/// See the module.
pub struct Changes(u64);

impl Changes {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit.max(1) as u64).unwrap_or(0)
    }

    /// A member of the corpus after one to eight changes.
    pub fn input(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(8) {
            self.change(&mut input, corpus);
        }
        input.truncate(MAX_BYTES);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(input.len());
        let end = at + self.below((input.len() - at).min(16) + 1);
        match self.below(6) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 => drop(input.drain(at..end)),
            2 => {
                let part = input[at..end].to_vec();
                input.splice(at..at, part);
            }
            3 => {
                let near = NEAR_LIMITS[self.below(NEAR_LIMITS.len())];
                let end = input.len().min(at + near.len());
                input.splice(at..end, near.iter().copied());
            }
            4 => {
                let other = &corpus[self.below(corpus.len())];
                let from = self.below(other.len());
                input.truncate(at);
                input.extend(&other[from..]);
            }
            _ => input.insert(at, self.below(256) as u8),
        }
    }
}
