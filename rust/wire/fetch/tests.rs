use super::super::error::WireError;
use super::*;

#[test]
fn versions_below_4_and_above_18_are_refused() {
    let mut request = FetchRequest::default();
    for version in [-1, 0, 3, 19] {
        assert_eq!(request.decode(version, &[0; 64]), Err(WireError::UnsupportedVersion));
    }
}
