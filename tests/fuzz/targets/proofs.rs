//! How clients and brokers prove who they are: SCRAM, tokens of OAUTHBEARER, and the order of SASL's messages.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use base::error::ErrorCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use net::{
    Authentication, Bearer, ClientMessage, Credentials, Mechanism, PlainUsers, SaslOutcome, SaslSettings, TokenRules,
};
use protocol::ApiTable;
use protocol::scram::client::ScramClient;
use protocol::scram::server::{ClientFirst, ScramCredential, ScramExchange, ScramMechanism};
use protocol::scram::{MAX_MESSAGE_BYTES, Refused, Secret, USER};

use super::take::Take;

/// The server's part of the nonce.
const NONCE: &str = "fuzzfuzzfuzz";
/// Iterations of a server's message, above which a client's hashing would take the fuzzer's time.
const MOST_ITERATIONS: u32 = 5000;

/// A key set with one key, and a token that it signed for alice, until the year 2100.
const KEYS: &str = r#"{"keys":[{"kty":"EC","crv":"P-256","kid":"k","use":"sig","alg":"ES256",
    "x":"eon-SpFlHk7bI4fMbidO473WBNiawck3l7LwGCfGe-I","y":"y-UjLNyBRs6oH20DVe1hGbTFB4aHyNqUqERIanP84Xo"}]}"#;
const SIGNED: &str = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ.\
    eyJzdWIiOiJhbGljZSIsImlhdCI6MTcwMDAwMDAwMCwiZXhwIjo0MTAyNDQ0ODAwfQ";
const NOW_S: u64 = 1_750_000_000;

fn salted(mechanism: ScramMechanism) -> Vec<u8> {
    vec![7; mechanism.key_bytes()]
}

fn credential(mechanism: ScramMechanism) -> ScramCredential {
    let (stored_key, server_key) = mechanism.keys(&salted(mechanism));
    ScramCredential {
        salt: b"salt".to_vec(),
        stored_key,
        server_key,
        iterations: 4096,
    }
}

/// The last message of a client that knows the secret, and what the server answers.
fn right_messages(mechanism: ScramMechanism, first: &str, challenge: &str) -> (String, String) {
    let header = first.match_indices(',').nth(1).map_or(first.len(), |(at, _)| at + 1);
    let nonce = challenge.split(',').next().unwrap_or_default();
    let without_proof = format!("c={},{nonce}", BASE64.encode(&first[..header]));
    let bound = format!("{},{challenge},{without_proof}", &first[header..]);
    let (stored_key, server_key) = mechanism.keys(&salted(mechanism));
    let client_key = mechanism.mac(&salted(mechanism), b"Client Key");
    let signature = mechanism.mac(&stored_key, bound.as_bytes());
    let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
    let answer = format!("v={}", BASE64.encode(mechanism.mac(&server_key, bound.as_bytes())));
    (format!("{without_proof},p={}", BASE64.encode(proof)), answer)
}

/// A choice, the length of a first message, the message, and a last message.
pub fn scram(data: &[u8]) {
    let mut take = Take(data);
    let (choice, length) = (take.byte(), u16::from_be_bytes(take.array()));
    let (first, last) = (take.slice(usize::from(length)), take.0);
    let mechanism = if choice & 1 > 0 {
        ScramMechanism::Sha256
    } else {
        ScramMechanism::Sha512
    };
    if let (Ok(parsed), Ok(text)) = (ClientFirst::parse(first), std::str::from_utf8(first)) {
        assert!(!parsed.user.is_empty() && !parsed.user.contains('\0'));
        let begin = || ScramExchange::begin(mechanism, &parsed, credential(mechanism), NONCE);
        let (exchange, challenge) = begin();
        assert!(exchange.finish(last).is_err(), "a proof was guessed");
        let (right, answer) = right_messages(mechanism, text, &challenge);
        if right.len() <= MAX_MESSAGE_BYTES {
            assert_eq!(begin().0.finish(right.as_bytes()), Ok(answer));
            let mut wrong = right.into_bytes();
            let at = usize::from(length) % wrong.len();
            wrong[at] ^= choice.max(1);
            assert!(begin().0.finish(&wrong).is_err(), "a proof with another byte {at}");
        }
    }
    client(mechanism, first, last);
}

/// The client's side, which is a broker that meets bytes in place of another broker.
fn client(mechanism: ScramMechanism, first: &[u8], last: &[u8]) {
    let text = String::from_utf8_lossy(last);
    let iterations = text.rsplit("i=").next().and_then(|digits| digits.parse::<u32>().ok());
    if iterations.is_some_and(|iterations| iterations > MOST_ITERATIONS) {
        return;
    }
    let client = ScramClient::new(mechanism, USER, Secret::new("secret"));
    if let Ok((answer, expected)) = client.begin("abc").reply(last, &client) {
        assert!(text.starts_with("r=abc") && answer.starts_with("c=biws,r=abc"));
        assert!(expected.check(first).is_err() && expected.check(last).is_err());
    }
}

fn bearer_of_listener() -> Arc<Bearer> {
    let bearer = Bearer::new(TokenRules {
        user_claim: "sub".into(),
        ..TokenRules::default()
    });
    assert_eq!(bearer.set_keys(KEYS), Ok(1));
    Arc::new(bearer)
}

/// A choice, and the message of a client or a key set.
pub fn bearer(data: &[u8]) {
    static BEARER: OnceLock<Arc<Bearer>> = OnceLock::new();
    let Some((choice, message)) = data.split_first() else {
        return;
    };
    if choice % 4 == 0 {
        let keys = std::str::from_utf8(message).map(|text| Bearer::new(TokenRules::default()).set_keys(text));
        assert!(!matches!(keys, Ok(Ok(0))), "a set without a key was taken");
        return;
    }
    let Ok(parsed) = ClientMessage::parse(message) else {
        return;
    };
    if let Ok(told) = BEARER.get_or_init(bearer_of_listener).check(&parsed, NOW_S) {
        assert_eq!(told, ("alice".into(), 4_102_444_800));
        let text = String::from_utf8_lossy(message);
        assert!(
            text.contains(&format!(" {SIGNED}.")),
            "a token that nobody has signed: {text}"
        );
    }
}

/// What a listener with every mechanism has.
fn settings(max_session: Option<Duration>) -> Arc<SaslSettings> {
    static KEPT: OnceLock<[Arc<SaslSettings>; 2]> = OnceLock::new();
    let [endless, short] = KEPT.get_or_init(|| {
        [None, Some(Duration::from_mins(1))].map(|max_session| {
            let passwords = [("alice", "secret"), ("bob", "other")].map(|(user, word)| (user.into(), word.into()));
            let Ok(plain) = PlainUsers::new(&HashMap::from(passwords)) else {
                unreachable!("the system has no random bytes")
            };
            Arc::new(SaslSettings {
                mechanisms: Mechanism::ALL.to_vec(),
                plain,
                bearer: bearer_of_listener(),
                max_session,
                max_frame_bytes: 1000,
                failure_delay: Duration::ZERO,
            })
        })
    });
    Arc::clone(if max_session.is_some() { short } else { endless })
}

/// What the target knows of a client beside the broker.
#[derive(Default)]
struct Client {
    agreed: Option<Mechanism>,
    /// The first message of SCRAM and its challenge.
    challenged: Option<(ScramMechanism, String, String)>,
    proven: Option<&'static str>,
    refused: bool,
}

/// A script of handshakes, messages and times.
pub fn sasl(data: &[u8]) {
    let mut take = Take(data);
    let max_session = (take.byte() % 2 > 0).then_some(Duration::from_mins(1));
    let mut it = Authentication::new(settings(max_session));
    let mechanism = ScramMechanism::Sha256;
    let credentials = Credentials::default();
    credentials.publish_users(
        vec![((mechanism, "alice".to_owned()), Some(credential(mechanism)))],
        true,
    );
    let (mut now, mut client) = (Instant::now(), Client::default());
    while !take.0.is_empty() && !client.refused {
        now += Duration::from_secs(u64::from(take.byte() % 64));
        if take.byte() % 2 > 0 {
            let asked = take.one(&Mechanism::ALL);
            let code = it.agree(asked.name(), take.byte() % 4 == 0, now);
            client.agreed = if code == ErrorCode::NONE {
                Some(asked)
            } else {
                client.agreed
            };
            client.refused = code != ErrorCode::NONE && !it.is_done(); // the broker closes the connection
        } else {
            send(&mut it, &mut client, &mut take, &credentials, now);
        }
        assert_eq!(it.user(), client.proven, "the user whom the client has proven to be");
        assert!(client.proven.is_some() || !it.admits(ApiTable::METADATA, now));
        assert_eq!(it.max_frame_bytes().is_none(), client.proven.is_some());
    }
}

/// Sends a message, and compares what it led to with what it must lead to.
fn send(it: &mut Authentication, client: &mut Client, take: &mut Take<'_>, users: &Credentials, now: Instant) {
    const PLAIN: [(&str, &str); 3] = [
        ("\0alice\0secret", "alice"),
        ("bob\0bob\0other", "bob"),
        ("\0bob\0secret", ""),
    ];
    let (kind, own_words) = (take.byte(), take.byte());
    let (plain, user) = PLAIN[usize::from(kind) % PLAIN.len()];
    let agreed = client.agreed.take();
    let challenged = client.challenged.take();
    let mut says = String::from_utf8_lossy(take.slice(usize::from(own_words % 64))).into_owned();
    let mut proves = None;
    match (agreed, &challenged) {
        (Some(Mechanism::Plain), _) if own_words % 2 > 0 => (says, proves) = (plain.into(), Some(user)),
        (Some(Mechanism::Scram(_)), _) if own_words % 2 > 0 => says = format!("n,,n=alice,r=abc{kind}"),
        (_, Some((mechanism, first, challenge))) if own_words % 2 > 0 => {
            says = right_messages(*mechanism, first, challenge).0;
            proves = (*mechanism == ScramMechanism::Sha256).then_some("alice");
        }
        _ => {}
    }
    let outcome: Result<SaslOutcome, Refused> = it.take(says.as_bytes(), users, now);
    match (outcome, agreed) {
        (Ok(SaslOutcome::Challenge(challenge)), Some(Mechanism::Scram(mechanism))) => {
            client.challenged = Some((mechanism, says, challenge));
        }
        (Ok(SaslOutcome::Challenge(_)), agreed) => assert_eq!(agreed, Some(Mechanism::OauthBearer)),
        (Ok(SaslOutcome::Proven(..)), _) => {
            let user = proves.filter(|user| !user.is_empty());
            assert!(user.is_some(), "{says:?} proves nothing");
            assert!(client.proven.is_none() || client.proven == user, "another user");
            client.proven = user;
        }
        (Err(_), _) => client.refused = true,
    }
}
