use proptest::prelude::*;

use super::*;

fn secret() -> Secret {
    Secret::new("pencil-with-some-length")
}

/// The three messages after client-first, of ends with these secrets.
fn run(server: &Secret, client: &Secret) -> Result<(), Refused> {
    let verifier = Verifier::new(server, b"a salt");
    let mut keys = ClientKeys::new(client.clone());
    let exchange = ClientExchange::new("mine".to_owned());
    let (at_server, server_first) = ServerExchange::begin(&verifier, exchange.first().as_bytes(), "theirs")?;
    let (client_final, expected) = exchange.reply(server_first.as_bytes(), &mut keys)?;
    let server_final = at_server.finish(&verifier, client_final.as_bytes())?;
    expected.check(server_final.as_bytes())
}

#[test]
fn ends_with_one_secret_prove_it_to_each_other() {
    assert_eq!(run(&secret(), &secret()), Ok(()));
    let refused = run(&secret(), &Secret::new("another"));
    assert_eq!(refused, Err(Refused("it does not know the secret")));
}

/// The example of RFC 7677, section 3, which has another user: its keys and signatures by our functions.
#[test]
fn keys_and_signatures_are_those_of_rfc_7677() {
    let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    let salted = Secret::new("pencil").salted(&salt, 4096);
    let bound = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                 s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    let stored: Key = Sha256::digest(client_key(&salted)).into();
    let proof = xor(&client_key(&salted), &mac(&stored, bound.as_bytes()));
    assert_eq!(BASE64.encode(proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    let signature = mac(&server_key(&salted), bound.as_bytes());
    assert_eq!(BASE64.encode(signature), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

#[test]
fn server_without_the_secret_is_found_out() {
    let exchange = ClientExchange::new("mine".to_owned());
    let mut keys = ClientKeys::new(secret());
    let (_, expected) = exchange.reply(b"r=mine2,s=c2FsdA==,i=4096", &mut keys).unwrap();
    let guessed = format!("v={}", BASE64.encode([7; 32]));
    assert_eq!(
        expected.check(guessed.as_bytes()),
        Err(Refused("it does not know the secret"))
    );
    assert!(expected.check(b"v=").is_err());
    assert!(expected.check(b"e=other-error").is_err());
}

#[test]
fn client_refuses_a_replayed_nonce_and_an_iteration_count_out_of_range() {
    let exchange = ClientExchange::new("mine".to_owned());
    let mut keys = ClientKeys::new(secret());
    for wrong in [
        "r=mine,s=c2FsdA==,i=4096",
        "r=other,s=c2FsdA==,i=4096",
        "r=mine2,s=c2FsdA==,i=4095",
        "r=mine2,s=c2FsdA==,i=2000000000",
        "r=mine2,s=*,i=4096",
    ] {
        assert!(exchange.reply(wrong.as_bytes(), &mut keys).is_err(), "{wrong}");
    }
}

#[test]
fn proof_of_one_exchange_is_refused_in_another() {
    let verifier = Verifier::new(&secret(), b"a salt");
    let exchange = ClientExchange::new("mine".to_owned());
    let (_, first) = ServerExchange::begin(&verifier, exchange.first().as_bytes(), "once").unwrap();
    let (client_final, _) = exchange
        .reply(first.as_bytes(), &mut ClientKeys::new(secret()))
        .unwrap();
    let (again, _) = ServerExchange::begin(&verifier, exchange.first().as_bytes(), "twice").unwrap();
    assert!(again.finish(&verifier, client_final.as_bytes()).is_err());
    let swapped = client_final.replace("mineonce", "minetwice");
    let (again, _) = ServerExchange::begin(&verifier, exchange.first().as_bytes(), "twice").unwrap();
    assert_eq!(
        again.finish(&verifier, swapped.as_bytes()),
        Err(Refused("it does not know the secret"))
    );
}

#[test]
fn secret_is_not_in_debug_output() {
    assert!(!format!("{:?}", secret()).contains("pencil"));
}

proptest! {
    /// Nobody gets in with, or breaks anything by, whatever bytes.
    #[test]
    fn server_refuses_arbitrary_messages(first in ".{0,80}", last in ".{0,80}", bytes: Vec<u8>) {
        let verifier = Verifier { salt: "c2FsdA==".to_owned(), stored_key: [1; 32], server_key: [2; 32] };
        let _ = ServerExchange::begin(&verifier, &bytes, "x");
        let _ = ServerExchange::begin(&verifier, format!("n,,n=broker,{first}").as_bytes(), "x");
        let (exchange, _) = ServerExchange::begin(&verifier, b"n,,n=broker,r=a", "x").unwrap();
        let message = format!("c=biws,r=ax,{last}");
        prop_assert!(exchange.finish(&verifier, message.as_bytes()).is_err());
    }
}
