use super::*;

#[test]
fn versions_0_to_2_and_above_13_are_refused() {
    let mut request = ProduceRequest::default();
    for version in [-1, 0, 1, 2, 14] {
        assert_eq!(request.decode(version, &[0; 64]), Err(WireError::UnsupportedVersion));
    }
}
