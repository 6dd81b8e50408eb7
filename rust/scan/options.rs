//! The options of a scan.

use std::sync::Arc;

use arrow_schema::{Fields, SchemaRef};

use super::typed_values::TypedValues;
use super::{Column, Predicate, RemoteLog, Result, ScanError, schema};
use ::io::{FileSystem, OsFileSystem};
use values::ValueSpec;

/// Default of the rows of a record batch.
const BATCH_ROWS: usize = 64 * 1024;
/// Default of the bytes of a record batch: columns of this size stay in the second-level cache from one batch to the
/// next.
const BATCH_BYTES: usize = 1 << 20;

/// The options of a scan: what is read of the splits, and how.
#[derive(Clone)]
pub struct ScanOptions {
    pub(crate) columns: Arc<[Column]>,
    pub(crate) schema: SchemaRef,
    pub(crate) typed: Option<Arc<TypedValues>>,
    /// Which records are wanted.
    pub predicate: Predicate,
    /// Whether each batch's CRC-32C is compared before its contents are used.
    pub check_crcs: bool,
    /// Splits read at once; 1 reads on the caller's thread.
    pub threads: usize,
    /// Rows of a record batch at most.
    pub batch_rows: usize,
    /// Bytes of keys, values and headers of a record batch at most, except for a single row that is larger.
    pub batch_bytes: usize,
    /// Whether lost records are an error; otherwise they are skipped and reported.
    pub fail_on_data_loss: bool,
    /// Whether batches that cannot be read are skipped and reported as lost; otherwise they are an error.
    pub ignore_corrupt_batches: bool,
    /// Where files are opened.
    pub file_system: Arc<dyn FileSystem>,
    /// Who asks brokers for splits that name some; without one, what files do not have is lost.
    pub remote_log: Option<Arc<dyn RemoteLog>>,
}

impl ScanOptions {
    /// Every record, with the defaults; refuses a column named twice.
    pub fn new(columns: &[Column]) -> Result<Self> {
        for (index, column) in columns.iter().enumerate() {
            if columns[..index].contains(column) {
                let name = column.name();
                return Err(ScanError::Invalid(format!(
                    "columns: {name} is named twice; name each column once"
                )));
            }
        }
        Ok(Self {
            columns: columns.into(),
            schema: schema(columns),
            typed: None,
            predicate: Predicate::default(),
            check_crcs: true,
            threads: 1,
            batch_rows: BATCH_ROWS,
            batch_bytes: BATCH_BYTES,
            fail_on_data_loss: true,
            ignore_corrupt_batches: false,
            file_system: Arc::new(OsFileSystem),
            remote_log: None,
        })
    }

    /// Has values parsed; `wanted` are the fields of the column `value`, all of them by default.
    pub fn with_values(mut self, spec: ValueSpec, wanted: Option<Fields>) -> Result<Self> {
        let typed = TypedValues::new(spec, wanted, &self.columns)?;
        self.schema = Arc::clone(typed.schema());
        self.typed = Some(Arc::new(typed));
        Ok(self)
    }

    /// The columns that are read of records, with their schema.
    pub(super) fn raw(&self) -> (SchemaRef, &Arc<[Column]>) {
        match &self.typed {
            Some(typed) => (typed.raw_schema(), typed.raw()),
            None => (Arc::clone(&self.schema), &self.columns),
        }
    }

    /// How values are parsed.
    pub(super) fn typed(&self) -> Option<Arc<TypedValues>> {
        self.typed.clone()
    }

    /// The schema of the batches.
    pub const fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}
