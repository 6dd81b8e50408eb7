//! Where the columns of a record batch are in memory, in the layout of Arrow, as numbers for Java.
//!
//! Six numbers for a column: [data, offsets, validity, first bit, nulls, bytes of data].
//!
//! - data, offsets (32-bit) and validity are addresses, 0 where the column has none; validity is 0 too when no row is
//!   null. The first row is at the first position of each.
//! - the first bit of the validity is always 0: a bitmap that begins within a byte is copied.
//! - `headers` takes eighteen numbers: the list (data 0), then key (a string) and value (binary) of its elements.
//!
//! Nothing is freed here: the addresses are those of [`Addresses`], which owns what they point to.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};

/// The addresses of a batch, and the batch.
pub(super) struct Addresses {
    pub(super) numbers: Vec<i64>,
    /// Bitmaps that the addresses point to.
    kept: Vec<Buffer>,
    batch: RecordBatch,
}

impl Addresses {
    /// The error names the type of a column that no scan gives.
    pub(super) fn of(batch: RecordBatch) -> Result<Self, String> {
        let mut addresses = Self {
            numbers: Vec::with_capacity(6 * batch.num_columns()),
            kept: Vec::new(),
            batch,
        };
        for at in 0..addresses.batch.num_columns() {
            let array = addresses.batch.column(at).clone();
            addresses.push(&array)?;
        }
        Ok(addresses)
    }

    pub(super) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn push(&mut self, array: &dyn Array) -> Result<(), String> {
        let (data, offsets, bytes) = match array.data_type() {
            DataType::Int32 => numbers(array.as_primitive::<Int32Type>().values()),
            DataType::Int64 => numbers(array.as_primitive::<Int64Type>().values()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                numbers(array.as_primitive::<TimestampMicrosecondType>().values())
            }
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                strings(array.value_offsets(), array.value_data())
            }
            DataType::Binary => {
                let array = array.as_binary::<i32>();
                strings(array.value_offsets(), array.value_data())
            }
            DataType::List(_) => return self.push_headers(array),
            other => return Err(format!("a column has the type {other}, which no reader of Java's has")),
        };
        self.push_numbers(data, offsets, bytes, array.nulls());
        Ok(())
    }

    fn push_headers(&mut self, array: &dyn Array) -> Result<(), String> {
        let list = array.as_list::<i32>();
        self.push_numbers(0, address(list.value_offsets()), 0, array.nulls());
        let Some(elements) = list.values().as_struct_opt() else {
            return Err("headers are no structs".to_owned());
        };
        elements.columns().iter().try_for_each(|column| self.push(column))
    }

    fn push_numbers(&mut self, data: i64, offsets: i64, bytes: usize, nulls: Option<&NullBuffer>) {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let validity = nulls.map_or(0, |nulls| {
            let bits = nulls.inner().sliced();
            let found = address(bits.as_slice());
            self.kept.push(bits);
            found
        });
        let count = nulls.map_or(0, NullBuffer::null_count);
        self.numbers
            .extend([data, offsets, validity, 0, count as i64, bytes as i64]);
    }
}

fn numbers<T>(values: &[T]) -> (i64, i64, usize) {
    (address(values), 0, size_of_val(values))
}

fn strings(offsets: &[i32], data: &[u8]) -> (i64, i64, usize) {
    (address(data), address(offsets), data.len())
}

fn address<T>(values: &[T]) -> i64 {
    values.as_ptr().addr() as i64
}

#[cfg(test)]
mod tests;
