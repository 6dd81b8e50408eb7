//! The APIs and versions that this broker serves: published by the control plane once at start, read on every request.

/// One API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiRange {
    /// The API key.
    pub key: i16,
    /// The first version served.
    pub min: i16,
    /// The last version served.
    pub max: i16,
    /// The first flexible version (KIP-482); `i16::MAX` when there is none.
    pub flexible_from: i16,
    /// Whether `ApiVersions` lists the API; inter-broker APIs are not listed.
    pub is_advertised: bool,
}

impl ApiRange {
    /// Whether requests of this version are served.
    pub fn serves(&self, version: i16) -> bool {
        (self.min..=self.max).contains(&version)
    }

    /// The first version advertised: Produce is advertised from 0 on even where it is served from 3, since librdkafka
    /// picks its message format by it (KIP-896).
    pub fn advertised_min(&self) -> i16 {
        if self.key == ApiTable::PRODUCE { 0 } else { self.min }
    }
}

/// All APIs, by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiTable {
    ranges: Vec<ApiRange>,
}

impl ApiTable {
    /// Produce's key.
    pub const PRODUCE: i16 = 0;
    /// Fetch's key.
    pub const FETCH: i16 = 1;
    /// `ListOffsets`' key.
    pub const LIST_OFFSETS: i16 = 2;
    /// Metadata's key.
    pub const METADATA: i16 = 3;
    /// `OffsetCommit`'s key.
    pub const OFFSET_COMMIT: i16 = 8;
    /// `OffsetFetch`'s key.
    pub const OFFSET_FETCH: i16 = 9;
    /// Heartbeat's key.
    pub const HEARTBEAT: i16 = 12;
    /// `FindCoordinator`'s key.
    pub const FIND_COORDINATOR: i16 = 10;
    /// `InitProducerId`'s key.
    pub const INIT_PRODUCER_ID: i16 = 22;
    /// `AddPartitionsToTxn`'s key.
    pub const ADD_PARTITIONS_TO_TXN: i16 = 24;
    /// `AddOffsetsToTxn`'s key.
    pub const ADD_OFFSETS_TO_TXN: i16 = 25;
    /// `EndTxn`'s key.
    pub const END_TXN: i16 = 26;
    /// `WriteTxnMarkers`' key.
    pub const WRITE_TXN_MARKERS: i16 = 27;
    /// `TxnOffsetCommit`'s key.
    pub const TXN_OFFSET_COMMIT: i16 = 28;
    /// `SaslHandshake`'s key.
    pub const SASL_HANDSHAKE: i16 = 17;
    /// `SaslAuthenticate`'s key.
    pub const SASL_AUTHENTICATE: i16 = 36;
    /// `AdoptSegments`' key: an API of our own, far from the keys that Kafka gives away in order.
    pub const ADOPT_SEGMENTS: i16 = 27_000;
    /// `ApiVersions`' key.
    pub const API_VERSIONS: i16 = 18;

    /// A table of `ranges`; of two ranges with the same key the first is used.
    pub fn new(mut ranges: Vec<ApiRange>) -> Self {
        ranges.sort_by_key(|range| range.key);
        ranges.dedup_by_key(|range| range.key);
        Self { ranges }
    }

    /// The API of this key.
    #[inline]
    pub fn get(&self, key: i16) -> Option<&ApiRange> {
        match self.ranges.get(usize::try_from(key).ok()?) {
            Some(range) if range.key == key => Some(range),
            _ => self
                .ranges
                .binary_search_by_key(&key, |range| range.key)
                .ok()
                .and_then(|at| self.ranges.get(at)),
        }
    }

    /// Whether a request of this key and version has tagged fields; false for unknown keys. For
    /// [`RequestHeader::parse`](super::RequestHeader::parse).
    #[inline]
    pub fn is_flexible(&self, key: i16, version: i16) -> bool {
        self.get(key).is_some_and(|range| version >= range.flexible_from)
    }

    /// Whether the response header of this key and version has tagged fields: as the request, but never for
    /// `ApiVersions`.
    #[inline]
    pub fn is_response_flexible(&self, key: i16, version: i16) -> bool {
        key != Self::API_VERSIONS && self.is_flexible(key, version)
    }

    /// All ranges, by ascending key.
    pub fn ranges(&self) -> &[ApiRange] {
        &self.ranges
    }
}

#[cfg(test)]
#[path = "api_table_tests.rs"]
mod tests;
