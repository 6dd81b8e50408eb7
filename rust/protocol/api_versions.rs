//! `ApiVersions`, versions 0 to 4: a client's first request.
//!
//! ```text
//! request  := v0-2: nothing; v3-4: client_software_name:string client_software_version:string tags
//! response := error_code:i16 [api_key:i16 min:i16 max:i16 (tags v3+)] (throttle_time_ms:i32 v1+) (tags v3+)
//! tag 0    := [name:string min:i16 max:i16 tags]                             supported features
//! tag 1    := epoch:i64                                                      finalized features' epoch
//! tag 2    := [name:string max_level:i16 min_level:i16 tags]                 finalized features
//! ```
//! The response's header is v0 in every version. Tag 1 is omitted when no epoch is known (-1), tags 0 and 2 when they
//! list nothing; a finalized feature has one level, which is its max and its min level.

use std::ops::Range;

use base::error::ErrorCode;

use super::api_table::ApiTable;
use super::error::WireError;
use super::reader::Reader;
use super::topic::text;
use super::writer::Writer;

/// The last version of `ApiVersions` that is served.
pub const MAX_VERSION: i16 = 4;
const FLEXIBLE_FROM: i16 = 3;
const NO_EPOCH: i64 = -1;
/// The first version whose clients accept a feature with a lowest level of 0 (KAFKA-17011).
const LEVEL_0_FROM: i16 = 4;

/// A feature that a cluster may agree on, and the levels that this broker supports (KIP-584).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// Kafka's name.
    pub name: &'static str,
    /// The lowest level.
    pub min: i16,
    /// The highest level.
    pub max: i16,
}

/// A feature that the cluster agreed on, and its level (KIP-584).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalizedFeature {
    /// Kafka's name.
    pub name: String,
    /// The level; 0 means that the feature is off, and the response does not list it.
    pub level: i16,
}

/// The features of an `ApiVersions` response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features<'a> {
    /// The features that this broker supports.
    pub supported: &'a [Feature],
    /// The epoch of the finalized features, which grows with each change; -1 before there is one. Clients take no list
    /// of an older epoch, so it is there even when no feature is finalized.
    pub epoch: i64,
    /// The features that the cluster agreed on.
    pub finalized: &'a [FinalizedFeature],
}

const fn levels_to(name: &'static str, max: i16) -> Feature {
    Feature { name, min: 0, max }
}

/// The feature that decides which transactions clients use (KIP-890) and how they are stored.
pub const TRANSACTION_VERSION: &str = "transaction.version";

/// The features of Kafka that this broker reports, from level 0, which means that the feature is off. The metadata has
/// the one level of Kafka 4.3 (`4.3-IV0`): tools look for it, and nothing here can be switched by it.
pub const FEATURES: [Feature; 5] = [
    levels_to("group.version", 0),
    Feature {
        name: "metadata.version",
        min: 30,
        max: 30,
    },
    levels_to("share.version", 0),
    levels_to("streams.version", 0),
    levels_to(TRANSACTION_VERSION, 2),
];

/// The client's software name and version (KIP-511); ranges of the body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiVersionsRequest {
    /// Such as `librdkafka`; `None` before version 3.
    pub client_software_name: Option<Range<usize>>,
    /// Such as `2.16.1`; `None` before version 3.
    pub client_software_version: Option<Range<usize>>,
}

impl ApiVersionsRequest {
    /// Decodes a body. A version above 4 is not an error of the bytes: answer it with
    /// [`encode_api_versions_unsupported`] without decoding.
    pub fn decode(version: i16, body: &[u8]) -> Result<Self, WireError> {
        match version {
            0..FLEXIBLE_FROM => Ok(Self::default()),
            FLEXIBLE_FROM..=MAX_VERSION => {
                let mut reader = Reader::new(body, true);
                let name = reader.string()?;
                let software_version = reader.string()?;
                reader.skip_tags()?;
                Ok(Self {
                    client_software_name: Some(name),
                    client_software_version: Some(software_version),
                })
            }
            _ => Err(WireError::UnsupportedVersion),
        }
    }

    /// Whether name and version, when the version of the request has them, match Kafka's
    /// `[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?`; if not the answer is `INVALID_REQUEST`.
    pub fn is_valid(&self, body: &[u8]) -> bool {
        [&self.client_software_name, &self.client_software_version]
            .into_iter()
            .flatten()
            .all(|range| text(body, range).is_some_and(is_software_name))
    }
}

fn is_software_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| inner(*byte))
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// Appends a response body of a version from 0 to 4. With an error the lists of APIs and features are empty, as
/// Kafka's.
pub fn encode_api_versions_response(
    out: &mut Vec<u8>,
    version: i16,
    (table, features): (&ApiTable, Features<'_>),
    error: ErrorCode,
    throttle_time_ms: i32,
) {
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    let ranges = if error == ErrorCode::NONE { table.ranges() } else { &[] };
    let ranges: Vec<_> = ranges.iter().filter(|range| range.is_advertised).collect();
    w.reserve(16 + ranges.len() * 7);
    w.i16(error.0);
    w.length(Some(ranges.len()));
    for range in ranges {
        w.i16(range.key);
        w.i16(range.advertised_min());
        w.i16(range.max);
        w.no_tags();
    }
    if version >= 1 {
        w.i32(throttle_time_ms);
    }
    if error == ErrorCode::NONE && version >= FLEXIBLE_FROM {
        feature_tags(&mut w, version, features);
    } else {
        w.no_tags();
    }
}

/// Tags 0, 1 and 2, each only when it has something to tell.
fn feature_tags(w: &mut Writer<'_>, version: i16, features: Features<'_>) {
    let takes = |feature: &&Feature| feature.min > 0 || version >= LEVEL_0_FROM;
    let supported: Vec<_> = features.supported.iter().filter(takes).collect();
    let finalized: Vec<_> = features.finalized.iter().filter(|feature| feature.level > 0).collect();
    let has_epoch = features.epoch != NO_EPOCH;
    let lists = [!supported.is_empty(), has_epoch, !finalized.is_empty()];
    w.tag_count(lists.map(usize::from).iter().sum());
    if !supported.is_empty() {
        w.tag(0, |w| {
            w.length(Some(supported.len()));
            for feature in supported {
                w.string(feature.name);
                w.i16(feature.min);
                w.i16(feature.max);
                w.no_tags();
            }
        });
    }
    if has_epoch {
        w.tag(1, |w| w.i64(features.epoch));
    }
    if !finalized.is_empty() {
        w.tag(2, |w| {
            w.length(Some(finalized.len()));
            for feature in finalized {
                w.string(&feature.name);
                w.i16(feature.level);
                w.i16(feature.level);
                w.no_tags();
            }
        });
    }
}

/// Appends the answer to an `ApiVersions` request of a version that is not served: a body of version 0 with error 35
/// and the range of `ApiVersions` alone, so that the client can ask again (KIP-511).
pub fn encode_api_versions_unsupported(out: &mut Vec<u8>, table: &ApiTable) {
    let mut w = Writer::new(out, false);
    let range = table.get(ApiTable::API_VERSIONS);
    w.i16(ErrorCode::UNSUPPORTED_VERSION.0);
    w.length(Some(usize::from(range.is_some())));
    if let Some(range) = range {
        w.i16(range.key);
        w.i16(range.min);
        w.i16(range.max);
    }
}

#[cfg(test)]
#[path = "api_versions_tests.rs"]
mod tests;
