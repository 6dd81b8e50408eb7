//! The wanted part of structs that have more fields, in nested structs too. Nothing is copied.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow_schema::{ArrowError, DataType, Fields};

/// The fields of `array` that `wanted` has, in its order.
pub(super) fn narrow(array: &StructArray, wanted: &Fields) -> Result<StructArray, ArrowError> {
    if array.fields() == wanted {
        return Ok(array.clone());
    }
    let column_of = |field: &arrow_schema::FieldRef| {
        let column = array
            .column_by_name(field.name())
            .ok_or_else(|| ArrowError::SchemaError(format!("a value has no field {}", field.name())))?;
        narrow_column(column, field.data_type())
    };
    let columns = wanted.iter().map(column_of).collect::<Result<Vec<_>, _>>()?;
    StructArray::try_new_with_length(wanted.clone(), columns, array.nulls().cloned(), array.len())
}

fn narrow_column(column: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == wanted {
        return Ok(Arc::clone(column));
    }
    match (column.data_type(), wanted) {
        (DataType::Struct(_), DataType::Struct(fields)) => Ok(Arc::new(narrow(column.as_struct(), fields)?)),
        (DataType::List(_), DataType::List(element)) => {
            let list = column.as_list::<i32>();
            let elements = narrow_column(list.values(), element.data_type())?;
            let offsets = list.offsets().clone();
            Ok(Arc::new(ListArray::try_new(
                Arc::clone(element),
                offsets,
                elements,
                list.nulls().cloned(),
            )?))
        }
        (DataType::Map(..), DataType::Map(entries, is_sorted)) => {
            let map = column.as_map();
            let DataType::Struct(pair) = entries.data_type() else {
                return Err(ArrowError::SchemaError("the entries of a map are structs".to_owned()));
            };
            let found = narrow(map.entries(), pair)?;
            let offsets = map.offsets().clone();
            let map = MapArray::try_new(Arc::clone(entries), offsets, found, map.nulls().cloned(), *is_sorted)?;
            Ok(Arc::new(map))
        }
        (found, _) => Err(ArrowError::SchemaError(format!(
            "a field has the type {found}, not {wanted}"
        ))),
    }
}
