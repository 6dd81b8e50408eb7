//! A cleaned log that is opened again, after a stop and after a crash.

use super::super::testing::{append, append_of, clean, clean_within, end, in_transaction, records, roll};
use super::bench;
use base::place::Offset;
use record::Codec;

#[test]
fn segments_that_are_written_anew_are_durable_before_though_the_map_of_keys_is_full() {
    let bench = bench();
    let mut log = bench.create();
    log.note_listed(); // else it is flushed before it rolls
    append(&bench, &mut log, Codec::None, &[("a", Some("1")), ("b", Some("1"))]);
    append_of(
        &bench,
        &mut log,
        in_transaction(0, 0),
        &[("b", Some("2")), ("c", Some("2"))],
    );
    end(&bench, &mut log, 0, false);
    append(&bench, &mut log, Codec::None, &[("d", Some("3"))]);
    roll(&bench, &mut log);
    append(&bench, &mut log, Codec::None, &[("e", Some("4"))]);
    clean_within(&bench, &mut log, 20).unwrap();
    let (durable, last) = (log.recovery_point(), log.log_end_offset());
    assert_eq!(log.first_dirty_offset(), Some(Offset(1)), "the map has one key");
    assert_eq!(
        records(&log).into_keys().collect::<Vec<_>>(),
        [0, 1, 5, 6],
        "the aborted records are gone"
    );
    log.close().unwrap();
    let log = bench.open(durable.get(), false).unwrap();
    assert_eq!(log.log_end_offset(), last, "a crash");
}

#[test]
fn clean_stop_and_crash_open_a_cleaned_log_alike() {
    let bench = bench();
    let mut log = bench.create();
    for round in 0..3 {
        for key in 0..30 {
            append(
                &bench,
                &mut log,
                Codec::None,
                &[(&format!("k{key}"), Some(&format!("v{round}")))],
            );
        }
        roll(&bench, &mut log);
    }
    clean(&bench, &mut log);
    let wanted = (records(&log), log.log_end_offset());
    log.close().unwrap();
    for is_clean in [true, false] {
        let log = bench.open(0, is_clean).unwrap();
        assert_eq!((records(&log), log.log_end_offset()), wanted);
        assert_eq!(log.report().bytes_cut, 0);
    }
}
