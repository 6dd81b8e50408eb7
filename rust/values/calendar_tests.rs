//! Dates and times of texts; the expected values are those of Spark's cast.

use super::{Zone, parse_date, parse_local_timestamp, parse_timestamp};

#[test]
fn dates_are_those_of_the_proleptic_calendar() {
    let cases = [
        ("1970-01-01", Some(0)),
        ("2024-02-29", Some(19_782)),
        ("2024-2-3", Some(19_756)),
        ("2024", Some(19_723)),
        ("2024-02-03T10:00", Some(19_756)),
        (" 2024-02-03 ", Some(19_756)),
        ("1582-10-10", Some(-141_432)),
        ("0001-01-01", Some(-719_162)),
        ("-0001-01-01", Some(-719_893)),
        ("2024-02-30", None),
        ("2023-02-29", None),
        ("2024-13-01", None),
        ("24-01-01", None),
        ("2024/01/01", None),
        ("2024-02-03x", None),
        ("", None),
    ];
    for (text, days) in cases {
        assert_eq!(parse_date(text), days, "{text}");
    }
}

#[test]
fn times_have_the_zone_that_they_name_or_that_of_the_session() {
    let noon = 1_709_208_000_000_000; // 2024-02-29T12:00:00Z
    let utc = Zone::UTC;
    let cases = [
        ("2024-02-29T12:00:00Z", Some(noon)),
        ("2024-02-29 12:00", Some(noon)),
        ("2024-02-29T12:00:00.123456789", Some(noon + 123_456)),
        ("2024-02-29T14:00:00+02:00", Some(noon)),
        ("2024-02-29T14:00:00+0200", Some(noon)),
        ("2024-02-29T14:00:00 +2", Some(noon)),
        ("2024-02-29T11:30:00-00:30", Some(noon)),
        ("2024-02-29T13:00:00UTC+1", Some(noon)),
        ("2024-02-29T12", Some(noon)),
        ("2024-02-29T12:00:00.Z", Some(noon)),
        ("2024-02-29", Some(noon - 12 * 3_600_000_000)),
        ("2024-02-29T24:00:00", None),
        ("2024-02-29T12:60:00", None),
        ("2024-02-29T12:00:00+18:01", None),
        ("2024-02-29T13:00:00 Europe/Paris", Some(noon)),
        ("2024-02-29T13:00:00 europe/paris", None),
        ("2024-02T12:00", None),
        ("12:00", None),
        ("1709208000", None),
    ];
    for (text, micros) in cases {
        assert_eq!(parse_timestamp(text, &utc), micros, "{text}");
    }
    let berlin = Zone::parse("+01:00").unwrap();
    assert_eq!(parse_timestamp("2024-02-29T13:00", &berlin), Some(noon));
    assert_eq!(parse_local_timestamp("2024-02-29T12:00"), Some(noon));
    assert_eq!(parse_local_timestamp("2024-02-29T12:00Z"), None);
}

#[test]
fn regions_have_the_rules_of_their_time_as_in_java() {
    let seconds = |text: &str, zone: &str| {
        let zone = Zone::parse(zone).unwrap();
        parse_timestamp(text, &zone).map(|micros| micros / 1_000_000)
    };
    let cases = [
        ("2024-02-29T13:00:00", "Europe/Paris", 1_709_208_000),
        ("2024-07-01T14:00:00", "Europe/Paris", 1_719_835_200),
        ("2024-03-31T02:30:00", "Europe/Paris", 1_711_848_600), // never shown: 03:30 of summer time
        ("2024-10-27T02:30:00", "Europe/Paris", 1_729_989_000), // shown twice: the earlier one
        ("2024-07-01T05:00:00", "PST", 1_719_835_200),
        ("2024-07-01T07:00:00", "EST", 1_719_835_200),
        ("2024-07-01T17:30:00", "Asia/Calcutta", 1_719_835_200),
        ("0001-01-01T00:00:00", "Europe/Paris", -62_135_597_361), // local mean time
        ("9999-07-01T00:00:00", "Europe/Paris", 253_386_396_000),
        ("200000-07-01T00:00:00", "Europe/Paris", 6_249_238_898_400),
    ];
    for (text, zone, expected) in cases {
        assert_eq!(seconds(text, zone), Some(expected), "{text} {zone}");
    }
    for wrong in ["Europe/Nowhere", "europe/paris", "", "+19:00", "../UTC", "local"] {
        assert_eq!(Zone::parse(wrong), None, "{wrong}");
    }
}
