//! Users and tokens by name.

use super::*;

const SHA_256: ScramMechanism = ScramMechanism::Sha256;

#[test]
fn a_token_is_found_until_it_ends_and_by_its_id_alone() {
    let token = DelegationToken::new("alice".to_owned(), "password".to_owned(), 1000);
    let credentials = Credentials::default();
    credentials.publish_tokens(vec![("id".to_owned(), Some(token))], true);
    let (found, credential) = credentials.token(SHA_256, "id", 999).unwrap();
    assert_eq!(found.owner, "alice");
    let salt = credential.salt.clone();
    assert_eq!(credential, ScramCredential::of_password(SHA_256, "password", salt));
    assert!(credentials.token(SHA_256, "id", 1000).is_none());
    assert!(credentials.token(SHA_256, "ID", 0).is_none());
    assert_ne!(credentials.find(SHA_256, "id"), credential, "a token is no user");
}

#[test]
fn what_is_published_of_some_replaces_those_alone() {
    let of = |name: &str| (SHA_256, name.to_owned());
    let user = |password: &str| ScramCredential::of_password(SHA_256, password, vec![1]);
    let token = |owner: &str| DelegationToken::new(owner.to_owned(), "y".to_owned(), 1);
    let credentials = Credentials::default();
    let nobody = credentials.find(SHA_256, "a");
    credentials.publish_users(vec![(of("bob"), Some(user("x"))), (of("eve"), Some(user("x")))], true);
    credentials.publish_tokens(
        vec![
            ("1".to_owned(), Some(token("bob"))),
            ("2".to_owned(), Some(token("eve"))),
        ],
        true,
    );
    let made = credentials.token(SHA_256, "2", 0).unwrap();
    credentials.publish_users(vec![(of("bob"), Some(user("z"))), (of("a"), None)], false);
    credentials.publish_tokens(vec![("1".to_owned(), None)], false);
    assert_eq!(credentials.find(SHA_256, "bob"), user("z"));
    assert_eq!(credentials.find(SHA_256, "eve"), user("x"));
    assert_eq!(credentials.find(SHA_256, "a"), nobody, "nobody's salt stays");
    assert!(credentials.token(SHA_256, "1", 0).is_none());
    assert!(
        Arc::ptr_eq(&credentials.token(SHA_256, "2", 0).unwrap().0, &made.0),
        "its keys are made once"
    );
    credentials.publish_users(vec![(of("bob"), None)], false);
    assert_ne!(credentials.find(SHA_256, "bob"), user("z"));
    credentials.publish_users(Vec::new(), true);
    assert_ne!(credentials.find(SHA_256, "eve"), user("x"));
    assert!(credentials.token(SHA_256, "2", 0).is_some(), "users are not tokens");
    credentials.publish_tokens(Vec::new(), true);
    assert!(credentials.token(SHA_256, "2", 0).is_none());
}
