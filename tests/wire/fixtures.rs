//! Reads `bodies.txt`: a line `api kind version case hex` for each version of the APIs that the data plane answers,
//! written by kio 0.6.5, a codec that shares no code with ours. The values of the cases `full` and `bare` stand in the
//! tests: the data plane decodes the requests to them and encodes the responses from them, byte for byte.

use std::fmt::Debug;

use protocol::{NodeEndpoint, TopicId, WireError};

/// The topics of every `full` case.
pub const EVENTS: TopicId = [1; 16];
pub const LOG: TopicId = [2; 16];
pub const DIRECTORY: TopicId = [3; 16];
pub const ENDPOINTS: [NodeEndpoint<'static>; 2] = [
    NodeEndpoint {
        node_id: 2,
        host: "broker-2",
        port: 9092,
        rack: Some("r1"),
    },
    NodeEndpoint {
        node_id: 3,
        host: "h",
        port: 1,
        rack: None,
    },
];

/// One line of `bodies.txt`.
#[derive(Debug)]
pub struct Body {
    pub version: i16,
    pub case: &'static str,
    pub bytes: Vec<u8>,
}

/// Every body, with its API and kind.
pub fn every_body() -> impl Iterator<Item = ([&'static str; 2], Body)> {
    include_str!("../fixtures/wire/bodies.txt").lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let body = Body {
            version: words[2].parse().unwrap(),
            case: words[3],
            bytes: from_hex(words[4]),
        };
        ([words[0], words[1]], body)
    })
}

/// The bodies of one API and kind; never none.
pub fn bodies(api: &str, kind: &str) -> Vec<Body> {
    let of_api = every_body().filter(|(of, _)| *of == [api, kind]);
    let bodies: Vec<Body> = of_api.map(|(_, body)| body).collect();
    assert!(!bodies.is_empty(), "no {api} {kind} in the fixture");
    bodies
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.trim_matches('-');
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// A body decodes to `expected`, also over what an earlier request left behind; each of its truncations is refused.
/// `optional` is how many bytes of its end may be missing.
pub fn decodes<T: Clone + PartialEq + Debug>(
    body: &Body,
    used: &T,
    expected: &T,
    decode: impl Fn(&mut T, i16, &[u8]) -> Result<(), WireError>,
) {
    let mut request = used.clone();
    assert_eq!(decode(&mut request, body.version, &body.bytes), Ok(()), "{body:?}");
    assert_eq!(&request, expected, "{body:?}");
    for end in 0..body.bytes.len() {
        let cut = decode(&mut request, body.version, &body.bytes[..end]);
        assert!(
            cut.is_err(),
            "v{} {} cut at {end} of {}",
            body.version,
            body.case,
            body.bytes.len()
        );
    }
}
