use super::*;

#[test]
fn special_timestamps_have_their_first_versions() {
    for (value, expected) in [
        (0, Some(1)),
        (-1, Some(1)),
        (-2, Some(1)),
        (-3, Some(7)),
        (-4, Some(8)),
        (-5, Some(9)),
        (-6, Some(11)),
        (-7, None),
    ] {
        assert_eq!(timestamp::first_version(value), expected, "{value}");
    }
}

#[test]
fn unknown_versions_are_refused() {
    for version in [-1, 0, 12] {
        assert_eq!(
            ListOffsetsRequest::default().decode(version, &[0; 64]),
            Err(WireError::UnsupportedVersion)
        );
    }
}
