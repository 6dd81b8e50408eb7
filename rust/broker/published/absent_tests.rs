use super::*;
use crate::testing::{Fixture, START_MS};
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use record::{BatchBuilder, Codec};

fn header(producer_id: i64) -> BatchHeader {
    let mut builder = BatchBuilder::new(Codec::None).producer(producer_id, 0, 0);
    builder.append(START_MS, None, Some(b"value"), &[]);
    BatchHeader::parse(&builder.build(Offset(0), LeaderEpoch::NONE)).unwrap()
}

fn name(number: usize) -> AbsentTopic {
    AbsentTopic::Name(format!("t{number}").into())
}

#[test]
fn no_more_is_noted_than_fits_until_the_oldest_are_old() {
    let mut absent = Absent::default();
    for number in 0..MAX_NOTES + 5 {
        absent.note(name(number), 0, &header(1), START_MS);
    }
    assert_eq!(absent.refusals.len(), MAX_NOTES);
    absent.note(name(MAX_NOTES), 0, &header(1), START_MS + 9_999);
    assert_eq!(absent.refusals.len(), MAX_NOTES, "none is old");
    absent.note(name(MAX_NOTES), 0, &header(1), START_MS + 10_999);
    assert_eq!((absent.refusals.len(), absent.count), (1, 1));
    for _ in 0..MAX_NOTES {
        absent.note(name(0), 0, &header(1), START_MS + 11_000);
    }
    absent.note(name(1), 0, &header(1), START_MS + 12_000);
    assert_eq!(absent.refusals.len(), 3, "what is renewed takes no room of others");
}

#[test]
fn batch_whose_partition_has_come_meanwhile_is_noted_there() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    let registry = fixture.broker.registry();
    registry.note_absent(AbsentTopic::Name("t".into()), 0, &header(5), START_MS);
    registry.note_absent(AbsentTopic::Id([7; 16]), 0, &header(6), START_MS);
    for producer_id in [5, 6, 8] {
        let mut builder = BatchBuilder::new(Codec::None).producer(producer_id, 0, 3);
        builder.append(START_MS, None, Some(b"value"), &[]);
        let mut batch = builder.build(Offset(0), LeaderEpoch::NONE);
        let sent = fixture
            .partition("t", 0)
            .append(&mut batch, 1, record::Origin::Client, START_MS);
        let code = sent.err().map(|error| error.code());
        let expected = (producer_id != 8).then_some(ErrorCode::NOT_LEADER_OR_FOLLOWER);
        assert_eq!(code, expected, "producer {producer_id}");
    }
}

#[test]
fn topic_that_learns_its_id_hands_over_what_was_refused_by_it() {
    let fixture = Fixture::new(1);
    fixture.create_with("t", [0; 16], 2, &[], &[1]);
    let registry = fixture.broker.registry();
    registry.note_absent(AbsentTopic::Id([9; 16]), 1, &header(5), START_MS);
    registry.add(&"t".into(), [9; 16], Vec::new());
    assert_eq!(fixture.partition("t", 0).refusals().forget_old(START_MS), 0);
    assert_eq!(fixture.partition("t", 1).refusals().forget_old(START_MS), 1);
}
