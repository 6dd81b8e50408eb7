//! The rows of a block, as a caller of another language packs them. Every length is checked; a block is never trusted.
//!
//! ```text
//! block  := row*
//! row    := partition i32 (-1: none), topic_len i32 (-1: null, -2: the topic of the options), key_len i32 (-1: null),
//!           value_len i32 (-1: null), header_count i32, timestamp_ms i64 (-1: now), topic, key, value, header*
//! header := key_len i32, value_len i32 (-1: null), key, value
//! ```
//! Integers are little-endian.

use super::error::{ProducerError, Result};
use record::Header;

const NULL: i32 = -1;
/// The topic is that of the options.
const DEFAULT_TOPIC: i32 = -2;

/// The topic of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowTopic<'a> {
    /// That of the options.
    Default,
    /// Null in the data.
    Null,
    /// In the row.
    Named(&'a str),
}

/// A row; its headers are in the vector that [`Rows::next`] filled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) topic: RowTopic<'a>,
    /// As the row says it; it may be out of range.
    pub(super) partition: Option<i32>,
    /// In ms; `None` for the time of the write.
    pub(super) timestamp_ms: Option<i64>,
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
}

/// A row to pack.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowFields<'a> {
    /// `None`: the partitioner chooses it.
    pub partition: Option<i32>,
    /// `None`: the time of the write.
    pub timestamp_ms: Option<i64>,
    /// May be null.
    pub key: Option<&'a [u8]>,
    /// May be null.
    pub value: Option<&'a [u8]>,
}

/// Appends a row of the topic of the options to a block.
pub fn put_row(block: &mut Vec<u8>, row: &RowFields<'_>, headers: &[Header<'_>]) {
    let len = |bytes: Option<&[u8]>| bytes.map_or(NULL, |bytes| bytes.len() as i32);
    let head = [
        row.partition.unwrap_or(NULL),
        DEFAULT_TOPIC,
        len(row.key),
        len(row.value),
        headers.len() as i32,
    ];
    for field in head {
        block.extend(field.to_le_bytes());
    }
    block.extend(row.timestamp_ms.unwrap_or(-1).to_le_bytes());
    block.extend(row.key.unwrap_or_default());
    block.extend(row.value.unwrap_or_default());
    for (key, value) in headers {
        block.extend((key.len() as i32).to_le_bytes());
        block.extend(len(*value).to_le_bytes());
        block.extend(*key);
        block.extend(value.unwrap_or_default());
    }
}

/// The rows of a block, in order.
pub(super) struct Rows<'a> {
    rest: &'a [u8],
}

impl<'a> Rows<'a> {
    pub(super) const fn new(block: &'a [u8]) -> Self {
        Self { rest: block }
    }

    /// The next row; `None` at the end of the block.
    pub(super) fn next(&mut self, headers: &mut Vec<Header<'a>>) -> Result<Option<Row<'a>>> {
        headers.clear();
        if self.rest.is_empty() {
            return Ok(None);
        }
        let partition = self.int()?;
        let topic_len = self.int()?;
        let (key_len, value_len) = (self.int()?, self.int()?);
        let header_count = self.int()?;
        let timestamp_ms = self.long()?;
        let topic = match topic_len {
            DEFAULT_TOPIC => RowTopic::Default,
            NULL => RowTopic::Null,
            len => {
                let bytes = self.bytes(len)?;
                RowTopic::Named(std::str::from_utf8(bytes).map_err(|_| {
                    ProducerError::Invalid(format!(
                        "topic: {:?} is no text; write the topic in UTF-8",
                        String::from_utf8_lossy(bytes)
                    ))
                })?)
            }
        };
        let key = self.nullable(key_len)?;
        let value = self.nullable(value_len)?;
        for _ in 0..header_count {
            let (key_len, value_len) = (self.int()?, self.int()?);
            let Some(key) = self.nullable(key_len)? else {
                return Err(ProducerError::Invalid(
                    "headers: a header has a null key; give every header a key".to_owned(),
                ));
            };
            headers.push((key, self.nullable(value_len)?));
        }
        Ok(Some(Row {
            topic,
            partition: (partition != NULL).then_some(partition),
            timestamp_ms: (timestamp_ms >= 0).then_some(timestamp_ms),
            key,
            value,
        }))
    }

    fn int(&mut self) -> Result<i32> {
        let (head, rest) = self.rest.split_first_chunk().ok_or_else(wrong)?;
        self.rest = rest;
        Ok(i32::from_le_bytes(*head))
    }

    fn long(&mut self) -> Result<i64> {
        let (head, rest) = self.rest.split_first_chunk().ok_or_else(wrong)?;
        self.rest = rest;
        Ok(i64::from_le_bytes(*head))
    }

    fn nullable(&mut self, len: i32) -> Result<Option<&'a [u8]>> {
        if len == NULL {
            Ok(None)
        } else {
            self.bytes(len).map(Some)
        }
    }

    fn bytes(&mut self, len: i32) -> Result<&'a [u8]> {
        let len = usize::try_from(len).map_err(|_| wrong())?;
        let (head, rest) = self.rest.split_at_checked(len).ok_or_else(wrong)?;
        self.rest = rest;
        Ok(head)
    }
}

fn wrong() -> ProducerError {
    ProducerError::Failed("this is a bug of kafkastore: a block of rows is cut short".to_owned())
}

#[cfg(test)]
mod tests {
    //! What a block means, and that no block makes the reader panic.

    use proptest::prelude::*;

    use super::{RowTopic, Rows};

    fn ints(values: &[i32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn a_row_has_topic_partition_key_value_and_headers() {
        let mut block = ints(&[3, 1, -1, 2, 2, 7, 0]);
        block.extend(b"tvv");
        block.extend(ints(&[1, -1]));
        block.extend(b"h");
        block.extend(ints(&[0, 1]));
        block.extend(b"x");
        block.extend(ints(&[-1, -2, 0, -1, 0, -1, -1]));
        let mut rows = Rows::new(&block);
        let mut headers = Vec::new();
        let row = rows.next(&mut headers).unwrap().unwrap();
        assert_eq!(
            (row.topic, row.partition, row.timestamp_ms),
            (RowTopic::Named("t"), Some(3), Some(7))
        );
        assert_eq!((row.key, row.value), (None, Some(&b"vv"[..])));
        assert_eq!(headers, [(&b"h"[..], None), (&b""[..], Some(&b"x"[..]))]);
        let row = rows.next(&mut headers).unwrap().unwrap();
        assert_eq!(
            (row.topic, row.partition, row.timestamp_ms),
            (RowTopic::Default, None, None)
        );
        assert_eq!((row.key, row.value, headers.len()), (Some(&b""[..]), None, 0));
        assert!(rows.next(&mut headers).unwrap().is_none());
    }

    proptest! {
        #[test]
        fn no_block_makes_the_reader_panic_or_read_beyond_it(
            lengths in proptest::collection::vec(-3_i32..40, 0..12),
            bytes in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut block = ints(&lengths);
            block.extend(&bytes);
            let mut rows = Rows::new(&block);
            let mut headers = Vec::new();
            while let Ok(Some(row)) = rows.next(&mut headers) {
                prop_assert!(row.key.map_or(0, <[u8]>::len) + row.value.map_or(0, <[u8]>::len) <= block.len());
            }
        }
    }
}
