//! Users and tokens by name.

use super::*;

const SHA_256: ScramMechanism = ScramMechanism::Sha256;

#[test]
fn a_token_is_found_until_it_ends_and_by_its_id_alone() {
    let token = DelegationToken::new("alice".to_owned(), "password".to_owned(), 1000);
    let tokens = Arc::new(HashMap::from([("id".to_owned(), token)]));
    let credentials = Credentials::default().with_tokens(&tokens);
    let (found, credential) = credentials.token(SHA_256, "id", 999).unwrap();
    assert_eq!(found.owner, "alice");
    let salt = credential.salt.clone();
    assert_eq!(credential, ScramCredential::of_password(SHA_256, "password", salt));
    assert!(credentials.token(SHA_256, "id", 1000).is_none());
    assert!(credentials.token(SHA_256, "ID", 0).is_none());
    assert_ne!(credentials.find(SHA_256, "id"), credential, "a token is no user");
}

#[test]
fn users_and_tokens_are_replaced_by_themselves() {
    let user = ScramCredential::of_password(SHA_256, "x", vec![1]);
    let users = Arc::new(HashMap::from([((SHA_256, "bob".to_owned()), user.clone())]));
    let token = || DelegationToken::new("bob".to_owned(), "y".to_owned(), 1);
    let tokens = Arc::new(HashMap::from([("id".to_owned(), token())]));
    let credentials = Credentials::default().with_users(&users).with_tokens(&tokens);
    assert_eq!(credentials.find(SHA_256, "bob"), user);
    let without = credentials.with_users(&Arc::default());
    assert_ne!(without.find(SHA_256, "bob"), user);
    assert!(without.token(SHA_256, "id", 0).is_some());
    assert!(
        credentials
            .with_tokens(&Arc::default())
            .token(SHA_256, "id", 0)
            .is_none()
    );
    assert_eq!(
        without.find(SHA_256, "a"),
        credentials.find(SHA_256, "a"),
        "nobody's salt stays"
    );
}
