//! Kafka's error codes: facts of Kafka 4.4, made of `errors.txt` by `build.rs`.

include!(concat!(env!("OUT_DIR"), "/codes.rs"));

/// A Kafka protocol error code; 0 is success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ErrorCode(pub i16);

/// What Kafka says of one code.
#[derive(Debug)]
pub struct ErrorFact {
    /// The code.
    pub code: ErrorCode,
    /// Kafka's name.
    pub name: &'static str,
    /// Whether Kafka's clients try again by themselves.
    pub is_retriable: bool,
    /// The class of Kafka's exception; "none" for success.
    pub exception: &'static str,
}

impl ErrorCode {
    /// What Kafka says of it; `None` for a code that Kafka has not.
    pub fn fact(self) -> Option<&'static ErrorFact> {
        let first = ERRORS.first()?.code.0;
        ERRORS.get(usize::try_from(i32::from(self.0) - i32::from(first)).ok()?)
    }

    /// Kafka's name, for messages and logs.
    pub fn name(self) -> &'static str {
        self.fact().map_or("UNKNOWN", |fact| fact.name)
    }

    /// Whether Kafka's clients try again by themselves.
    pub fn is_retriable(self) -> bool {
        self.fact().is_some_and(|fact| fact.is_retriable)
    }
}
