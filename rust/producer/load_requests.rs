//! The calls of a bulk load's task as JSON, for callers of another language.
//!
//! ```text
//! open   {"options": {name: value}, "topic", "clusterId", "leaders": [{"node", "host", "dir"}] by partition,
//!         "loadId", "driverId", "driverEpoch", "compression", "level": n or null, "batchBytes", "maxMessageBytes",
//!         "segmentBytes", "needsKeys", "nowMs"}
//! staged {"producer": [id, epoch], "built": [[records, bytes]] by partition}
//! ```
//!
//! `staged` has the names of Python's `kafkastore.loading.steps.Staged`. Rows are no JSON: [`LoadWriter::append`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::cluster::Cluster;
use super::error::Result;
use super::options::ProducerOptions;
use super::requests::{decoded, encoded, ended};
use super::staging::{Leader, Load, Staging, Topic};
use super::transactions::Identity;
use load::{BuildSettings, codec_of};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Open {
    options: BTreeMap<String, String>,
    topic: String,
    cluster_id: String,
    leaders: Vec<Leader>,
    load_id: String,
    driver_id: i64,
    driver_epoch: i16,
    compression: String,
    level: Option<i32>,
    batch_bytes: usize,
    max_message_bytes: usize,
    segment_bytes: u64,
    needs_keys: bool,
    now_ms: i64,
}

#[derive(Serialize)]
struct Staged {
    producer: (i64, i16),
    built: Vec<(i32, u64)>,
}

/// The rows of one task. An error ends it; dropped before [`Self::finish`] it leaves nothing.
pub struct LoadWriter {
    staging: Option<Staging>,
}

impl LoadWriter {
    /// Of a request `open`. Asks the brokers for a producer id, and makes the directories.
    ///
    /// # Errors
    /// `Invalid` for an option; `Failed` when a log directory is not on this machine or cannot be written, or no broker
    /// answers.
    pub fn open(request: &str) -> Result<Self> {
        let request: Open = decoded("open", request)?;
        let options = Arc::new(ProducerOptions::parse(&request.options)?.0);
        let topic = Topic {
            name: request.topic,
            cluster_id: request.cluster_id,
            leaders: request.leaders,
        };
        let load = Load {
            id: request.load_id,
            driver: Identity {
                producer_id: request.driver_id,
                epoch: request.driver_epoch,
            },
        };
        let settings = BuildSettings {
            producer_id: -1,
            producer_epoch: -1,
            codec: codec_of(&request.compression)?,
            level: request.level,
            batch_bytes: request.batch_bytes,
            max_message_bytes: request.max_message_bytes,
            segment_bytes: request.segment_bytes,
            needs_keys: request.needs_keys,
        };
        let staging = Staging::begin(Cluster::new(options), &topic, load, settings, request.now_ms)?;
        let staging = Some(staging);
        Ok(Self { staging })
    }

    /// Builds the rows of a block; `rows.rs` has its layout.
    ///
    /// # Errors
    /// `Invalid` for a row that the topic cannot take; `Failed` when a segment cannot be written.
    pub fn append(&mut self, block: &[u8]) -> Result<()> {
        let mut staging = self.staging.take().ok_or_else(ended)?;
        staging.append(block)?;
        self.staging = Some(staging);
        Ok(())
    }

    /// Writes the rest, and keeps what is staged; an answer `staged`. The last call.
    ///
    /// # Errors
    /// As [`Self::append`]; `Failed` also when another driver has begun the load again.
    pub fn finish(&mut self) -> Result<String> {
        let staged = self.staging.take().ok_or_else(ended)?.finish()?;
        encoded(&Staged {
            producer: (staged.producer.producer_id, staged.producer.epoch),
            built: staged.built.iter().map(|one| (one.records, one.bytes)).collect(),
        })
    }
}
