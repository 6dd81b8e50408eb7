use super::*;

#[test]
fn special_timestamps_have_their_first_versions() {
    for (value, expected) in [
        (0, Some(0)),
        (-1, Some(0)),
        (-2, Some(0)),
        (-3, Some(7)),
        (-4, Some(8)),
        (-5, Some(9)),
        (-6, Some(11)),
        (-7, None),
    ] {
        assert_eq!(timestamp::first_version(value), expected, "{value}");
    }
}
