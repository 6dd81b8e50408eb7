//! A producer for writers of Spark and for commands: rows in, acknowledged record batches out, with Kafka's guarantees.
//!
//! The steps of a row: `rows` finds it in a block, `partitioner` chooses its partition, `accumulator` puts it into the
//! open batch of that partition and gives full batches their sequence numbers, `delivery` decides which batch is sent
//! when and what an answer means, `link` carries requests and answers. [`Producer`] drives them, in the caller's thread
//! alone: nothing happens between two calls. `cluster` knows leaders and coordinators, `identity` the producer id,
//! [`Committer`] ends the transactions of the tasks of a job, by a decision that `decision` keeps in Kafka, and `pool`
//! keeps idle producers. `staging` takes the rows of a bulk load's task past the brokers, into segments. [`requests`]
//! and [`load_requests`] have all of it as JSON, for callers of another language.
//!
//! Within Spark a batch that is refused fails the writer; the producer of a command goes on, and says of each batch
//! what became of it ([`DeliveryReport`]). What is acknowledged is on as many replicas as `acks` says; only `staging`
//! writes to a disk.

#![forbid(unsafe_code)]

mod accumulator;
mod cluster;
mod committer;
mod coordinator;
mod decision;
mod delivery;
mod error;
mod identity;
mod link;
pub mod load_requests;
mod options;
mod partitioner;
mod pool;
mod produce;
mod producer;
mod report;
pub mod requests;
mod rows;
mod staging;
mod transactions;

#[cfg(test)]
mod tests;

pub use committer::{Committer, Prepared};
pub use error::{ProducerError, Result};
pub use options::ProducerOptions;
pub use producer::{Producer, Written};
pub use report::DeliveryReport;
pub use rows::{RowFields, put_row};
