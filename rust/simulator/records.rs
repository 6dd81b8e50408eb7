//! Batches as the simulation's clients write and read them, and as its checker looks at them.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{DUMP_BYTES, malformed};
use base::place::{LeaderEpoch, Offset};
use record::{BatchBuilder, Batches, Codec, ControlRecord, ControlType, Header};

/// (offset, value) of the records that a consumer gets, and the offset at which it goes on.
type Values = (Vec<(i64, Py<PyBytes>)>, i64);
/// (key, value, name) of a record that a client writes; the name is its header. Without a value it is a tombstone.
type Keyed = (Vec<u8>, Option<Vec<u8>>, Vec<u8>);
/// (offset, key, value, name) of a record; all are `None` where the record has none.
type KeyedRecord = (i64, Option<Py<PyBytes>>, Option<Py<PyBytes>>, Option<Py<PyBytes>>);
/// (first offset, last offset, producer id, producer epoch, whether it is transactional, the outcome of a marker).
type Entry = (i64, i64, i64, i16, bool, Option<bool>);

/// A batch of these values by an idempotent producer; -1 for a producer that is not idempotent.
#[pyfunction]
#[pyo3(signature = (values, timestamp_ms, producer_id, base_sequence, producer_epoch=0, is_transactional=false))]
fn producer_batch(
    py: Python<'_>,
    values: Vec<Vec<u8>>,
    timestamp_ms: i64,
    producer_id: i64,
    base_sequence: i32,
    producer_epoch: i16,
    is_transactional: bool,
) -> Bound<'_, PyBytes> {
    let mut builder = BatchBuilder::new(Codec::None).transactional(is_transactional);
    if producer_id >= 0 {
        builder = builder.producer(producer_id, producer_epoch, base_sequence);
    }
    for value in &values {
        builder.append(timestamp_ms, None, Some(value), &[]);
    }
    PyBytes::new(py, &builder.build(Offset(0), LeaderEpoch::NONE))
}

/// The records that a consumer gets of these batches; a last batch that is cut short is left out. `aborted` are the
/// (producer id, first offset) of the aborted transactions of a fetch with isolation `read_committed`.
#[pyfunction]
#[pyo3(signature = (batches, aborted=Vec::new()))]
fn record_values(py: Python<'_>, batches: &[u8], mut aborted: Vec<(i64, i64)>) -> PyResult<Values> {
    let (mut found, mut next) = (Vec::new(), -1);
    let mut scratch = Vec::new();
    let mut ending: HashSet<i64> = HashSet::new();
    for batch in Batches::new(batches) {
        let Ok(batch) = batch else { break };
        let header = *batch.header();
        next = header.next_offset().get();
        aborted.retain(|(producer_id, first)| {
            let is_later = *first >= next;
            if !is_later {
                ending.insert(*producer_id);
            }
            is_later
        });
        if header.is_control() {
            ending.remove(&header.producer_id);
            continue;
        }
        if header.is_transactional() && ending.contains(&header.producer_id) {
            continue;
        }
        for record in batch.records(&mut scratch, DUMP_BYTES).map_err(malformed)? {
            let record = record.map_err(malformed)?;
            let value = PyBytes::new(py, record.value.unwrap_or_default()).unbind();
            found.push((record.offset.get(), value));
        }
    }
    Ok((found, next))
}

/// A batch of these records by an idempotent producer.
#[pyfunction]
fn keyed_batch(
    py: Python<'_>,
    records: Vec<Keyed>,
    timestamp_ms: i64,
    producer_id: i64,
    base_sequence: i32,
) -> Bound<'_, PyBytes> {
    let mut builder = BatchBuilder::new(Codec::None).producer(producer_id, 0, base_sequence);
    for (key, value, name) in &records {
        let headers: [Header<'_>; 1] = [(b"name", Some(name))];
        builder.append(timestamp_ms, Some(key), value.as_deref(), &headers);
    }
    PyBytes::new(py, &builder.build(Offset(0), LeaderEpoch::NONE))
}

/// All records of these batches, control records among them, and the offset behind the last batch; a last batch that is
/// cut short is left out.
#[pyfunction]
fn keyed_records(py: Python<'_>, batches: &[u8]) -> PyResult<(Vec<KeyedRecord>, i64)> {
    let (mut found, mut next) = (Vec::new(), -1);
    let mut scratch = Vec::new();
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes).unbind();
    for batch in Batches::new(batches) {
        let Ok(batch) = batch else { break };
        next = batch.header().next_offset().get();
        for record in batch.records(&mut scratch, DUMP_BYTES).map_err(malformed)? {
            let record = record.map_err(malformed)?;
            let name = record.headers.clone().find_map(|(_, value)| value);
            found.push((
                record.offset.get(),
                record.key.map(bytes),
                record.value.map(bytes),
                name.map(bytes),
            ));
        }
    }
    Ok((found, next))
}

/// The batches of producers, in order. Markers of which compaction has left the header alone are left out: their
/// transactions are gone.
#[pyfunction]
fn producer_entries(batches: &[u8]) -> PyResult<Vec<Entry>> {
    let mut found = Vec::new();
    for batch in Batches::new(batches) {
        let batch = batch.map_err(malformed)?;
        let header = batch.header();
        let last = (header.next_offset() - 1).get();
        let control = ControlRecord::of_batch(&batch).map_err(malformed)?;
        let outcome = control.map(|it| it.control_type == ControlType::Commit);
        let (id, epoch) = (header.producer_id, header.producer_epoch);
        if id >= 0 && header.is_control() == control.is_some() {
            found.push((
                header.base_offset.get(),
                last,
                id,
                epoch,
                header.is_transactional(),
                outcome,
            ));
        }
    }
    Ok(found)
}

/// Adds the functions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(producer_batch, module)?)?;
    module.add_function(wrap_pyfunction!(record_values, module)?)?;
    module.add_function(wrap_pyfunction!(keyed_batch, module)?)?;
    module.add_function(wrap_pyfunction!(keyed_records, module)?)?;
    module.add_function(wrap_pyfunction!(producer_entries, module)?)?;
    Ok(())
}
