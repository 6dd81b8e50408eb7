//! Bounds by time against a walk of everything, with whole, missing and damaged indexes.

use std::fs;
use std::os::unix::fs::FileExt;

use proptest::prelude::*;

use super::super::testing::*;
use super::Bound;
use base::place::Offset;

#[test]
fn an_invalid_bound_is_refused_with_the_fix() {
    assert_eq!(Bound::parse("start", "offset", -2).unwrap(), Bound::Earliest);
    assert_eq!(Bound::parse("start", "offset", -1).unwrap(), Bound::Latest);
    for (kind, value, named) in [("offset", -3, "-3"), ("day", 1, "day")] {
        let said = Bound::parse("start", kind, value).err().unwrap().to_string();
        assert!(said.starts_with("start: ") && said.contains(named), "{said}");
    }
}

/// What may befall an index file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    None,
    Removed,
    Cut(u64),
    Overwritten(u64, u8),
    Padded,
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        Just(Damage::None),
        Just(Damage::Removed),
        (0u64..60).prop_map(Damage::Cut),
        (0u64..60, any::<u8>()).prop_map(|(at, byte)| Damage::Overwritten(at, byte)),
        Just(Damage::Padded),
    ]
}

fn apply(damage: Damage, path: &std::path::Path) {
    if let Damage::Removed = damage {
        fs::remove_file(path).unwrap();
        return;
    }
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    let len = file.metadata().unwrap().len();
    match damage {
        Damage::Cut(to) => file.set_len(len.min(to)).unwrap(),
        Damage::Overwritten(at, byte) if at < len => file.write_all_at(&[byte], at).unwrap(),
        Damage::Padded => file.set_len(len + 240).unwrap(),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn times_and_offsets_mean_what_a_full_walk_finds(
        times in prop::collection::vec(0i64..60, 1..80),
        per_batch in 1usize..4,
        per_segment in 1usize..9,
        offset_damage in damage(),
        time_damage in damage(),
        start in 0i64..70,
        span in 0i64..30,
        high_watermark in prop::option::of(0i64..90),
    ) {
        let bench = Bench::new(&[("index.interval.bytes", "150")]);
        fill(&bench, &times, per_batch, per_segment);
        for path in segment_files(&bench.path()) {
            apply(offset_damage, &path.with_extension("index"));
            apply(time_damage, &path.with_extension("timeindex"));
        }
        let seen = walk(&bench);
        let mut end_limit = seen.len() as i64;
        if let Some(high_watermark) = high_watermark {
            let high_watermark = high_watermark.min(end_limit); // else records are lost
            write_high_watermark(&bench, high_watermark);
            let is_whole = |it: &&Seen| it.header.last_offset() < Offset(high_watermark);
            end_limit = seen.iter().rfind(is_whole).map_or(0, |it| it.header.next_offset().get());
        }
        let first = |ms: i64| {
            let late = |it: &&Seen| it.timestamp >= ms && it.offset < end_limit;
            seen.iter().find(late).map_or(end_limit, |it| it.offset)
        };
        let mut request = request(&bench);
        request.start.insert(-1, Bound::Timestamp(start));
        request.end.insert(0, Bound::Timestamp(start + span));
        let plan = plan(&request).unwrap();
        let planned = (plan.start_offset.get(), plan.end_offset.get(), plan.end_limit.get());
        prop_assert_eq!(planned, (first(start), first(start + span), end_limit));
        let expected: Vec<i64> = (first(start)..first(start + span)).collect();
        prop_assert_eq!(planned_offsets(&plan), expected);
    }
}
