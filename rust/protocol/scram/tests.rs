//! What the messages of both sides share.

use super::*;

#[test]
fn secret_is_not_in_debug_output() {
    assert!(!format!("{:?}", Secret::new("pencil")).contains("pencil"));
}
