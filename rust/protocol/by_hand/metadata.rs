//! Metadata, and what comes before it: versions and headers.

use super::rows::{Change, Row, assert_cuts_are_refused, for_random, made, made_part, number, text, text_at};
use crate::codec::{Limits, Value, ValueBuilder, decode, encode, table};
use crate::metadata::MAX_VERSION;
use crate::{
    ApiRange, ApiTable, ApiVersionsRequest, FEATURES, Features, FinalizedFeature, MetadataPartition, MetadataRequest,
    MetadataResponseWriter, MetadataTop, MetadataTopic, MetadataTopicRequest, RequestHeader, api_versions,
    encode_api_versions_response, encode_metadata_creation, write_request, write_response_header,
};
use base::error::ErrorCode;

#[test]
fn requests() {
    let message = table::message("MetadataRequest").unwrap();
    let mut request = MetadataRequest::default();
    for_random("MetadataRequest", 0..=MAX_VERSION, |schema, value| {
        let body = encode(schema, &value).unwrap();
        request.decode(schema.version, &body).unwrap();
        let topic = |topic: &MetadataTopicRequest| {
            let name = text_at(&body, topic.name.as_ref());
            made_part(
                message,
                "MetadataRequestTopic",
                [("TopicId", Value::Uuid(topic.id)), ("Name", name)],
            )
        };
        let topics = if request.all_topics && schema.version > 0 {
            Value::Null
        } else {
            Value::Array(request.topics.iter().map(topic).collect())
        };
        let fields = [
            ("Topics", topics),
            ("AllowAutoTopicCreation", Value::Bool(request.allow_auto_topic_creation)),
            (
                "IncludeClusterAuthorizedOperations",
                Value::Bool(request.include_cluster_authorized_operations),
            ),
            (
                "IncludeTopicAuthorizedOperations",
                Value::Bool(request.include_topic_authorized_operations),
            ),
        ];
        assert_eq!(made(message, fields), value, "version {}", schema.version);
        assert_cuts_are_refused(&body, |cut| request.decode(schema.version, cut).is_err());
        let names = ["a", "\u{e9}"].map(|name| made_part(message, "MetadataRequestTopic", [("Name", text(name))]));
        let creation = made(message, [("Topics", Value::Array(names.to_vec()))]);
        let written = encode_metadata_creation(schema.version, &["a", "\u{e9}"]);
        assert_eq!(
            written,
            encode(schema, &creation).unwrap(),
            "version {}",
            schema.version
        );
    });
}

#[test]
fn responses() {
    let message = table::message("MetadataResponse").unwrap();
    for_random("MetadataResponse", 0..=MAX_VERSION, |schema, value| {
        let response = Row::new(message, &value);
        let (brokers, topics) = (response.endpoints("Brokers"), response.rows("Topics"));
        let top = MetadataTop {
            throttle_time_ms: response.int("ThrottleTimeMs"),
            brokers: &brokers,
            cluster_id: response.text("ClusterId"),
            controller_id: response.int("ControllerId"),
        };
        let mut out = Vec::new();
        let mut writer = MetadataResponseWriter::begin(&mut out, schema.version, &top, topics.len());
        for row in topics {
            let topic = MetadataTopic {
                error: row.error("ErrorCode"),
                name: row.text("Name"),
                id: row.uuid("TopicId"),
                is_internal: row.is("IsInternal"),
                authorized_operations: row.int("TopicAuthorizedOperations"),
            };
            let partitions = row.rows("Partitions");
            writer.topic(&topic, partitions.len());
            for row in partitions {
                writer.partition(&MetadataPartition {
                    error: row.error("ErrorCode"),
                    index: row.int("PartitionIndex"),
                    leader_id: row.int("LeaderId"),
                    leader_epoch: row.int("LeaderEpoch"),
                    replicas: &row.ints("ReplicaNodes"),
                    isr: &row.ints("IsrNodes"),
                    offline: &row.ints("OfflineReplicas"),
                });
            }
            writer.topic_end(&topic);
        }
        writer.end(response.int("ClusterAuthorizedOperations"), response.error("ErrorCode"));
        assert_eq!(out, encode(schema, &value).unwrap(), "version {}", schema.version);
    });
}

#[test]
fn api_versions_requests() {
    let message = table::message("ApiVersionsRequest").unwrap();
    for_random("ApiVersionsRequest", 0..=api_versions::MAX_VERSION, |schema, value| {
        let body = encode(schema, &value).unwrap();
        let request = ApiVersionsRequest::decode(schema.version, &body).unwrap();
        let or_none = |at: &Option<std::ops::Range<usize>>| at.as_ref().map_or(text(""), |at| text_at(&body, Some(at)));
        let fields = [
            ("ClientSoftwareName", or_none(&request.client_software_name)),
            ("ClientSoftwareVersion", or_none(&request.client_software_version)),
        ];
        assert_eq!(made(message, fields), value, "version {}", schema.version);
        assert_cuts_are_refused(&body, |cut| ApiVersionsRequest::decode(schema.version, cut).is_err());
    });
}

fn range(key: i16, min: i16, max: i16) -> ApiRange {
    ApiRange {
        key,
        min,
        max,
        flexible_from: 9,
        is_advertised: true,
    }
}

#[test]
fn api_versions_responses() {
    let message = table::message("ApiVersionsResponse").unwrap();
    let apis = ApiTable::new(vec![range(0, 0, 13), range(3, 1, 9)]);
    let finalized = [FinalizedFeature {
        name: "transaction.version".to_owned(),
        level: 2,
    }];
    for version in 0..=api_versions::MAX_VERSION {
        let schema = message.schema(version).unwrap();
        let features = Features {
            supported: &FEATURES,
            epoch: 7,
            finalized: &finalized,
        };
        let mut out = Vec::new();
        encode_api_versions_response(&mut out, version, (&apis, features), ErrorCode::NONE, 5);
        let value = decode(schema, &out, Limits::NONE, &mut ValueBuilder { message }).unwrap();
        let response = Row::new(message, &value);
        let apis = response.rows("ApiKeys");
        let apis: Vec<[i16; 3]> = apis
            .iter()
            .map(|row| ["ApiKey", "MinVersion", "MaxVersion"].map(|name| row.int(name)))
            .collect();
        assert_eq!(apis, [[0, 0, 13], [3, 1, 9]]);
        assert_eq!(response.int::<i32>("ThrottleTimeMs"), if version > 0 { 5 } else { 0 });
        let levels = |name: &str, [low, high]: [&str; 2]| -> Vec<(String, [i16; 2])> {
            let rows = response.rows(name).into_iter();
            rows.map(|row| (row.text("Name").unwrap().to_owned(), [row.int(low), row.int(high)]))
                .collect()
        };
        let known = FEATURES
            .iter()
            .filter(|feature| version >= 4 || (version == 3 && feature.min > 0));
        let known: Vec<_> = known
            .map(|feature| (feature.name.to_owned(), [feature.min, feature.max]))
            .collect();
        assert_eq!(levels("SupportedFeatures", ["MinVersion", "MaxVersion"]), known);
        let agreed: Vec<_> = finalized
            .iter()
            .filter(|_| version >= 3)
            .map(|one| (one.name.clone(), [2, 2]))
            .collect();
        assert_eq!(
            levels("FinalizedFeatures", ["MinVersionLevel", "MaxVersionLevel"]),
            agreed
        );
        let epoch: i64 = response.int("FinalizedFeaturesEpoch");
        assert_eq!(epoch, if version >= 3 { 7 } else { -1 });
        assert_eq!(out, encode(schema, &value).unwrap(), "version {version}");
    }
}

#[test]
fn headers() {
    let message = table::message("RequestHeader").unwrap();
    for_random("RequestHeader", 1..=2, |schema, mut value| {
        Change::new(message, &mut value).fill("ClientId", "client");
        let header = encode(schema, &value).unwrap();
        let is_flexible = schema.version == 2;
        let parsed = RequestHeader::parse(&header, |_, _| is_flexible).unwrap();
        assert_eq!(parsed.body_at, header.len());
        let fields = [
            ("RequestApiKey", number(parsed.api_key)),
            ("RequestApiVersion", number(parsed.api_version)),
            ("CorrelationId", number(parsed.correlation_id)),
            ("ClientId", parsed.client_id.map_or(Value::Null, text)),
        ];
        assert_eq!(made(message, fields), value, "version {}", schema.version);
        assert_cuts_are_refused(&header, |cut| RequestHeader::parse(cut, |_, _| is_flexible).is_err());
        let mut out = Vec::new();
        let api = (parsed.api_key, parsed.api_version);
        write_request(
            &mut out,
            api,
            parsed.correlation_id,
            parsed.client_id.unwrap(),
            is_flexible,
            b"body",
        );
        assert_eq!(out[..4], (header.len() as i32 + 4).to_be_bytes());
        assert_eq!(out[4..], [&header[..], b"body"].concat());
    });
    let message = table::message("ResponseHeader").unwrap();
    for_random("ResponseHeader", 0..=1, |schema, value| {
        let mut out = Vec::new();
        write_response_header(
            &mut out,
            Row::new(message, &value).int("CorrelationId"),
            schema.version == 1,
        );
        assert_eq!(out, encode(schema, &value).unwrap());
    });
}
