use super::*;

#[test]
fn magic_of_message_sets_is_0_before_version_2_and_1_before_version_4() {
    let magics: Vec<_> = (0..6).map(message_set_magic).collect();
    assert_eq!(magics, [Some(0), Some(0), Some(1), Some(1), None, None]);
}
