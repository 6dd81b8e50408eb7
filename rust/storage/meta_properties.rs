//! `meta.properties`: the cluster, node and directory ids of a log directory.
//!
//! A Java properties file. Version 1 has `node.id`, `directory.id`, `cluster.id`; version 0 (before KIP-631) has
//! `broker.id` and perhaps `cluster.id`. Both versions are read; version 1 is written, in the key order of Kafka's own
//! tool. The file is durable when [`MetaProperties::write`] returns.

use std::fmt::Write as _;
use std::path::Path;

use super::format::META_PROPERTIES;
use super::state_file::{self, Durability, bad_format};
use super::uuid::Uuid;
use ::io::FileSystem;
use base::error::Result;

/// What the file says; version 0 may lack any of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetaProperties {
    /// `cluster.id`.
    pub cluster_id: Option<String>,
    /// `node.id`, or `broker.id` in version 0.
    pub node_id: Option<i32>,
    /// `directory.id`: names this directory wherever it is mounted.
    pub directory_id: Option<Uuid>,
}

impl MetaProperties {
    /// Reads the file of a log directory; `None` when there is none.
    pub fn read(fs: &dyn FileSystem, log_dir: &Path) -> Result<Option<Self>> {
        let path = log_dir.join(META_PROPERTIES);
        let Some(text) = state_file::read_text(fs, &path)? else {
            return Ok(None);
        };
        Self::decode(&text)
            .map(Some)
            .map_err(|reason| bad_format(&path, reason))
    }

    /// Replaces the file of a log directory; `now_ms` goes into its comment, as in Java.
    pub fn write(&self, fs: &dyn FileSystem, log_dir: &Path, now_ms: i64) -> Result<()> {
        let text = self.encode(now_ms);
        state_file::replace(fs, &log_dir.join(META_PROPERTIES), text.as_bytes(), Durability::Synced)
    }

    /// The text, version 1.
    pub fn encode(&self, now_ms: i64) -> String {
        let mut text = format!("#\n#{}\n", java_date(now_ms));
        if let Some(node_id) = self.node_id {
            let _ = writeln!(text, "node.id={node_id}");
        }
        if let Some(directory_id) = self.directory_id {
            let _ = writeln!(text, "directory.id={directory_id}");
        }
        text.push_str("version=1\n");
        if let Some(cluster_id) = &self.cluster_id {
            let _ = writeln!(text, "cluster.id={}", escape(cluster_id));
        }
        text
    }

    /// Reads the text; the error names the key that is wrong.
    pub fn decode(text: &str) -> Result<Self, String> {
        let mut found = Self::default();
        let (mut version, mut broker_id) = (0, None);
        for line in text.lines() {
            let Some((key, value)) = split_property(line) else {
                continue;
            };
            let number = || {
                value
                    .parse::<i32>()
                    .map_err(|_| format!("{key}={value} is not a number"))
            };
            match key.as_str() {
                "version" => version = number()?,
                "broker.id" => broker_id = Some(number()?),
                "node.id" => found.node_id = Some(number()?),
                "cluster.id" => found.cluster_id = Some(value),
                "directory.id" => {
                    let id = Uuid::parse(&value).ok_or_else(|| format!("directory.id={value} is not a base64 id"))?;
                    found.directory_id = Some(id);
                }
                _ => {}
            }
        }
        match version {
            0 => found.node_id = found.node_id.or(broker_id),
            1 if found.cluster_id.is_none() => return Err("cluster.id is missing".to_owned()),
            1 if found.node_id.is_none() => return Err("node.id is missing".to_owned()),
            1 => {}
            other => return Err(format!("version={other} is not known; 0 and 1 are")),
        }
        Ok(found)
    }
}

/// Splits a line of a Java properties file; `None` for blank lines and comments. Continued lines are not joined: no
/// value here is long.
fn split_property(line: &str) -> Option<(String, String)> {
    let line = line.trim_start();
    if line.is_empty() || line.starts_with(['#', '!']) {
        return None;
    }
    let mut key = String::new();
    let mut rest = line.chars();
    loop {
        match rest.next() {
            None | Some('=' | ':') => break,
            Some('\\') => key.push(unescape(&mut rest)),
            Some(blank) if blank.is_ascii_whitespace() => {
                let after = rest.as_str().trim_start();
                rest = after.strip_prefix(['=', ':']).unwrap_or(after).chars();
                break;
            }
            Some(other) => key.push(other),
        }
    }
    let mut rest = rest.as_str().trim_start().chars();
    let mut value = String::new();
    while let Some(next) = rest.next() {
        value.push(if next == '\\' { unescape(&mut rest) } else { next });
    }
    Some((key, value))
}

/// The character that an escape stands for; the replacement character when the escape is cut short.
fn unescape(rest: &mut std::str::Chars<'_>) -> char {
    match rest.next() {
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('f') => '\x0c',
        Some('u') => {
            let digits: String = rest.by_ref().take(4).collect();
            let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
            code.unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        Some(other) => other,
        None => char::REPLACEMENT_CHARACTER,
    }
}

/// Escapes a value as Java does: the separators and comment signs, the backslash, control characters, a first blank.
fn escape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for (at, character) in value.chars().enumerate() {
        match character {
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\x0c' => text.push_str("\\f"),
            '=' | ':' | '#' | '!' | '\\' => text.extend(['\\', character]),
            ' ' if at == 0 => text.push_str("\\ "),
            other => text.push(other),
        }
    }
    text
}

const MS_PER_DAY: i64 = 86_400_000;
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// `Sat Nov 21 12:54:32 UTC 2026`: Java's `Date.toString` in UTC.
fn java_date(now_ms: i64) -> String {
    let (days, ms) = (now_ms.div_euclid(MS_PER_DAY), now_ms.rem_euclid(MS_PER_DAY));
    let weekday = WEEKDAYS[days.rem_euclid(7) as usize];
    let seconds = ms / 1000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let (year, month, day) = civil_date(days);
    let month = MONTHS[month];
    format!("{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02} UTC {year}")
}

/// Year, month from 0 and day of the month, `days` after 1970-01-01, by years that begin in March so that the leap
/// day comes last.
fn civil_date(days: i64) -> (i64, usize, i64) {
    let since_march_0000 = days + 719_468;
    let (era, day_of_era) = (
        since_march_0000.div_euclid(146_097),
        since_march_0000.rem_euclid(146_097),
    );
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12;
    (era * 400 + year_of_era + i64::from(month < 2), month as usize, day)
}

#[cfg(test)]
#[path = "meta_properties_tests.rs"]
mod tests;
