//! Names as Kafka writes them.

use std::path::Path;

use super::{file_name, file_path, parse_file_name, with_suffix};
use base::place::Offset;

#[test]
fn file_names_have_twenty_digits() {
    assert_eq!(file_name(Offset(42), ".log"), "00000000000000000042.log");
    assert_eq!(file_name(Offset::MAX, ".timeindex"), "09223372036854775807.timeindex");
    assert_eq!(
        file_path(Path::new("/d"), Offset(0), ".index"),
        Path::new("/d/00000000000000000000.index")
    );
}

#[test]
fn names_parse_back_and_others_do_not() {
    assert_eq!(parse_file_name("00000000000000000042.log"), Some((Offset(42), ".log")));
    assert_eq!(
        parse_file_name("00000000000000000042.log.deleted"),
        Some((Offset(42), ".log.deleted"))
    );
    for other in [
        "",
        "leader-epoch-checkpoint",
        "42.log",
        "00000000000000000042log",
        "0000000000000000004x.log",
    ] {
        assert_eq!(parse_file_name(other), None, "{other}");
    }
    assert_eq!(
        parse_file_name("99999999999999999999.log"),
        None,
        "does not fit 64 bits"
    );
}

#[test]
fn suffixes_are_appended_not_replaced() {
    assert_eq!(
        with_suffix(Path::new("/d/1.log"), ".deleted"),
        Path::new("/d/1.log.deleted")
    );
}
