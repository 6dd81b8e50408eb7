//! What a command calls: records in, reports out. A batch that is refused, or that waits for too long, fails alone.
//!
//! Only [`Producer::find`] and what belongs to transactions wait for longer than their caller says: for `max.block.ms`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::cluster::Missing;
use super::super::report::DeliveryReport;
use super::super::rows::{Row, Rows};
use super::{Producer, Result, WAIT};
use base::error::ErrorCode;

impl Producer {
    /// Whether records may be sent to the topic without a wait.
    pub fn knows(&self, topic: &str) -> bool {
        self.by_name.contains_key(topic) && (self.identity.is_some() || !self.options.is_idempotent)
    }

    /// Waits until the topic is known, at most `max.block.ms`; the broker may create it. Then records may be sent to
    /// it: those of a topic that was not found fail.
    pub fn find(&mut self, topic: &str) -> Result<()> {
        self.guarded(|producer| producer.look_for(&Arc::from(topic)))
    }

    fn look_for(&mut self, topic: &Arc<str>) -> Result<()> {
        let deadline = Instant::now() + self.options.max_block;
        self.unfound = None;
        while self.cluster.leaders(topic).is_empty() {
            let Some(Missing { refusal, reason, fix }) = self.cluster.refresh(std::slice::from_ref(topic))? else {
                continue;
            };
            if let Some(refusal) = refusal {
                self.unfound = Some((Arc::clone(topic), (refusal, reason)));
                return Ok(());
            }
            if Instant::now() > deadline {
                let sentence = format!(
                    "topic {topic} was not found within {} = {} ms ({reason}); {fix}",
                    self.options.keys.named("max.block.ms"),
                    self.options.max_block.as_millis()
                );
                self.unfound = Some((Arc::clone(topic), (ErrorCode::REQUEST_TIMED_OUT, sentence)));
                return Ok(());
            }
            self.cluster.wait();
        }
        let number = match self.by_name.get(topic) {
            Some(number) => *number,
            None => self.add_topic(Arc::clone(topic)),
        };
        self.ready(number).map(drop)
    }

    /// Appends the rows of a block (`rows.rs` has its layout), for which [`Self::find`] was called if the topic was not
    /// known; whether there is room for more (`buffer.memory`).
    pub fn send_rows(&mut self, topic: &str, block: &[u8]) -> Result<bool> {
        self.check_open()?;
        self.guarded(|producer| {
            if let Some((unfound, error)) = producer.unfound.take_if(|(unfound, _)| **unfound == *topic) {
                return producer.report_block(&unfound, block, &error);
            }
            if producer.default_topic.as_deref() != Some(topic) {
                producer.default_topic = Some(Arc::from(topic));
            }
            producer.append_rows(block)
        })?;
        Ok(self.pending().1 <= self.options.buffer_bytes as u64)
    }

    /// Sends what is due, and takes answers, for `limit` at most, until there is a report; all reports since the last
    /// call.
    pub fn poll_reports(&mut self, limit: Duration) -> Result<Vec<DeliveryReport>> {
        let is_idle = |producer: &Self| producer.pending().0 == 0;
        self.wait(limit, |producer| !producer.reports.is_empty() || is_idle(producer))?;
        Ok(std::mem::take(&mut self.reports))
    }

    /// Sends all records, and waits for `limit` at most until each has its report; whether they have.
    pub fn flush_reports(&mut self, limit: Duration) -> Result<bool> {
        Ok(self.flush(limit)?.is_some())
    }

    /// Records, and bytes of batches, that have no report yet.
    pub fn pending(&self) -> (u64, u64) {
        let (records, bytes) = self.accumulator.open_records();
        (
            records + self.delivery.pending_records(),
            (bytes + self.delivery.pending_bytes) as u64,
        )
    }

    /// A row that comes into no batch.
    pub(super) fn report_row(&mut self, topic: usize, row: &Row<'_>, error: (ErrorCode, String)) {
        let name = Arc::clone(&self.topics[topic].name);
        self.report_unsent(name, row.partition, (1, bytes_of(row)), error);
    }

    fn report_block(&mut self, topic: &Arc<str>, block: &[u8], error: &(ErrorCode, String)) -> Result<()> {
        let (mut rows, mut headers) = (Rows::new(block), Vec::new());
        let (mut count, mut bytes) = (0, 0);
        while let Some(row) = rows.next(&mut headers)? {
            (count, bytes) = (count + 1, bytes + bytes_of(&row));
        }
        self.report_unsent(Arc::clone(topic), None, (count, bytes), error.clone());
        Ok(())
    }

    fn report_unsent(
        &mut self,
        topic: Arc<str>,
        partition: Option<i32>,
        (count, bytes): (u64, u64),
        error: (ErrorCode, String),
    ) {
        if self.transactional_id.is_some() {
            self.transaction.fail(&error);
        }
        self.reports.push(DeliveryReport {
            topic,
            partition: partition.unwrap_or(-1),
            count,
            bytes,
            waited: vec![(Duration::ZERO, count as i32)],
            end: Err(error),
        });
    }

    /// Goes on while something is on its way, for `limit` at most.
    pub(super) fn settle_sent(&mut self, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        while self.delivery.has_sent() && Instant::now() < deadline {
            self.poll(WAIT);
            let nodes: Vec<i32> = self.links.keys().copied().collect();
            for node in nodes {
                self.serve(node)?;
            }
        }
        Ok(())
    }
}

fn bytes_of(row: &Row<'_>) -> u64 {
    (row.key.map_or(0, <[u8]>::len) + row.value.map_or(0, <[u8]>::len)) as u64
}
