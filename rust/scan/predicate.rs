//! The conditions on the records of a split, in addition to its range of offsets.

use std::sync::Arc;

/// All conditions must hold. The default wants every record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Predicate {
    /// Least timestamp wanted, ms since the epoch, inclusive.
    pub min_timestamp_ms: Option<i64>,
    /// First timestamp no longer wanted, ms since the epoch.
    pub end_timestamp_ms: Option<i64>,
    /// The keys wanted; `None` within is the null key. An empty list wants nothing.
    pub keys: Option<Arc<[Option<Vec<u8>>]>>,
}

impl Predicate {
    /// Whether it wants every record.
    pub fn is_all(&self) -> bool {
        self.min_timestamp_ms.is_none() && self.end_timestamp_ms.is_none() && self.keys.is_none()
    }

    /// Whether a record with this timestamp and key is wanted.
    #[inline]
    pub fn wants(&self, timestamp_ms: i64, key: Option<&[u8]>) -> bool {
        self.min_timestamp_ms.is_none_or(|min| timestamp_ms >= min)
            && self.end_timestamp_ms.is_none_or(|end| timestamp_ms < end)
            && self
                .keys
                .as_ref()
                .is_none_or(|keys| keys.iter().any(|wanted| wanted.as_deref() == key))
    }
}
