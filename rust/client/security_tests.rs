//! Keys of clients, and mistakes in them.

use super::*;

const PLAIN: &str =
    "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" password=\"hush\";";

fn of(pairs: &[(&str, &str)]) -> Result<String, String> {
    let pairs = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Security::of(&pairs.collect()).map(|security| format!("{security:?}"))
}

#[test]
fn protocol_says_whether_there_is_tls_and_a_login() {
    let sasl = [("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", PLAIN)];
    assert_eq!(of(&[]).unwrap(), "PLAINTEXT");
    assert_eq!(
        of(&[("security.protocol", " plaintext "), sasl[0], sasl[1]]).unwrap(),
        "PLAINTEXT"
    );
    assert_eq!(
        of(&[("security.protocol", "SASL_PLAINTEXT"), sasl[0], sasl[1]]).unwrap(),
        "SASL_PLAINTEXT"
    );
}

#[test]
fn mistake_begins_with_its_key_and_shows_no_password() {
    let sasl = ("security.protocol", "SASL_PLAINTEXT");
    let scram = ("sasl.mechanism", "SCRAM-SHA-256");
    let bearer = ("sasl.mechanism", "OAUTHBEARER");
    let url = "sasl.oauthbearer.token.endpoint.url";
    let cases: [(&[(&str, &str)], &str); 9] = [
        (
            &[("security.protocol", "TLS")],
            "security.protocol=TLS is not a protocol",
        ),
        (
            &[sasl],
            "sasl.mechanism is not set, and Kafka's default, GSSAPI, is not served",
        ),
        (
            &[sasl, ("sasl.mechanism", "GSSAPI"), ("sasl.jaas.config", PLAIN)],
            "sasl.mechanism=GSSAPI is not served",
        ),
        (&[sasl, scram], "sasl.jaas.config has no username and password"),
        (
            &[sasl, scram, ("sasl.jaas.config", "a.B required password=hush")],
            "sasl.jaas.config has a value",
        ),
        (&[sasl, bearer], "sasl.oauthbearer.token.endpoint.url is not set"),
        (
            &[sasl, bearer, (url, "ftp://a")],
            "sasl.oauthbearer.token.endpoint.url=ftp://a is no address",
        ),
        (
            &[sasl, bearer, (url, "https://a")],
            "sasl.oauthbearer.token.endpoint.url=https://a needs the client's",
        ),
        (
            &[("security.protocol", "SSL"), ("ssl.truststore.location", "/none")],
            "ssl.truststore.location=/none cannot be read",
        ),
    ];
    for (pairs, sentence) in cases {
        let error = of(pairs).unwrap_err();
        assert!(error.starts_with(sentence), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn options_of_spark_are_named_as_they_were_given() {
    let pairs = [
        ("Kafka.Security.Protocol", "SSL"),
        ("kafka.ssl.truststore.location", "/none"),
        ("path", "/data"),
    ];
    let error = Security::of_kafka_options(pairs).unwrap_err();
    assert!(
        error.starts_with("kafka.ssl.truststore.location=/none cannot be read"),
        "{error}"
    );
    assert!(
        Security::of_kafka_options([("security.protocol", "SSL")])
            .unwrap()
            .is_plaintext()
    );
}
