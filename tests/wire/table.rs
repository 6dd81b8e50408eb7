//! What reads and writes after the table of messages, against the fixture.

use protocol::WireError;
use protocol::codec::table::message;
use protocol::codec::{Limits, Schema, Value, ValueBuilder, decode, encode};

use crate::fixtures::every_body;

/// `list_offsets` and `request` as Kafka names the message.
fn name_of(words: [&str; 2]) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    words[0].split('_').chain([words[1]]).map(capital).collect()
}

fn read(schema: &'static Schema, bytes: &[u8]) -> Result<Value, WireError> {
    let message = schema.message;
    decode(schema, bytes, Limits::NONE, &mut ValueBuilder { message })
}

#[test]
fn body_of_the_other_codec_is_written_as_it_was_read_and_each_truncation_is_refused() {
    for (words, body) in every_body() {
        let schema = message(&name_of(words)).unwrap().schema(body.version).unwrap();
        let value = read(schema, &body.bytes).unwrap();
        assert_eq!(encode(schema, &value).as_ref(), Ok(&body.bytes), "{words:?} {body:?}");
        for end in 0..body.bytes.len() {
            assert!(
                read(schema, &body.bytes[..end]).is_err(),
                "{words:?} {body:?} cut at {end}"
            );
        }
    }
}
