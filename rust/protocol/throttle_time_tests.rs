use super::*;

#[test]
fn throttle_time_is_set_at_the_place_of_each_version_and_nowhere_else() {
    assert_eq!(throttle_time_at(ApiTable::METADATA, 2), None);
    assert_eq!(throttle_time_at(ApiTable::METADATA, 3), Some(0));
    assert_eq!(throttle_time_at(AFTER_ERROR_CODE, 0), Some(2));
    for key in [
        ApiTable::PRODUCE,
        ApiTable::FETCH,
        ApiTable::API_VERSIONS,
        -1,
        76,
        i16::MAX,
    ] {
        assert_eq!(throttle_time_at(key, i16::MAX), None, "key {key}");
    }
    let mut body = [7; 8];
    assert!(set_throttle_time(&mut body, 2, 0x0102_0304));
    assert_eq!((body, throttle_time(&body, 2)), ([7, 7, 1, 2, 3, 4, 7, 7], 0x0102_0304));
}

#[test]
fn body_that_ends_before_the_field_is_left_alone() {
    let mut body = [1, 2, 3];
    assert!(!set_throttle_time(&mut body, 0, 5));
    assert_eq!((body, throttle_time(&body, 0)), ([1, 2, 3], 0));
}
