use super::*;

// Kafka lets its admin client write internal topics by the client id.
#[test]
fn caller_may_write_internal_topics_only_under_the_client_id_of_kafka_s_admin_client() {
    let client = |client_id: Option<&str>| ClientInfo {
        client_id: client_id.map(ToOwned::to_owned),
        ..ClientInfo::new(1, "PLAINTEXT".into(), "/127.0.0.1".to_owned())
    };
    for (client_id, expected) in [(None, false), (Some("me"), false), (Some(ADMIN_CLIENT_ID), true)] {
        let client = client(client_id);
        let caller = client.caller();
        assert_eq!((caller.may_write_internal, caller.client_id), (expected, client_id));
    }
}

#[test]
fn caller_of_a_fresh_connection_is_anonymous_no_broker_and_has_no_quota() {
    let client = ClientInfo::new(1, "PLAINTEXT".into(), "/127.0.0.1".to_owned());
    let caller = client.caller();
    assert_eq!((caller.principal.as_str(), caller.is_broker), ("User:ANONYMOUS", false));
    assert_eq!((caller.listener, caller.host), ("PLAINTEXT", "/127.0.0.1"));
    assert_eq!(caller.quotas, None);
}
