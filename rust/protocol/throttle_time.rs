//! Where an answer has its `throttle_time_ms`: the field is set after the answer was made, when the client turns out to
//! be over its quota of request time.
//!
//! Most answers begin with the field, from some version on. Produce and Fetch write the field themselves, since their
//! quotas count more than time; `ApiVersions` and the answers about delegation tokens end with it, behind fields of any
//! length, and are not patched. `tests/unit/requests/test_throttle_time.py` compares the table with the messages.

use super::api_table::ApiTable;

/// The first version with the field, by API key; -1 where no version has it at a fixed place.
const FIRST: [i16; 76] = [
    -1, -1, 2, 3, -1, -1, -1, -1, 3, 3, // Produce to OffsetFetch
    1, 2, 1, 1, 1, 1, 1, -1, -1, 2, // FindCoordinator to CreateTopics
    1, 0, 0, 2, 0, 0, 0, -1, 0, 0, // DeleteTopics to DescribeAcls
    0, 0, 0, 0, 0, 0, -1, 0, -1, -1, // CreateAcls to RenewDelegationToken
    -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, // ExpireDelegationToken to AlterClientQuotas
    0, 0, -1, -1, -1, -1, -1, 0, -1, -1, // DescribeUserScramCredentials to FetchSnapshot
    0, 0, -1, -1, -1, 0, 0, -1, 0, 0, // DescribeCluster to ConsumerGroupDescribe
    -1, -1, -1, -1, 0, 0, // ControllerRegistration to DescribeTopicPartitions
];

/// `OffsetDelete` alone has its error code first.
const AFTER_ERROR_CODE: i16 = 47;

/// The position in the answer's body of `throttle_time_ms`, 4 bytes; `None` when it is not at a fixed place.
#[inline]
pub fn throttle_time_at(api_key: i16, version: i16) -> Option<u8> {
    let first = *usize::try_from(api_key).ok().and_then(|key| FIRST.get(key))?;
    if first < 0 || version < first {
        return None;
    }
    Some(if api_key == AFTER_ERROR_CODE { 2 } else { 0 })
}

/// Sets the field of an answer's body; false when the body is too short, as an answer in several parts may be.
pub fn set_throttle_time(body: &mut [u8], at: u8, throttle_time_ms: i32) -> bool {
    let field = body
        .get_mut(usize::from(at)..)
        .and_then(|rest| rest.first_chunk_mut::<4>());
    field.is_some_and(|field| {
        *field = throttle_time_ms.to_be_bytes();
        true
    })
}

/// The field of an answer's body; 0 when the body is too short.
pub fn throttle_time(body: &[u8], at: u8) -> i32 {
    let field = body.get(usize::from(at)..).and_then(|rest| rest.first_chunk::<4>());
    field.map_or(0, |field| i32::from_be_bytes(*field))
}

/// Whether a request counts for no quota of request time: a broker asks what brokers alone ask of each other.
pub fn is_exempt(is_broker: bool, api_key: i16) -> bool {
    is_broker && matches!(api_key, 4..=7 | ApiTable::WRITE_TXN_MARKERS | 56 | 58)
}

#[cfg(test)]
#[path = "throttle_time_tests.rs"]
mod tests;
