//! Answers of brokers, for the tests of those who ask.

/// The body of an answer, field by field.
#[derive(Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn i16(mut self, value: i16) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }
    pub fn i32(mut self, value: i32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }
    pub fn i64(mut self, value: i64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }
    pub fn text(mut self, text: &str) -> Self {
        self = self.i16(text.len() as i16);
        self.0.extend(text.as_bytes());
        self
    }
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
}
