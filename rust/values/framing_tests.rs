//! Frames of serializers.

use super::Frames;
use crate::spec::Framing;

#[test]
fn a_frame_is_taken_off_and_a_false_one_is_refused() {
    let frames = |framing, has_indexes| Frames { framing, has_indexes };
    let confluent = frames(Framing::Confluent, false);
    assert_eq!(confluent.split(&[0, 0, 0, 1, 2, 9, 9]), Ok((Some(258), &[9, 9][..])));
    assert!(confluent.split(&[1, 0, 0, 1, 2, 9]).is_err());
    assert!(confluent.split(&[0, 0, 0, 1]).is_err());
    let apicurio = frames(Framing::Apicurio, false);
    assert_eq!(apicurio.split(&[0, 0, 0, 0, 0, 0, 0, 0, 7, 9]), Ok((Some(7), &[9][..])));
    let messages = frames(Framing::Confluent, true);
    assert_eq!(messages.split(&[0, 0, 0, 0, 1, 0, 9]), Ok((Some(1), &[9][..])));
    assert_eq!(messages.split(&[0, 0, 0, 0, 1, 4, 2, 0, 9]), Ok((Some(1), &[9][..])));
    for indexes in [&[3, 0][..], &[4, 2], &[0xff; 9], &[]] {
        let value = [&[0, 0, 0, 0, 1], indexes].concat();
        assert!(messages.split(&value).is_err(), "{indexes:?}");
    }
}
