//! The client's side against the server's, and against servers that are not what they say.

use super::super::server::{ClientFirst, ScramCredential, ScramExchange};
use super::*;

const MECHANISMS: [ScramMechanism; 2] = [ScramMechanism::Sha256, ScramMechanism::Sha512];

fn client(mechanism: ScramMechanism) -> ScramClient {
    ScramClient::new(mechanism, "a,b=c", Secret::new("pencil"))
}

fn server(mechanism: ScramMechanism, first: &str, password: &str) -> (ScramExchange, String) {
    let credential = ScramCredential::of_password(mechanism, password, b"a salt".to_vec());
    let first = ClientFirst::parse(first.as_bytes()).unwrap();
    assert_eq!(first.user, "a,b=c");
    ScramExchange::begin(mechanism, &first, credential, "theirs")
}

/// All messages, of ends with these passwords.
fn run(mechanism: ScramMechanism, at_server: &str) -> Result<(), Refused> {
    let client = client(mechanism);
    let exchange = client.begin("mine");
    let (server, server_first) = server(mechanism, &exchange.first(), at_server);
    let (client_final, expected) = exchange.reply(server_first.as_bytes(), &client)?;
    expected.check(server.finish(client_final.as_bytes())?.as_bytes())
}

#[test]
fn ends_with_one_password_prove_it_to_each_other() {
    for mechanism in MECHANISMS {
        assert_eq!(run(mechanism, "pencil"), Ok(()));
        assert_eq!(run(mechanism, "another"), Err(Refused("the password is wrong")));
    }
}

/// The example of RFC 7677, section 3.
#[test]
fn the_messages_are_those_of_rfc_7677() {
    let client = ScramClient::new(ScramMechanism::Sha256, "user", Secret::new("pencil"));
    let exchange = client.begin("rOprNGfwEbeRWgbNEkqO");
    assert_eq!(exchange.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
    let server_first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    let (client_final, expected) = exchange.reply(server_first.as_bytes(), &client).unwrap();
    assert_eq!(
        client_final,
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
         p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    );
    let server_final = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
    assert_eq!(expected.check(server_final), Ok(()));
}

#[test]
fn server_without_the_password_is_found_out() {
    for mechanism in MECHANISMS {
        let client = client(mechanism);
        let exchange = client.begin("mine");
        let (_, expected) = exchange.reply(b"r=mine2,s=c2FsdA==,i=4096", &client).unwrap();
        let guessed = format!("v={}", BASE64.encode(vec![7; mechanism.key_bytes()]));
        let refused = Err(Refused("it does not know the secret"));
        assert_eq!(expected.check(guessed.as_bytes()), refused);
        assert_eq!(expected.check(b"v="), refused);
        assert!(expected.check(b"e=other-error").is_err());
    }
}

#[test]
fn client_refuses_a_replayed_nonce_and_an_iteration_count_out_of_range() {
    let client = client(ScramMechanism::Sha256);
    let exchange = client.begin("mine");
    for wrong in [
        "r=mine,s=c2FsdA==,i=4096",
        "r=other,s=c2FsdA==,i=4096",
        "r=mine2,s=c2FsdA==,i=4095",
        "r=mine2,s=c2FsdA==,i=2000000000",
        "r=mine2,s=*,i=4096",
    ] {
        assert!(exchange.reply(wrong.as_bytes(), &client).is_err(), "{wrong}");
    }
}

#[test]
fn proof_of_one_exchange_is_refused_in_another() {
    let mechanism = ScramMechanism::Sha512;
    let client = client(mechanism);
    let exchange = client.begin("mine");
    let (_, first) = server(mechanism, &exchange.first(), "pencil");
    let (client_final, _) = exchange.reply(first.as_bytes(), &client).unwrap();
    let (again, _) = server(mechanism, "n,,n=a=2Cb=3Dc,r=other", "pencil");
    assert!(again.finish(client_final.as_bytes()).is_err());
    let (again, _) = server(mechanism, "n,,n=a=2Cb=3Dc,r=other", "pencil");
    let swapped = client_final.replace("minetheirs", "othertheirs");
    assert_eq!(again.finish(swapped.as_bytes()), Err(Refused("the password is wrong")));
}
