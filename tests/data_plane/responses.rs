//! Answers as clients read them.

use protocol::Reader;
use record::Batches;

/// One partition of a Produce answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Produced {
    pub index: i32,
    pub error: i16,
    pub base_offset: i64,
    pub message: Option<String>,
    pub current_leader: Option<(i32, i32)>,
}

#[derive(Debug)]
pub struct ProduceAnswer {
    pub correlation_id: i32,
    pub throttle_time_ms: i32,
    pub partitions: Vec<Produced>,
}

impl ProduceAnswer {
    /// Error and base offset of each partition.
    pub fn outcomes(&self) -> Vec<(i16, i64)> {
        self.partitions.iter().map(|p| (p.error, p.base_offset)).collect()
    }

    pub fn parse(correlation_id: i32, version: i16, body: &[u8]) -> Self {
        let r = &mut Reader::new(body, version >= 9);
        r.skip_tags().unwrap(); // of the response header
        let mut partitions = Vec::new();
        for _ in 0..r.count(1).unwrap() {
            r.topic_key(version >= 13).unwrap();
            for _ in 0..r.count(1).unwrap() {
                partitions.push(produced(r, version, body));
            }
            r.skip_tags().unwrap();
        }
        let throttle_time_ms = r.i32().unwrap();
        r.skip_tags().unwrap();
        assert_eq!(r.remaining(), 0);
        Self {
            correlation_id,
            throttle_time_ms,
            partitions,
        }
    }
}

fn produced(r: &mut Reader<'_>, version: i16, body: &[u8]) -> Produced {
    let (index, error, base_offset) = (r.i32().unwrap(), r.i16().unwrap(), r.i64().unwrap());
    let _log_append_time_ms = r.i64().unwrap();
    if version >= 5 {
        r.i64().unwrap();
    }
    let mut message = None;
    if version >= 8 {
        for _ in 0..r.count(1).unwrap() {
            r.i32().unwrap();
            r.nullable_string().unwrap();
            r.skip_tags().unwrap();
        }
        let text = r.nullable_string().unwrap();
        message = text.map(|range| String::from_utf8(body[range].to_vec()).unwrap());
    }
    let current_leader = leader_tag(r, 0);
    Produced {
        index,
        error,
        base_offset,
        message,
        current_leader,
    }
}

/// Reads tags, of which one tells the leader.
fn leader_tag(r: &mut Reader<'_>, number: u32) -> Option<(i32, i32)> {
    let mut leader = None;
    r.tags(|tag, content| {
        if tag != number {
            return Ok(false);
        }
        leader = Some((content.i32()?, content.i32()?));
        content.skip_tags()?;
        Ok(true)
    })
    .unwrap();
    leader
}

/// One partition of a Fetch answer.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub index: i32,
    pub error: i16,
    pub high_watermark: i64,
    pub last_stable_offset: i64,
    pub aborted: Vec<(i64, i64)>,
    pub records: Vec<u8>,
    pub current_leader: Option<(i32, i32)>,
}

impl Fetched {
    /// Base offsets of the whole batches, whose checksums are looked at.
    pub fn base_offsets(&self) -> Vec<i64> {
        let base_offset = |batch: record::Batch<'_>| {
            batch.verify_crc().unwrap();
            batch.header().base_offset.get()
        };
        Batches::new(&self.records).map(|b| base_offset(b.unwrap())).collect()
    }
}

#[derive(Debug)]
pub struct FetchAnswer {
    pub correlation_id: i32,
    pub throttle_time_ms: i32,
    pub error: i16,
    pub session_id: i32,
    pub partitions: Vec<Fetched>,
}

impl FetchAnswer {
    /// The only partition.
    pub fn only(&self) -> &Fetched {
        assert_eq!(self.partitions.len(), 1, "{self:?}");
        &self.partitions[0]
    }

    /// Partition and base offsets of each partition.
    pub fn offsets(&self) -> Vec<(i32, Vec<i64>)> {
        self.partitions.iter().map(|p| (p.index, p.base_offsets())).collect()
    }

    pub fn parse(correlation_id: i32, version: i16, body: &[u8]) -> Self {
        let r = &mut Reader::new(body, version >= 12);
        r.skip_tags().unwrap(); // of the response header
        let throttle_time_ms = r.i32().unwrap();
        let (mut error, mut session_id) = (0, 0);
        if version >= 7 {
            (error, session_id) = (r.i16().unwrap(), r.i32().unwrap());
        }
        let mut partitions = Vec::new();
        for _ in 0..r.count(1).unwrap() {
            r.topic_key(version >= 13).unwrap();
            for _ in 0..r.count(1).unwrap() {
                partitions.push(fetched(r, version, body));
            }
            r.skip_tags().unwrap();
        }
        r.skip_tags().unwrap();
        assert_eq!(r.remaining(), 0);
        Self {
            correlation_id,
            throttle_time_ms,
            error,
            session_id,
            partitions,
        }
    }
}

fn fetched(r: &mut Reader<'_>, version: i16, body: &[u8]) -> Fetched {
    let (index, error) = (r.i32().unwrap(), r.i16().unwrap());
    let (high_watermark, last_stable_offset) = (r.i64().unwrap(), r.i64().unwrap());
    if version >= 5 {
        r.i64().unwrap();
    }
    let mut aborted = Vec::new();
    for _ in 0..r.nullable_count(1).unwrap().unwrap_or(0) {
        aborted.push((r.i64().unwrap(), r.i64().unwrap()));
        r.skip_tags().unwrap();
    }
    if version >= 11 {
        assert_eq!(r.i32().unwrap(), -1, "preferred read replica");
    }
    let records = r
        .nullable_bytes()
        .unwrap()
        .map_or_else(Vec::new, |range| body[range].to_vec());
    let current_leader = leader_tag(r, 1);
    Fetched {
        index,
        error,
        high_watermark,
        last_stable_offset,
        aborted,
        records,
        current_leader,
    }
}
