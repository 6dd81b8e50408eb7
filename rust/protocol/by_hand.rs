//! What is read and written by hand, and why. All else is read and written after the table ([`crate::codec`]), or as
//! types that are made from it ([`crate::messages`]).
//!
//! - [`crate::produce`], [`crate::fetch`]: each record passes here. Requests are decoded into vectors that are reused,
//!   names and records stay positions in the body, heads are written with one copy, and records go from the file to the
//!   socket between two of them.
//! - [`crate::fetch::follower`] and the followers' part of [`crate::list_offsets`]: the fetch loop of each replica asks
//!   and reads in one version.
//! - [`crate::list_offsets`], [`crate::offset_commit`], [`crate::txn_offset_commit`], [`crate::offset_fetch`]:
//!   consumers send them all the time; the loop of the connection answers them, without an object for each row.
//! - [`crate::metadata`]: the answer is written straight from the metadata image, of which nothing is copied.
//! - [`crate::api_versions`], [`crate::header`]: the first bytes of each connection and of each request, before the
//!   version is known to be one that is served.
//! - [`crate::throttle_time`]: patches a number into an answer that is written already; the tests of the control plane
//!   compare its places with the codec's (`tests/unit/requests/test_throttle_time.py`).
//!
//! In other crates the producer of the Spark sink writes its batches into requests of Produce as it makes them
//! (`rust/producer/produce.rs`), and the coordinators write and read their records (`records.rs`): their own tests are
//! the check. All others here are compared with the codec over random messages of every version: what it reads is what
//! the codec wrote, and what it writes is byte for byte what the codec writes.

mod fetch;
mod metadata;
mod offsets;
mod produce;
mod rows;

use super::error::WireError;

/// What each decoder says to bytes of a version that it does not know.
#[test]
fn versions_that_are_not_served_are_refused() {
    let bytes = [0; 64];
    for (first, last, decode) in DECODERS {
        for version in [first - 1, last + 1] {
            assert_eq!(decode(version, &bytes), Err(WireError::UnsupportedVersion), "{version}");
        }
        assert_eq!(
            decode(first, &bytes),
            Ok(()),
            "zeros are a message of the first version"
        );
    }
}

type Decoder = (i16, i16, fn(i16, &[u8]) -> Result<(), WireError>);

const DECODERS: [Decoder; 7] = [
    (0, 13, |version, body| {
        super::ProduceRequest::default().decode(version, body)
    }),
    (0, 18, |version, body| {
        super::FetchRequest::default().decode(version, body)
    }),
    (0, 11, |version, body| {
        super::ListOffsetsRequest::default().decode(version, body)
    }),
    (0, 13, |version, body| {
        super::MetadataRequest::default().decode(version, body)
    }),
    (0, 10, |version, body| {
        super::OffsetCommitRequest::default().decode(version, body)
    }),
    (0, 10, |version, body| {
        super::OffsetFetchRequest::default().decode(version, body)
    }),
    (0, 5, |version, body| {
        super::TxnOffsetCommitRequest::default().decode(version, body)
    }),
];
