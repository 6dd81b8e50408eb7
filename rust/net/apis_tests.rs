use super::*;
use broker::testing::Fixture;
use protocol::ApiTable;

// Dispatch counts, budgets and logs an API under the key that it says.
#[test]
fn api_is_found_under_the_key_that_it_names() {
    let fixture = Fixture::new(1);
    serve_all(&fixture.broker);
    let find = |key: i16| fixture.broker.api(key);
    let served: Vec<i16> = (i16::MIN..=i16::MAX).filter(|key| find(*key).is_some()).collect();
    for key in &served {
        assert_eq!(find(*key).map(|api| api.key()), Some(*key));
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
    assert_eq!(served.len(), 15, "no two have one key");
}
