use super::*;

// Dispatch counts, budgets and logs an API under the key that it says.
#[test]
fn api_is_found_under_the_key_that_it_names() {
    let keys = (-1..i16::from(u8::MAX)).chain([ApiTable::ADOPT_SEGMENTS]);
    let served: Vec<i16> = keys.filter(|key| find(*key).is_some()).collect();
    for key in &served {
        assert_eq!(find(*key).map(Api::key), Some(*key));
    }
    let expected = [
        ApiTable::PRODUCE,
        ApiTable::FETCH,
        ApiTable::LIST_OFFSETS,
        ApiTable::METADATA,
        ApiTable::FIND_COORDINATOR,
        ApiTable::INIT_PRODUCER_ID,
        ApiTable::ADOPT_SEGMENTS,
    ];
    assert!(expected.iter().all(|key| served.contains(key)), "{served:?}");
}
