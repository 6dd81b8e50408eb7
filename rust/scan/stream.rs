//! A scan as a stream of Arrow's C interface, which carries an error as text alone; the error itself is kept beside it.
//!
//! The stream itself reads no files.

use std::io;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use parking_lot::Mutex;

use super::{ScanError, ScanReader};

/// Why a stream ended early.
pub type Failure = Arc<Mutex<Option<ScanError>>>;

/// The batches of a scan; `failure` has the error that it ends with.
pub struct ScanStream {
    reader: ScanReader,
    failure: Failure,
}

impl ScanStream {
    /// A stream from its beginning.
    pub fn new(reader: ScanReader, failure: Failure) -> Self {
        Self { reader, failure }
    }
}

impl Iterator for ScanStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.reader.next_batch()?.map_err(|error| {
            let told = arrow_error(&error);
            *self.failure.lock() = Some(error);
            told
        }))
    }
}

impl RecordBatchReader for ScanStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.reader.schema())
    }
}

/// The same sentence for consumers of Arrow, with the kind that makes it an `OSError` or a `ValueError` in Python.
fn arrow_error(error: &ScanError) -> ArrowError {
    let sentence = error.to_string();
    match error {
        ScanError::Invalid(_) | ScanError::NotFound(_) => ArrowError::InvalidArgumentError(sentence),
        _ => ArrowError::IoError(sentence.clone(), io::Error::other(sentence)),
    }
}
