//! Where the columns of a record batch are in memory, in the layout of Arrow, as numbers for Java.
//!
//! Six numbers for a column: [data, offsets, validity, first bit, nulls, bytes of data].
//!
//! - data, offsets (32-bit) and validity are addresses, 0 where the column has none; validity is 0 too when no row is
//!   null. The first row is at the first position of each.
//! - the first bit of the validity is always 0: a bitmap that begins within a byte is copied. So it is with the data of
//!   booleans, which are bits too.
//! - the columns within a column follow it, in depth-first order: the elements of a list (so `headers` takes
//!   twenty-four numbers: list, struct, key, value), keys and values of a map, the fields of a struct. Lists and maps
//!   have offsets and no data, structs neither.
//!
//! Nothing is freed here: the addresses are those of [`Addresses`], which owns what they point to.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
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
            DataType::Float64 => numbers(array.as_primitive::<Float64Type>().values()),
            DataType::Float32 => numbers(array.as_primitive::<Float32Type>().values()),
            DataType::Int16 => numbers(array.as_primitive::<Int16Type>().values()),
            DataType::Int8 => numbers(array.as_primitive::<Int8Type>().values()),
            DataType::Date32 => numbers(array.as_primitive::<Date32Type>().values()),
            DataType::Decimal128(..) => numbers(array.as_primitive::<Decimal128Type>().values()),
            DataType::Boolean => self.bits(array.as_boolean().values()),
            DataType::List(_) | DataType::Map(..) | DataType::Struct(_) => return self.push_nested(array),
            other => return Err(format!("a column has the type {other}, which no reader of Java's has")),
        };
        self.push_numbers(data, offsets, bytes, array.nulls());
        Ok(())
    }

    fn push_nested(&mut self, array: &dyn Array) -> Result<(), String> {
        if let Some(list) = array.as_list_opt::<i32>() {
            self.push_numbers(0, address(list.value_offsets()), 0, array.nulls());
            return self.push(list.values());
        }
        let fields = if let Some(map) = array.as_map_opt() {
            self.push_numbers(0, address(map.value_offsets()), 0, array.nulls());
            map.entries()
        } else {
            self.push_numbers(0, 0, 0, array.nulls());
            array.as_struct()
        };
        fields.columns().iter().try_for_each(|column| self.push(column))
    }

    /// The bits from the first on, copied when they begin within a byte.
    fn bits(&mut self, values: &BooleanBuffer) -> (i64, i64, usize) {
        let bits = values.sliced();
        let found = (address(bits.as_slice()), 0, bits.len());
        self.kept.push(bits);
        found
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
#[path = "columns_tests.rs"]
mod tests;
