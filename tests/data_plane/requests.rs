//! Requests as clients write them, every field settable, and the batches in them.

use base::place::{LeaderEpoch, Offset};
use protocol::Writer;
use record::{BatchBuilder, Codec};

use crate::fixture::{TOPIC, TOPIC_ID};

/// A batch of one record with a value of this size.
pub fn batch(size: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append(1_700_000_000_000, Some(b"key"), Some(&vec![b'v'; size]), &[]);
    builder.build(Offset(0), LeaderEpoch::NONE)
}

/// A Produce of some partitions of one topic.
#[derive(Clone)]
pub struct Produce<'a> {
    pub version: i16,
    pub acks: i16,
    pub timeout_ms: i32,
    pub transactional_id: Option<&'a str>,
    pub topic: &'a str,
    pub topic_id: [u8; 16],
    pub partitions: Vec<(i32, Option<Vec<u8>>)>,
}

impl Produce<'_> {
    /// One batch for partition 0.
    pub fn one(acks: i16, records: Vec<u8>) -> Self {
        Self::of(acks, vec![(0, Some(records))])
    }

    pub fn of(acks: i16, partitions: Vec<(i32, Option<Vec<u8>>)>) -> Self {
        Self {
            version: 12,
            acks,
            timeout_ms: 30_000,
            transactional_id: None,
            topic: TOPIC,
            topic_id: TOPIC_ID,
            partitions,
        }
    }

    pub fn body(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out, self.version >= 9);
        w.nullable_string(self.transactional_id);
        w.i16(self.acks);
        w.i32(self.timeout_ms);
        w.length(Some(1));
        if self.version >= 13 {
            w.raw(&self.topic_id);
        } else {
            w.string(self.topic);
        }
        w.length(Some(self.partitions.len()));
        for (index, records) in &self.partitions {
            w.i32(*index);
            w.length(records.as_ref().map(Vec::len));
            w.raw(records.as_deref().unwrap_or_default());
            w.no_tags();
        }
        w.no_tags();
        w.no_tags();
        out
    }
}

/// One partition of a Fetch.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub index: i32,
    pub offset: i64,
    pub current_leader_epoch: i32,
    pub max_bytes: i32,
}

impl Wanted {
    pub fn new(index: i32, offset: i64) -> Self {
        Self {
            index,
            offset,
            current_leader_epoch: -1,
            max_bytes: 1 << 20,
        }
    }
}

/// A Fetch of some partitions of one topic.
#[derive(Clone)]
pub struct Fetch<'a> {
    pub version: i16,
    pub replica_id: i32,
    pub max_wait_ms: i32,
    pub min_bytes: i32,
    pub max_bytes: i32,
    pub isolation_level: u8,
    pub session: (i32, i32),
    pub topic: &'a str,
    pub topic_id: [u8; 16],
    pub partitions: Vec<Wanted>,
    pub forgotten: Vec<i32>,
}

impl Fetch<'_> {
    /// Partition 0 from this offset, answered at once.
    pub fn now(offset: i64) -> Self {
        Self::of(vec![Wanted::new(0, offset)])
    }

    /// Partition 0 from this offset, with a byte at least.
    pub fn waiting(offset: i64, max_wait_ms: i32) -> Self {
        Self {
            max_wait_ms,
            ..Self::now(offset)
        }
    }

    pub fn of(partitions: Vec<Wanted>) -> Self {
        Self {
            version: 12,
            replica_id: -1,
            max_wait_ms: 0,
            min_bytes: 1,
            max_bytes: 50 << 20,
            isolation_level: 0,
            session: (0, -1),
            topic: TOPIC,
            topic_id: TOPIC_ID,
            partitions,
            forgotten: Vec::new(),
        }
    }

    fn topic_key(&self, w: &mut Writer<'_>) {
        if self.version >= 13 {
            w.raw(&self.topic_id);
        } else {
            w.string(self.topic);
        }
    }

    pub fn body(&self) -> Vec<u8> {
        let version = self.version;
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out, version >= 12);
        if version <= 14 {
            w.i32(self.replica_id);
        }
        w.i32(self.max_wait_ms);
        w.i32(self.min_bytes);
        w.i32(self.max_bytes);
        w.raw(&[self.isolation_level]);
        if version >= 7 {
            w.i32(self.session.0);
            w.i32(self.session.1);
        }
        w.length(Some(usize::from(!self.partitions.is_empty())));
        if !self.partitions.is_empty() {
            self.topic_key(&mut w);
            w.length(Some(self.partitions.len()));
            for wanted in &self.partitions {
                write_wanted(&mut w, version, wanted);
            }
            w.no_tags();
        }
        if version >= 7 {
            w.length(Some(usize::from(!self.forgotten.is_empty())));
            if !self.forgotten.is_empty() {
                self.topic_key(&mut w);
                w.i32_array(&self.forgotten);
                w.no_tags();
            }
        }
        if version >= 11 {
            w.string("");
        }
        if version >= 15 && self.replica_id != -1 {
            w.tag_count(1);
            let replica_id = self.replica_id;
            w.tag(1, |w| {
                w.i32(replica_id);
                w.i64(-1);
                w.no_tags();
            });
        } else {
            w.no_tags();
        }
        out
    }
}

fn write_wanted(w: &mut Writer<'_>, version: i16, wanted: &Wanted) {
    w.i32(wanted.index);
    if version >= 9 {
        w.i32(wanted.current_leader_epoch);
    }
    w.i64(wanted.offset);
    if version >= 12 {
        w.i32(-1);
    }
    if version >= 5 {
        w.i64(-1);
    }
    w.i32(wanted.max_bytes);
    w.no_tags();
}
