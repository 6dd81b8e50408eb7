use super::super::api_table::ApiRange;
use super::*;

const NO_FEATURES: Features<'_> = Features {
    supported: &[],
    epoch: -1,
    finalized: &[],
};

fn table() -> ApiTable {
    ApiTable::new(vec![
        ApiRange {
            key: 0,
            min: 3,
            max: 13,
            flexible_from: 9,
            is_advertised: true,
        },
        ApiRange {
            key: 18,
            min: 0,
            max: 4,
            flexible_from: 3,
            is_advertised: true,
        },
    ])
}

#[test]
fn software_name_follows_kafkas_pattern() {
    for (name, expected) in [
        ("librdkafka", true),
        ("2.16.1-rc", true),
        ("a", true),
        ("", false),
        ("-a", false),
        ("a.", false),
        ("a b", false),
        ("é", false),
    ] {
        let mut body = Vec::new();
        let mut w = Writer::new(&mut body, true);
        w.string(name);
        w.string("1");
        w.no_tags();
        for version in [3, 4] {
            assert_eq!(
                ApiVersionsRequest::decode(version, &body).unwrap().is_valid(&body),
                expected,
                "{name}"
            );
        }
    }
    assert!(ApiVersionsRequest::decode(2, &[]).unwrap().is_valid(&[]));
}

#[test]
fn unknown_version_gets_a_v0_body_with_error_35_and_the_range_of_key_18() {
    assert_eq!(ApiVersionsRequest::decode(5, &[]), Err(WireError::UnsupportedVersion));
    assert_eq!(ApiVersionsRequest::decode(-1, &[]), Err(WireError::UnsupportedVersion));
    let mut out = Vec::new();
    encode_api_versions_unsupported(&mut out, &table());
    assert_eq!(out, [0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4]);
}

#[test]
fn response_has_the_bytes_of_each_version() {
    let encode = |version, error| {
        let mut out = Vec::new();
        encode_api_versions_response(&mut out, version, (&table(), NO_FEATURES), error, 5);
        out
    };
    let keys = [0, 0, 0, 0, 0, 13, 0, 18, 0, 0, 0, 4];
    assert_eq!(encode(0, ErrorCode::NONE), [&[0, 0, 0, 0, 0, 2][..], &keys].concat());
    assert_eq!(
        encode(1, ErrorCode::NONE),
        [&[0, 0, 0, 0, 0, 2][..], &keys, &[0, 0, 0, 5]].concat()
    );
    let flexible = [0, 0, 3, 0, 0, 0, 0, 0, 13, 0, 0, 18, 0, 0, 0, 4, 0, 0, 0, 0, 5, 0];
    assert_eq!(encode(3, ErrorCode::NONE), flexible);
    assert_eq!(encode(4, ErrorCode::NONE), flexible);
    assert_eq!(encode(3, ErrorCode::INVALID_REQUEST), [0, 42, 1, 0, 0, 0, 5, 0]);
}

// KIP-584, KAFKA-17011
#[test]
fn features_of_level_0_are_answered_from_version_4_on_and_with_no_error() {
    let encode = |version, min, error| {
        let mut out = Vec::new();
        let features = [Feature {
            name: "a.b",
            min,
            max: 2,
        }];
        let features = Features {
            supported: &features,
            ..NO_FEATURES
        };
        encode_api_versions_response(&mut out, version, (&table(), features), error, 5);
        out
    };
    let told = |min: u8| [1, 0, 10, 2, 4, b'a', b'.', b'b', 0, min, 0, 2, 0];
    assert!(encode(4, 0, ErrorCode::NONE).ends_with(&[&[0, 0, 0, 5][..], &told(0)].concat()));
    assert!(encode(3, 1, ErrorCode::NONE).ends_with(&[&[0, 0, 0, 5][..], &told(1)].concat()));
    assert!(encode(3, 0, ErrorCode::NONE).ends_with(&[0, 0, 0, 5, 0]));
    assert!(encode(4, 0, ErrorCode::INVALID_REQUEST).ends_with(&[0, 0, 0, 5, 0]));
    assert!(encode(2, 1, ErrorCode::NONE).ends_with(&[0, 0, 0, 5]));
}

// KIP-584
#[test]
fn finalized_features_above_level_0_are_answered_from_version_3_on_and_with_no_error() {
    let finalized = [("off", 0), ("a.b", 2)].map(|(name, level)| FinalizedFeature {
        name: name.to_owned(),
        level,
    });
    let encode = |version, finalized, error| {
        let features = Features {
            epoch: 9,
            finalized,
            ..NO_FEATURES
        };
        let mut out = Vec::new();
        encode_api_versions_response(&mut out, version, (&table(), features), error, 5);
        out
    };
    let epoch = [1, 8, 0, 0, 0, 0, 0, 0, 0, 9];
    let listed = [2, 10, 2, 4, b'a', b'.', b'b', 0, 2, 0, 2, 0];
    let tags = [&[0, 0, 0, 5, 2][..], &epoch, &listed].concat();
    assert!(encode(3, &finalized, ErrorCode::NONE).ends_with(&tags));
    assert!(encode(4, &finalized, ErrorCode::NONE).ends_with(&tags));
    assert!(encode(2, &finalized, ErrorCode::NONE).ends_with(&[0, 0, 0, 5]));
    assert!(encode(4, &finalized, ErrorCode::INVALID_REQUEST).ends_with(&[0, 0, 0, 5, 0]));
    let alone = [&[0, 0, 0, 5, 1][..], &epoch].concat();
    assert!(
        encode(4, &finalized[..1], ErrorCode::NONE).ends_with(&alone),
        "a newer epoch without features"
    );
}

#[test]
fn features_above_level_0_are_those_of_metadata_and_transactions() {
    let levels = FEATURES.map(|feature| (feature.name, feature.min, feature.max));
    let expected = [
        ("group.version", 0, 0),
        ("metadata.version", 30, 30),
        ("share.version", 0, 0),
        ("streams.version", 0, 0),
        ("transaction.version", 0, 2),
    ];
    assert_eq!(levels, expected);
}
