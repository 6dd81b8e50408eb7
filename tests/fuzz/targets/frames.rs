//! The size prefix of frames, and request headers.

use net::{Front, front};
use protocol::{ApiRange, ApiTable, RequestHeader, Writer};

/// Bytes of a frame's size prefix.
const PREFIX: usize = 4;
const MAX_FRAME_BYTES: usize = 1000;
/// A row of tests/fixtures/apis/kafka-4.4.0.tsv has more; the flexible versions are what headers depend on.
const FLEXIBLE_FROM: [(i16, i16); 8] = [
    (ApiTable::PRODUCE, 9),
    (ApiTable::FETCH, 12),
    (ApiTable::METADATA, 9),
    (ApiTable::SASL_HANDSHAKE, i16::MAX),
    (ApiTable::API_VERSIONS, 3),
    (ApiTable::SASL_AUTHENTICATE, 2),
    (ApiTable::END_TXN, 3),
    (ApiTable::ADOPT_SEGMENTS, 0),
];

/// A stream of frames.
pub fn frames(data: &[u8]) {
    let mut rest = data;
    loop {
        match front(rest, MAX_FRAME_BYTES) {
            Front::Frame(len) => {
                assert!((1..=MAX_FRAME_BYTES).contains(&len));
                let (whole, after) = rest.split_at(PREFIX + len);
                for cut in [1, PREFIX - 1, PREFIX, whole.len() - 1] {
                    let needed = if cut < PREFIX { PREFIX } else { whole.len() };
                    assert_eq!(front(&whole[..cut], MAX_FRAME_BYTES), Front::Partial(needed));
                }
                assert_eq!(
                    front(whole, len - 1),
                    Front::Bad(len as i32),
                    "one byte above the limit"
                );
                rest = after;
            }
            Front::Partial(needed) => {
                assert!((rest.len() + 1..=PREFIX + MAX_FRAME_BYTES).contains(&needed));
                break;
            }
            Front::Bad(size) => {
                assert!(usize::try_from(size).is_ok_and(|size| size == 0 || size > MAX_FRAME_BYTES) || size < 0);
                break;
            }
        }
    }
}

/// A frame with its request header.
pub fn headers(data: &[u8]) {
    let ranges = FLEXIBLE_FROM.map(|(key, flexible_from)| ApiRange {
        key,
        min: 0,
        max: 20,
        flexible_from,
        is_advertised: true,
    });
    let table = ApiTable::new(ranges.into());
    let is_flexible = |key, version| table.is_flexible(key, version);
    let Ok(header) = RequestHeader::parse(data, is_flexible) else {
        return;
    };
    assert!(header.body_at <= data.len());
    let mut written = Vec::new();
    let mut writer = Writer::new(&mut written, false);
    writer.i16(header.api_key);
    writer.i16(header.api_version);
    writer.i32(header.correlation_id);
    writer.nullable_string(header.client_id);
    let before_tags = written.len();
    if is_flexible(header.api_key, header.api_version) {
        Writer::new(&mut written, true).no_tags();
    } else {
        assert_eq!(before_tags, header.body_at);
    }
    assert_eq!(
        written[..before_tags].to_vec(),
        canonical(&data[..before_tags], header.client_id.is_none())
    );
    let again = RequestHeader::parse(&written, is_flexible);
    let expected = RequestHeader {
        body_at: written.len(),
        ..header
    };
    assert_eq!(again, Ok(expected));
}

/// The bytes of a header without tags, with the length −1 for a client id that is null: any negative length is null.
fn canonical(header: &[u8], is_null: bool) -> Vec<u8> {
    let mut header = header.to_vec();
    if is_null {
        header.truncate(8);
        header.extend((-1_i16).to_be_bytes());
    }
    header
}
