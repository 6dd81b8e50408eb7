//! The choices of a target, taken from the front of its bytes; zeros once they are used up.

/// The bytes that are left.
pub struct Take<'a>(pub &'a [u8]);

impl<'a> Take<'a> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let count = N.min(self.0.len());
        out[..count].copy_from_slice(self.slice(count));
        out
    }

    /// At most `count` of the next bytes.
    pub fn slice(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// One of a few.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }
}
