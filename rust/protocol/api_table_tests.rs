use super::*;

fn range(key: i16, min: i16, max: i16, flexible_from: i16) -> ApiRange {
    ApiRange {
        key,
        min,
        max,
        flexible_from,
        is_advertised: true,
    }
}

#[test]
fn get_finds_every_key_and_no_other() {
    let table = ApiTable::new(vec![
        range(18, 0, 4, 3),
        range(0, 3, 13, 9),
        range(1, 4, 18, 12),
        range(17, 0, 1, i16::MAX),
    ]);
    for key in [0, 1, 17, 18] {
        assert_eq!(table.get(key).map(|range| range.key), Some(key));
    }
    for key in [-1, 2, 3, 19, i16::MAX, i16::MIN] {
        assert_eq!(table.get(key), None);
    }
}

#[test]
fn flexible_is_by_version_and_never_for_an_api_versions_response() {
    let table = ApiTable::new(vec![range(18, 0, 4, 3), range(17, 0, 1, i16::MAX)]);
    assert!(!table.is_flexible(18, 2));
    assert!(table.is_flexible(18, 3));
    assert!(table.is_flexible(18, 99));
    assert!(!table.is_response_flexible(18, 4));
    assert!(!table.is_flexible(17, 1));
    assert!(!table.is_flexible(-1, 3));
}

#[test]
fn produce_is_advertised_from_zero_and_served_from_three() {
    let produce = range(0, 3, 13, 9);
    assert_eq!(produce.advertised_min(), 0);
    assert!(!produce.serves(2));
    assert!(produce.serves(3));
    assert!(!produce.serves(14));
}
