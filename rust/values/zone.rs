//! Time zones: offsets from UTC, and regions as Java knows them, out of the time zone database that is compiled in.
//!
//! A clock's reading that a region has twice (its clocks are set back) is the earlier moment, and one that it never has
//! (they are set forward) is as much later, both as `java.time` has it. Java's time zone data and ours may differ in
//! rules that changed lately, and before 1970.

use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// Microseconds of a second.
const MICROS: i64 = 1_000_000;
/// After so many years the calendar repeats itself, days of the week too, and rules with it.
const ERA_SECONDS: i64 = 146_097 * 86_400;
/// From 1970; [`jiff::Timestamp`] ends with the year 9999.
const FAR_SECONDS: i64 = 20 * ERA_SECONDS;
/// Names that Java takes for others (`ZoneId.SHORT_IDS`), and one that many machines have: UTC needs no rules.
const OTHER_NAMES: [(&str, &str); 29] = [
    ("Etc/UTC", "UTC"),
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("EST", "-05:00"),
    ("HST", "-10:00"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("MST", "-07:00"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Zone {
    /// So many seconds ahead of UTC.
    Ahead(i64),
    /// A region's rules.
    Region(TimeZone),
}

impl Zone {
    pub(super) const UTC: Self = Self::Ahead(0);

    /// A zone as Java names it.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let other = OTHER_NAMES.iter().find(|(known, _)| *known == name);
        let name = other.map_or(name, |(_, other)| *other);
        if let Some(ahead) = super::calendar::zone_offset(name.as_bytes()) {
            return Some(Self::Ahead(ahead));
        }
        let region = TimeZone::get(name).ok()?;
        let is_named = region.iana_name() == Some(name); // the database does not regard case, Java does
        is_named.then_some(Self::Region(region))
    }

    /// The moment at which a clock of the zone shows so many microseconds since 1970.
    pub(super) fn moment(&self, shown: i64) -> Option<i64> {
        let ahead = match self {
            Self::Ahead(seconds) => *seconds,
            Self::Region(region) => ahead(region, shown.div_euclid(MICROS))?,
        };
        shown.checked_sub(ahead * MICROS)
    }
}

fn ahead(region: &TimeZone, shown: i64) -> Option<i64> {
    let near = if shown.abs() > FAR_SECONDS {
        shown.rem_euclid(ERA_SECONDS) + (FAR_SECONDS - ERA_SECONDS) * shown.signum()
    } else {
        shown
    };
    let clock = TimeZone::UTC.to_datetime(Timestamp::from_second(near).ok()?);
    let offset = match region.to_ambiguous_timestamp(clock).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
    };
    Some(i64::from(offset.seconds()))
}
