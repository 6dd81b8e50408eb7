//! Topics by name with partition indexes, and the errors of those partitions: the part that the requests and responses
//! of transactions share.
//!
//! ```text
//! topics  := [name:string [index:i32] tags]
//! results := [name:string [index:i32 error:i16 tags] tags]
//! ```
//! The encoding is the reader's or the writer's. A list of errors has one error for each partition, in the order of the
//! topics and of the partitions in each topic. All topics of one request share one [`RowLimit`], so that a request of
//! many transactions holds no more rows than a request of one transaction.

use base::error::ErrorCode;

use super::error::WireError;
use super::reader::{MAX_ROWS, Reader};
use super::writer::Writer;

/// An empty name, an empty count and an empty tag section in the flexible encoding, which is the shorter encoding.
const MIN_TOPIC_BYTES: usize = 3;
/// An index and an error.
const MIN_RESULT_BYTES: usize = 6;
/// Kafka's limit of a topic name: bounds the memory of the names in [`PartitionErrors`].
const MAX_TOPIC_BYTES: usize = 249;

/// A topic by name and some of its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPartitions<'a> {
    /// The topic's name.
    pub topic: &'a str,
    /// The indexes of the partitions, in the order of the request.
    pub partitions: Vec<i32>,
}

impl<'a> NamedPartitions<'a> {
    /// The partitions of a topic whose name a request has kept.
    pub fn of<T: AsRef<str>>((topic, partitions): &'a (T, Vec<i32>)) -> Self {
        Self {
            topic: topic.as_ref(),
            partitions: partitions.clone(),
        }
    }
}

/// The errors of partitions in a decoded response: the topic's name, the partition's index and the error.
pub type PartitionErrors = Vec<(String, i32, ErrorCode)>;

/// The numbers of topics and partitions that one message may still name.
#[derive(Debug)]
pub(super) struct RowLimit {
    topics: usize,
    partitions: usize,
}

impl RowLimit {
    /// The limit of a whole message: [`MAX_ROWS`] topics and [`MAX_ROWS`] partitions.
    pub(super) fn new() -> Self {
        Self {
            topics: MAX_ROWS,
            partitions: MAX_ROWS,
        }
    }

    /// Decodes `topics`; those topics and their partitions count towards the limit.
    pub(super) fn decode_topics<'a>(&mut self, reader: &mut Reader<'a>) -> Result<Vec<NamedPartitions<'a>>, WireError> {
        let count = spend(&mut self.topics, reader.count(MIN_TOPIC_BYTES)?)?;
        let mut topics = Vec::new();
        for _ in 0..count {
            let topic = reader.str()?;
            let count = spend(&mut self.partitions, reader.count(size_of::<i32>())?)?;
            let partitions = (0..count).map(|_| reader.i32()).collect::<Result<_, _>>()?;
            reader.skip_tags()?;
            topics.push(NamedPartitions { topic, partitions });
        }
        Ok(topics)
    }

    /// Decodes `results`; those topics and their partitions count towards the limit.
    pub(super) fn decode_results(&mut self, reader: &mut Reader<'_>) -> Result<PartitionErrors, WireError> {
        let count = spend(&mut self.topics, reader.count(MIN_TOPIC_BYTES)?)?;
        let mut errors = Vec::new();
        for _ in 0..count {
            let topic = reader.str()?;
            if topic.len() > MAX_TOPIC_BYTES {
                return Err(WireError::StringTooLong);
            }
            for _ in 0..spend(&mut self.partitions, reader.count(MIN_RESULT_BYTES)?)? {
                errors.push((topic.to_owned(), reader.i32()?, ErrorCode(reader.i16()?)));
                reader.skip_tags()?;
            }
            reader.skip_tags()?;
        }
        Ok(errors)
    }
}

/// Takes `count` from the rows that are left, and returns `count`.
fn spend(left: &mut usize, count: usize) -> Result<usize, WireError> {
    *left = left.checked_sub(count).ok_or(WireError::TooManyElements)?;
    Ok(count)
}

/// Decodes `topics` of a request that has one such array.
pub fn decode_topics<'a>(reader: &mut Reader<'a>) -> Result<Vec<NamedPartitions<'a>>, WireError> {
    RowLimit::new().decode_topics(reader)
}

/// Appends `topics`: the name of each topic and its partition indexes.
pub fn encode_topics<P: AsRef<[i32]>>(w: &mut Writer<'_>, topics: &[(&str, P)]) {
    w.length(Some(topics.len()));
    for (topic, partitions) in topics {
        w.string(topic);
        w.i32_array(partitions.as_ref());
        w.no_tags();
    }
}

/// Appends `results`. A partition without an error in `errors` gets `UNKNOWN_SERVER_ERROR`.
pub(super) fn encode_results(w: &mut Writer<'_>, topics: &[NamedPartitions<'_>], errors: &[ErrorCode]) {
    let rows: usize = topics.iter().map(|topic| topic.partitions.len()).sum();
    debug_assert_eq!(rows, errors.len(), "one error for each partition");
    let mut errors = errors.iter().copied();
    w.length(Some(topics.len()));
    for topic in topics {
        w.string(topic.topic);
        w.length(Some(topic.partitions.len()));
        for index in &topic.partitions {
            w.i32(*index);
            w.i16(errors.next().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR).0);
            w.no_tags();
        }
        w.no_tags();
    }
}

#[cfg(test)]
#[path = "named_partitions_tests.rs"]
mod tests;
