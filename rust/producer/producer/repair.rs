//! How a producer goes on behind a batch that no broker will have: see `delivery`.

use std::time::Instant;

use super::super::delivery::Repair;
use super::super::identity;
use super::{Producer, Result};
use base::error::ErrorCode;

impl Producer {
    /// Gives the batches behind a lost one their sequences, of partitions of which nothing is on its way.
    pub(super) fn repair(&mut self) -> Result<()> {
        while let Some((at, repair)) = self.delivery.to_repair() {
            if repair == Repair::Renew {
                let identity = identity::acquire(&mut self.cluster, None)?;
                self.accumulator.renew(at, identity);
            }
            let taken = self.delivery.repaired(at);
            self.accumulator.rewind(at, taken);
            for mut batch in self.delivery.take_waiting(at) {
                self.accumulator.reseal(at, &mut batch);
                self.delivery.push(at, batch);
            }
        }
        Ok(())
    }

    /// Batches that are older than `delivery.timeout.ms` fail.
    pub(super) fn drop_late(&mut self, oldest: Instant, now: Instant) {
        for (at, batch) in self.delivery.take_expired(oldest) {
            let sentence = format!(
                "{}: {} records were not taken within {} = {} ms ({})",
                self.delivery.queues[at].name(),
                batch.records,
                self.options.keys.named("delivery.timeout.ms"),
                self.options.delivery_timeout.as_millis(),
                self.delivery.reason(at)
            );
            self.fail(at, batch, now, (ErrorCode::REQUEST_TIMED_OUT, sentence));
        }
    }
}
