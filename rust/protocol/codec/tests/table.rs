use crate::codec::Message;
use crate::codec::schema::Schema;
use crate::codec::table::{MESSAGES, MessageKind, STRUCT_COUNT, message, request, response};
use base::error::{ERRORS, ErrorCode};

fn schemas(message: &'static Message) -> impl Iterator<Item = &'static Schema> {
    (message.versions.first..=message.versions.last).map(|version| message.schema(version).unwrap())
}

#[test]
fn names_and_keys_are_unique_and_requests_have_responses_of_the_same_versions() {
    for (nth, one) in MESSAGES.iter().enumerate() {
        assert!(std::ptr::eq(message(one.name).unwrap(), one), "{}", one.name);
        if one.kind == MessageKind::Request {
            let answer = response(one.key.unwrap()).unwrap();
            assert!(std::ptr::eq(request(one.key.unwrap()).unwrap(), one), "{}", one.name);
            assert_eq!(answer.versions, one.versions, "{}", one.name);
            assert_eq!(answer.module, one.module);
            assert_eq!(answer.name.replace("Response", "Request"), one.name);
        }
        let clash = MESSAGES[..nth]
            .iter()
            .find(|before| before.kind == one.kind && before.key == one.key && one.key.is_some());
        let is_of_a_topic = matches!(one.kind, MessageKind::CoordinatorKey | MessageKind::CoordinatorValue);
        assert!(is_of_a_topic || clash.is_none(), "{}", one.name);
    }
}

#[test]
fn structs_are_numbered_and_every_one_is_of_a_field() {
    let numbers: Vec<usize> = MESSAGES
        .iter()
        .flat_map(|one| one.structs.iter().map(|part| part.number))
        .collect();
    assert_eq!(numbers, (0..STRUCT_COUNT).collect::<Vec<_>>());
    for one in MESSAGES {
        for part in &one.structs[1..] {
            let is_used = one
                .structs
                .iter()
                .flat_map(|other| other.fields)
                .any(|field| field.kind == crate::codec::table::Kind::Struct(part.place));
            assert!(is_used, "{}.{}", one.name, part.name);
            assert!(std::ptr::eq(one.struct_named(part.name).unwrap(), part));
        }
    }
}

#[test]
fn every_element_of_an_array_takes_a_byte_at_least() {
    for one in MESSAGES {
        for schema in schemas(one) {
            for layout in &schema.layouts {
                for slot in layout
                    .slots
                    .iter()
                    .chain(&layout.tagged)
                    .filter(|slot| slot.field.is_array)
                {
                    let is_there = layout.of.place == 0 || !layout.slots.is_empty();
                    assert!(
                        slot.min_element_bytes > 0 || !is_there,
                        "{} {} {}",
                        one.name,
                        schema.version,
                        slot.field.name
                    );
                }
            }
        }
    }
}

#[test]
fn versions_of_the_table_are_all_that_there_are() {
    let join = request(11).unwrap();
    assert!(join.schema(-1).is_none());
    assert!(join.schema(10).is_none());
    assert_eq!(join.schema(9).unwrap().version, 9);
    assert!(request(-1).is_none());
}

#[test]
fn error_codes_are_those_of_kafka() {
    assert_eq!(ERRORS.len(), 138);
    for fact in ERRORS {
        assert_eq!(fact.code.name(), fact.name);
        assert_eq!(fact.code.is_retriable(), fact.is_retriable);
    }
    assert!(ErrorCode::NOT_COORDINATOR.is_retriable());
    assert!(!ErrorCode::NONE.is_retriable());
    assert_eq!(ErrorCode(-2).name(), "UNKNOWN");
    assert_eq!(ErrorCode(137).fact().map(|fact| fact.name), None);
}
