//! Where the range of a read begins and ends, as its options say it: offsets or times, for all partitions or for each.
//!
//! Of the options for one end only the first that is given counts, in Spark's order:
//!
//! - (a) `startingTimestamp`: one time for every partition, ms since the epoch
//! - (b) `startingOffsetsByTimestamp`: JSON, a time for each partition
//! - (c) `startingOffsets`: `earliest`, `latest` or JSON, an offset for each (-2 earliest, -1 latest)
//!
//! No file is read here: whether the partitions exist is seen when the read is planned.

use std::collections::BTreeMap;

use serde_json::Value;

use super::repr::quoted;
use super::{PlanError, Result};
use scan::{self, Bound};

/// The earliest offset, as an option writes it.
pub(super) const EARLIEST: i64 = -2;
/// The latest offset, as an option writes it.
pub(super) const LATEST: i64 = -1;

/// Topic, partition, and the bound there.
type Places = BTreeMap<String, BTreeMap<i32, i64>>;

/// What a bound's numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundKind {
    /// Offsets; -2 is the earliest, -1 the latest.
    Offset,
    /// Milliseconds since the epoch.
    Timestamp,
}

/// Where a bound is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum At {
    Everywhere(i64),
    Places(Places),
}

/// One end of a read's range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeBound {
    /// The option that says it.
    pub option: &'static str,
    /// What its numbers are.
    pub kind: BoundKind,
    at: At,
}

/// The names of the options for one end.
pub(super) struct Names {
    pub(super) timestamp: &'static str,
    pub(super) by_timestamp: &'static str,
    pub(super) offsets: &'static str,
}

pub(super) const STARTING: Names = Names {
    timestamp: "startingTimestamp",
    by_timestamp: "startingOffsetsByTimestamp",
    offsets: "startingOffsets",
};
pub(super) const ENDING: Names = Names {
    timestamp: "endingTimestamp",
    by_timestamp: "endingOffsetsByTimestamp",
    offsets: "endingOffsets",
};

impl RangeBound {
    /// The number at a partition; `None` when the JSON of the option does not name it.
    pub fn number(&self, topic: &str, partition: i32) -> Option<i64> {
        match &self.at {
            At::Everywhere(number) => Some(*number),
            At::Places(places) => places.get(topic)?.get(&partition).copied(),
        }
    }

    /// The bound of a partition as a scan takes it.
    pub(super) fn of(&self, topic: &str, partition: i32) -> Result<Bound> {
        let Some(number) = self.number(topic, partition) else {
            return Err(self.not_exactly("lacks", topic, partition));
        };
        let kind = match self.kind {
            BoundKind::Offset => "offset",
            BoundKind::Timestamp => "timestamp",
        };
        Ok(scan::Bound::parse(self.option, kind, number)?)
    }

    /// Refuses JSON that does not name exactly the partitions that are read, as Spark does.
    pub(super) fn check_places(&self, topic: &str, partitions: &[i32]) -> Result<()> {
        let At::Places(places) = &self.at else {
            return Ok(());
        };
        let nothing = BTreeMap::new();
        let named = places.get(topic).unwrap_or(&nothing);
        if let Some(lacking) = partitions.iter().filter(|it| !named.contains_key(it)).min() {
            return Err(self.not_exactly("lacks", topic, *lacking));
        }
        if let Some(other) = named.keys().find(|it| !partitions.contains(it)) {
            return Err(self.not_exactly("has", topic, *other));
        }
        Ok(())
    }

    fn not_exactly(&self, what: &str, topic: &str, partition: i32) -> PlanError {
        let fix = match (what, self.kind) {
            ("has", _) => "it is not read; leave it out",
            (_, BoundKind::Timestamp) => "add it",
            (_, BoundKind::Offset) => "add it, -2 being the earliest, -1 the latest",
        };
        PlanError::Invalid(format!(
            "{}: JSON must name exactly the partitions read, and {what} {topic}-{partition}; {fix}",
            self.option
        ))
    }

    /// The bound that the options of one end give; `default` when none of them is given.
    pub(super) fn parse(given: &BTreeMap<String, String>, names: &Names, default: i64) -> Result<Self> {
        let value_of = |option: &str| given.get(&option.to_lowercase());
        // (a)
        if let Some(value) = value_of(names.timestamp) {
            let option = names.timestamp;
            let Some(time) = value.parse().ok().filter(|time: &i64| *time >= 0) else {
                return Err(PlanError::Invalid(format!(
                    "{option}: {} is no time; give milliseconds since the epoch",
                    quoted(value)
                )));
            };
            return Ok(Self::everywhere(option, BoundKind::Timestamp, time));
        }
        // (b)
        if let Some(value) = value_of(names.by_timestamp) {
            let option = names.by_timestamp;
            let Some(places) = places_of(value, 0) else {
                return Err(not_json(option, value, "", r#"{"topicA":{"0":1790000000000}}"#));
            };
            return Ok(Self::at_places(option, BoundKind::Timestamp, places));
        }
        // (c)
        let option = names.offsets;
        let Some(value) = value_of(option) else {
            return Ok(Self::everywhere(option, BoundKind::Offset, default));
        };
        match value.to_lowercase().as_str() {
            "earliest" => Ok(Self::everywhere(option, BoundKind::Offset, EARLIEST)),
            "latest" => Ok(Self::everywhere(option, BoundKind::Offset, LATEST)),
            _ => match places_of(value, EARLIEST) {
                Some(places) => Ok(Self::at_places(option, BoundKind::Offset, places)),
                None => Err(not_json(
                    option,
                    value,
                    "earliest, latest or ",
                    r#"{"topicA":{"0":23,"1":-2}}"#,
                )),
            },
        }
    }

    const fn everywhere(option: &'static str, kind: BoundKind, number: i64) -> Self {
        let at = At::Everywhere(number);
        Self { option, kind, at }
    }

    const fn at_places(option: &'static str, kind: BoundKind, places: Places) -> Self {
        let at = At::Places(places);
        Self { option, kind, at }
    }

    /// Refuses the one word, or its number, that makes no batch at this end.
    pub(super) fn refuse(&self, forbidden: i64, word: &str, fix: &str) -> Result<()> {
        let option = self.option;
        if self.kind == BoundKind::Timestamp {
            return Ok(());
        }
        match &self.at {
            At::Everywhere(number) if *number == forbidden => {
                Err(PlanError::Invalid(format!("{option}: {word} makes no batch; {fix}")))
            }
            At::Everywhere(_) => Ok(()),
            At::Places(places) => match each(places).find(|(.., number)| *number == forbidden) {
                Some((topic, partition, offset)) => Err(PlanError::Invalid(format!(
                    "{option}: {offset} ({word}) for {topic}-{partition}; {fix}"
                ))),
                None => Ok(()),
            },
        }
    }

    /// Refuses a start behind an end of the same kind; the earliest and the latest are negative and never refused.
    pub(super) fn refuse_behind(&self, end: &Self) -> Result<()> {
        if self.kind != end.kind {
            return Ok(());
        }
        let (own, other) = (self.option, end.option);
        match (&self.at, &end.at) {
            (At::Everywhere(begin), At::Everywhere(last)) if begin > last && *last >= 0 => Err(PlanError::Invalid(
                format!("{own}: {begin} is behind {last} of {other}; swap them"),
            )),
            (At::Places(begins), At::Places(_)) => {
                let behind = each(begins).find_map(|(topic, partition, begin)| {
                    let last = end.number(topic, partition)?;
                    (begin > last && last >= 0).then_some((topic, partition, begin, last))
                });
                match behind {
                    Some((topic, partition, begin, last)) => Err(PlanError::Invalid(format!(
                        "{own}: {begin} for {topic}-{partition} is behind {last} of {other}; swap them"
                    ))),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

fn each(places: &Places) -> impl Iterator<Item = (&str, i32, i64)> {
    places.iter().flat_map(|(topic, numbers)| {
        numbers
            .iter()
            .map(move |(partition, number)| (topic.as_str(), *partition, *number))
    })
}

/// The numbers of `{"topic": {"partition": number}}`, none below `least`; `None` for any other text.
fn places_of(text: &str, least: i64) -> Option<Places> {
    let found: BTreeMap<String, BTreeMap<String, Value>> = serde_json::from_str(text).ok()?;
    let number_of = |(partition, number): (String, Value)| {
        let partition = partition.trim().parse().ok().filter(|it: &i32| *it >= 0)?;
        Some((partition, number.as_i64().filter(|it| *it >= least)?))
    };
    let of_topic = |(topic, numbers): (String, BTreeMap<String, Value>)| {
        let numbers: Option<BTreeMap<i32, i64>> = numbers.into_iter().map(number_of).collect();
        Some((topic, numbers?))
    };
    found.into_iter().map(of_topic).collect()
}

fn not_json(option: &str, value: &str, or_word: &str, example: &str) -> PlanError {
    PlanError::Invalid(format!(
        "{option}: {} is not {or_word}JSON like {example}; write it so",
        quoted(value)
    ))
}
