use proptest::prelude::*;

use super::*;

// the texts are from files that Apache Kafka 4.3 wrote.
#[test]
fn text_and_bytes_agree_with_kafka() {
    for (text, bytes) in [
        ("AAAAAAAAAAAAAAAAAAAAAA", 0_u128),
        ("AAAAAAAAAAAAAAAAAAAAAQ", 1),
        ("_____________________w", u128::MAX),
        ("MkU3OEVBNTcwNTJENDM2Qg", u128::from_be_bytes(*b"2E78EA57052D436B")),
    ] {
        let id = Uuid(bytes.to_be_bytes());
        assert_eq!(id.to_string(), text);
        assert_eq!(Uuid::parse(text), Some(id));
    }
}

#[test]
fn padding_is_accepted_and_anything_else_is_not() {
    assert_eq!(
        Uuid::parse("AAAAAAAAAAAAAAAAAAAAAQ=="),
        Some(Uuid(1_u128.to_be_bytes()))
    );
    for text in [
        "",
        "AAAA",
        "AAAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAA+A",
        "AAAAAAAAAAAAAAAAAAAA A",
        "äääääääääää",
    ] {
        assert_eq!(Uuid::parse(text), None, "{text}");
    }
}

#[test]
fn random_ids_differ_and_are_usable() {
    let mut ids: Vec<Uuid> = (0..1000).map(|_| Uuid::random()).collect();
    assert!(
        ids.iter()
            .all(|id| !id.is_reserved() && !id.to_string().starts_with('-') && id.0[6] >> 4 == 4)
    );
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 1000);
}

proptest! {
    #[test]
    fn every_id_survives_its_text(bytes: [u8; 16]) {
        prop_assert_eq!(Uuid::parse(&Uuid(bytes).to_string()), Some(Uuid(bytes)));
    }

    #[test]
    fn arbitrary_text_never_panics(text: String) {
        let _ = Uuid::parse(&text);
    }
}
