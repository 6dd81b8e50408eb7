//! Turns pushed filters into limits of a scan: ranges and sets by column, all of which must hold.
//!
//! A filter is taken only when the scan then gives exactly the records that the filter keeps; Spark applies every other
//! filter itself. No file is looked at.
//!
//! ```text
//! topic, partition     sets and ranges      settled when planning
//! offset               a range              narrows the planned ranges
//! timestamp            a range of ms        narrows their start; the rest record by record
//! key                  a set                record by record
//! ```
//!
//! Kafka's timestamps are whole milliseconds and Spark's literals microseconds: `timestamp > x` is
//! `ms >= floor(x) + 1`.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use scan::{Column, Predicate};

/// A filter's comparison, by Spark's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `=`.
    EqualTo,
    /// `<=>`: as `=`, and null equals null.
    EqualNullSafe,
    /// `>`.
    GreaterThan,
    /// `>=`.
    GreaterThanOrEqual,
    /// `<`.
    LessThan,
    /// `<=`.
    LessThanOrEqual,
    /// `in`; a null among the values matches nothing.
    In,
    /// `is null`.
    IsNull,
    /// `is not null`.
    IsNotNull,
}

impl Operator {
    /// The operator of that name; `None` for an operator that no scan applies.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "EqualTo" => Self::EqualTo,
            "EqualNullSafe" => Self::EqualNullSafe,
            "GreaterThan" => Self::GreaterThan,
            "GreaterThanOrEqual" => Self::GreaterThanOrEqual,
            "LessThan" => Self::LessThan,
            "LessThanOrEqual" => Self::LessThanOrEqual,
            "In" => Self::In,
            "IsNull" => Self::IsNull,
            "IsNotNull" => Self::IsNotNull,
            _ => return None,
        })
    }

    const fn is_membership(self) -> bool {
        matches!(self, Self::EqualTo | Self::EqualNullSafe | Self::In)
    }
}

/// A pushed filter. Values are numbers for offsets and partitions, strings for topics, microseconds for timestamps,
/// base64 for keys; null stands for null.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PushedFilter {
    /// The column, whatever its case.
    pub column: String,
    /// The operator's name; see [`Operator`].
    pub op: String,
    /// What the column is compared with.
    #[serde(default)]
    pub values: Vec<Value>,
}

/// Whole numbers from `low` up to and not including `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Inclusive.
    pub low: i64,
    /// Exclusive; `i64::MAX` is no limit.
    pub high: i64,
}

impl Range {
    /// Every number.
    pub const ALL: Self = Self {
        low: i64::MIN,
        high: i64::MAX,
    };
    const NONE: Self = Self { low: 0, high: 0 };

    /// The numbers that are in both.
    #[must_use]
    pub fn meet(self, other: Self) -> Self {
        Self {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
        }
    }

    /// Whether it has no number.
    pub const fn is_empty(self) -> bool {
        self.low >= self.high
    }

    const fn has(self, number: i64) -> bool {
        self.low <= number && number < self.high
    }
}

impl Default for Range {
    fn default() -> Self {
        Self::ALL
    }
}

/// A key, or the null key.
type NullableKey = Option<Vec<u8>>;

/// The records that pushed filters keep; a set that is `None` keeps any value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordFilter {
    /// Offsets kept.
    pub offsets: Range,
    /// Timestamps kept, in ms.
    pub timestamps_ms: Range,
    /// Partitions kept.
    pub partitions: Option<BTreeSet<i64>>,
    /// Partitions kept, by order.
    pub partition_range: Range,
    /// Topics kept.
    pub topics: Option<BTreeSet<String>>,
    /// Keys kept; `None` within is the null key.
    pub keys: Option<BTreeSet<NullableKey>>,
}

impl RecordFilter {
    /// Whether the filters can keep records of this partition.
    pub fn has(&self, topic: &str, partition: i32) -> bool {
        let partition = i64::from(partition);
        self.topics.as_ref().is_none_or(|topics| topics.contains(topic))
            && self.partitions.as_ref().is_none_or(|it| it.contains(&partition))
            && self.partition_range.has(partition)
    }

    /// Whether no record at all can be kept.
    pub fn is_nothing(&self) -> bool {
        self.timestamps_ms.is_empty() || self.keys.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// What the scan must check record by record.
    pub fn predicate(&self) -> Predicate {
        let times = self.timestamps_ms;
        Predicate {
            min_timestamp_ms: (times.low != i64::MIN).then_some(times.low),
            end_timestamp_ms: (times.high != i64::MAX).then_some(times.high),
            keys: self.keys.as_ref().map(|keys| keys.iter().cloned().collect()),
        }
    }

    /// The records that one more filter leaves; `None` when the scan cannot apply the filter exactly.
    pub fn narrow(&self, filter: &PushedFilter) -> Option<Self> {
        let column = Column::ALL
            .into_iter()
            .find(|column| column.name().eq_ignore_ascii_case(&filter.column))?;
        let operator = Operator::parse(&filter.op)?;
        match operator {
            Operator::IsNotNull => return self.not_null(column),
            Operator::IsNull => return self.null(column),
            Operator::EqualNullSafe if filter.values == [Value::Null] => return self.null(column),
            _ => {}
        }
        let values: Vec<&Value> = match operator {
            Operator::In => filter.values.iter().filter(|it| !it.is_null()).collect(),
            _ if filter.values.len() == 1 && !filter.values[0].is_null() => filter.values.iter().collect(),
            _ => return None,
        };
        match column {
            Column::Topic => self.with_topics(operator, &values),
            Column::Partition => self.with_partitions(operator, &values),
            Column::Offset => self.with_offsets(operator, &values),
            Column::Timestamp => self.with_timestamps(operator, &values),
            Column::Key => self.with_keys(operator, &values),
            Column::Value
            | Column::TimestampType
            | Column::Headers
            | Column::SerializedKeySize
            | Column::SerializedValueSize => None,
        }
    }

    /// For columns that are never null, and for keys when the wanted keys are known and not null.
    fn not_null(&self, column: Column) -> Option<Self> {
        let is_known = match column {
            Column::Topic | Column::Partition | Column::Offset | Column::Timestamp | Column::TimestampType => true,
            Column::Key => self.keys.as_ref().is_some_and(|keys| !keys.contains(&None)),
            Column::Value | Column::Headers | Column::SerializedKeySize | Column::SerializedValueSize => false,
        };
        is_known.then(|| self.clone())
    }

    fn null(&self, column: Column) -> Option<Self> {
        (column == Column::Key).then(|| self.keeping_keys([None].into()))
    }

    fn with_topics(&self, operator: Operator, values: &[&Value]) -> Option<Self> {
        let names = || values.iter().map(|it| Some(it.as_str()?.to_owned())).collect();
        let found: BTreeSet<String> = if operator.is_membership() { names() } else { None }?;
        Some(Self {
            topics: Some(met(self.topics.as_ref(), found)),
            ..self.clone()
        })
    }

    fn with_partitions(&self, operator: Operator, values: &[&Value]) -> Option<Self> {
        let numbers = integers(values)?;
        if operator.is_membership() {
            let found = numbers.into_iter().collect();
            return Some(Self {
                partitions: Some(met(self.partitions.as_ref(), found)),
                ..self.clone()
            });
        }
        let found = range_of(operator, &numbers, 1)?;
        Some(Self {
            partition_range: self.partition_range.meet(found),
            ..self.clone()
        })
    }

    fn with_offsets(&self, operator: Operator, values: &[&Value]) -> Option<Self> {
        let found = range_of(operator, &integers(values)?, 1)?;
        Some(Self {
            offsets: self.offsets.meet(found),
            ..self.clone()
        })
    }

    fn with_timestamps(&self, operator: Operator, values: &[&Value]) -> Option<Self> {
        let found = range_of(operator, &integers(values)?, 1000)?;
        Some(Self {
            timestamps_ms: self.timestamps_ms.meet(found),
            ..self.clone()
        })
    }

    fn with_keys(&self, operator: Operator, values: &[&Value]) -> Option<Self> {
        let keys = || {
            values
                .iter()
                .map(|it| Some(Some(STANDARD.decode(it.as_str()?).ok()?)))
                .collect()
        };
        let found: BTreeSet<NullableKey> = if operator.is_membership() { keys() } else { None }?;
        Some(self.keeping_keys(found))
    }

    fn keeping_keys(&self, found: BTreeSet<NullableKey>) -> Self {
        Self {
            keys: Some(met(self.keys.as_ref(), found)),
            ..self.clone()
        }
    }
}

/// The filters that are taken, by index, and what they leave. Filters on nulls come last: they may be settled by
/// another filter on the same column.
pub fn push(filters: &[PushedFilter]) -> (Vec<usize>, RecordFilter) {
    let mut order: Vec<usize> = (0..filters.len()).collect();
    order.sort_by_key(|at| filters[*at].op == "IsNotNull");
    let mut wanted = RecordFilter::default();
    let mut taken = Vec::new();
    for at in order {
        if let Some(narrowed) = wanted.narrow(&filters[at]) {
            wanted = narrowed;
            taken.push(at);
        }
    }
    taken.sort_unstable();
    (taken, wanted)
}

fn integers(values: &[&Value]) -> Option<Vec<i64>> {
    values.iter().map(|value| value.as_i64()).collect()
}

fn met<T: Ord>(known: Option<&BTreeSet<T>>, mut found: BTreeSet<T>) -> BTreeSet<T> {
    if let Some(known) = known {
        found.retain(|it| known.contains(it));
    }
    found
}

/// The numbers n for which n * `scale` passes the filter. A list is a range only when it has one value.
fn range_of(operator: Operator, values: &[i64], scale: i64) -> Option<Range> {
    let [value] = values else {
        return (operator == Operator::In && values.is_empty()).then_some(Range::NONE);
    };
    let down = value.div_euclid(scale);
    let up = down + i64::from(value.rem_euclid(scale) != 0);
    let after = down.saturating_add(1);
    let from = |low| Range { low, ..Range::ALL };
    let before = |high| Range { high, ..Range::ALL };
    Some(match operator {
        Operator::EqualTo | Operator::EqualNullSafe | Operator::In => Range { low: up, high: after },
        Operator::GreaterThan => from(after),
        Operator::GreaterThanOrEqual => from(up),
        Operator::LessThan => before(up),
        Operator::LessThanOrEqual => before(after),
        Operator::IsNull | Operator::IsNotNull => return None,
    })
}

#[cfg(test)]
#[path = "filters_tests.rs"]
mod tests;
