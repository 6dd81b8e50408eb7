//! The map has the last offset of each key, whatever the order, up to its limit.

use std::collections::HashMap;

use proptest::prelude::*;

use super::{Full, MAX_SPAN, OffsetMap, SLOT_BYTES};
use base::place::Offset;

fn map_of(slots: usize, load_factor: f64, span: i64) -> OffsetMap {
    let mut map = OffsetMap::new(slots * SLOT_BYTES, load_factor);
    map.begin(Offset(1_000), span).unwrap();
    map
}

proptest! {
    #[test]
    fn map_matches_naive(
        keys in prop::collection::vec(0_u16..300, 0..800),
        slots in 2_usize..400,
        load in 0.3_f64..1.0,
    ) {
        let mut map = map_of(slots, load, 800);
        let most = map.max_keys;
        prop_assert!(map.size_bytes() <= slots * SLOT_BYTES);
        let mut naive: HashMap<u16, Offset> = HashMap::new();
        let mut latest = Offset(999);
        for (at, key) in keys.iter().enumerate() {
            let offset = Offset(1_000 + at as i64);
            let put = map.put(map.hash(&key.to_be_bytes()), offset);
            if naive.len() == most && !naive.contains_key(key) {
                prop_assert_eq!(put, Err(Full));
                continue;
            }
            prop_assert_eq!(put, Ok(()));
            naive.insert(*key, offset);
            latest = offset;
        }
        prop_assert_eq!((map.keys(), map.latest()), (naive.len(), latest));
        for key in 0_u16..310 {
            prop_assert_eq!(map.get(map.hash(&key.to_be_bytes())), naive.get(&key).copied(), "{}", key);
        }
    }
}

#[test]
fn map_takes_memory_for_the_span_and_not_for_the_limit() {
    let map = map_of(1_000_000, 0.9, 90);
    assert!(map.size_bytes() < 110 * SLOT_BYTES, "{}", map.size_bytes());
    let mut map = map_of(1_000_000, 0.9, 90);
    for at in 0..90_i64 {
        map.put(map.hash(&at.to_be_bytes()), Offset(1_000 + at)).unwrap();
    }
    map.end();
    assert_eq!((map.size_bytes(), map.get(map.hash(&5_i64.to_be_bytes()))), (0, None));
}

#[test]
fn map_of_the_smallest_limit_takes_one_key() {
    let mut map = OffsetMap::new(0, 0.0001);
    map.begin(Offset(0), 10).unwrap();
    map.put(map.hash(b"a"), Offset(0)).unwrap();
    map.put(map.hash(b"a"), Offset(1)).unwrap();
    assert_eq!(map.put(map.hash(b"b"), Offset(2)), Err(Full));
    assert_eq!(
        (map.get(map.hash(b"a")), map.get(map.hash(b"b")), map.latest()),
        (Some(Offset(1)), None, Offset(1))
    );
}

#[test]
fn offset_beyond_the_span_is_refused() {
    let mut map = OffsetMap::new(1 << 20, 0.9);
    map.begin(Offset(7), 100).unwrap();
    assert_eq!(map.put(map.hash(b"a"), Offset(7 + MAX_SPAN)), Err(Full));
    map.put(map.hash(b"a"), Offset(6 + MAX_SPAN)).unwrap();
    assert_eq!(map.get(map.hash(b"a")), Some(Offset(6 + MAX_SPAN)));
    assert_eq!(map.put(map.hash(b"b"), Offset(6)), Err(Full));
}

#[test]
fn a_new_cleaning_draws_another_secret() {
    let mut map = OffsetMap::new(1 << 20, 0.9);
    map.begin(Offset(0), 100).unwrap();
    let before = map.hash(b"key");
    map.put(map.hash(b"key"), Offset(1)).unwrap();
    map.begin(Offset(0), 100).unwrap();
    assert_ne!(map.hash(b"key"), before);
    assert_eq!((map.get(map.hash(b"key")), map.keys()), (None, 0));
}
