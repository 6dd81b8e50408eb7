//! `ApiVersions`, every version, against the fixture.

use base::error::ErrorCode;
use protocol::topic::text;
use protocol::{
    ApiRange, ApiTable, ApiVersionsRequest, Feature, Features, FinalizedFeature, encode_api_versions_response,
};

use crate::fixtures::{bodies, decodes};

#[test]
fn api_versions_request_decodes_to_the_values_that_were_encoded() {
    for body in bodies("api_versions", "request") {
        let request = ApiVersionsRequest::decode(body.version, &body.bytes).unwrap();
        let value = |range: &Option<_>| range.as_ref().map(|range| text(&body.bytes, range).unwrap());
        let expected = match (body.version, body.case) {
            (..3, _) => (None, None),
            (_, "full") => (Some("librdkafka"), Some("2.16.1")),
            _ => (Some(""), Some("")),
        };
        let read = (
            value(&request.client_software_name),
            value(&request.client_software_version),
        );
        assert_eq!(read, expected, "{body:?}");
        assert_eq!(request.is_valid(&body.bytes), body.version < 3 || body.case == "full");
        decodes(&body, &request, &request, |into, version, bytes| {
            *into = ApiVersionsRequest::decode(version, bytes)?;
            Ok(())
        });
    }
}

#[test]
fn api_versions_response_encodes_to_the_bytes_of_the_other_codec() {
    let range = |key, min, max, flexible_from| ApiRange {
        key,
        min,
        max,
        flexible_from,
        is_advertised: true,
    };
    let table = ApiTable::new(vec![range(0, 3, 13, 9), range(1, 4, 18, 12), range(18, 0, 4, 3)]);
    let no_apis = ApiTable::new(Vec::new());
    let features = Features {
        supported: &[],
        epoch: -1,
        finalized: &[],
    };
    let supported = [Feature {
        name: "transaction.version",
        min: 1,
        max: 2,
    }];
    let finalized = [FinalizedFeature {
        name: "transaction.version".to_owned(),
        level: 2,
    }];
    let all_features = Features {
        supported: &supported,
        epoch: 258,
        finalized: &finalized,
    };
    for response in bodies("api_versions", "response") {
        let (answer, error, throttle) = match response.case {
            "full" => ((&table, features), ErrorCode::NONE, 12),
            "features" => ((&no_apis, all_features), ErrorCode::NONE, 0),
            _ => ((&table, features), ErrorCode::INVALID_REQUEST, 0),
        };
        let mut out = Vec::new();
        encode_api_versions_response(&mut out, response.version, answer, error, throttle);
        assert_eq!(out, response.bytes, "v{} {}", response.version, response.case);
    }
}
