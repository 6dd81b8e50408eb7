//! How values are parsed, for Python: the options become one text that a scan takes, and that may be pickled.

use std::collections::BTreeMap;

use arrow_schema::Schema;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::{PyConnectionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::{OrRaise, Raise};
use values::{ValueError, ValueSpec, to_spark_json};

impl Raise for ValueError {
    fn raised(self) -> PyErr {
        match self {
            ValueError::Invalid(sentence) => PyValueError::new_err(sentence),
            ValueError::Registry(sentence) => PyConnectionError::new_err(sentence),
        }
    }
}

/// The checked options, with the schemas that they name. `schema` is an object of Arrow's that stands for
/// `valueSchema`.
#[pyfunction]
#[pyo3(signature = (options, schema=None))]
pub fn value_spec(
    py: Python<'_>,
    mut options: BTreeMap<String, String>,
    schema: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    if let Some(schema) = schema {
        options.insert("valueSchema".to_owned(), spark_json_of(&schema)?);
    }
    let spec = py.detach(|| ValueSpec::parse(&options)).or_raise()?;
    let Some(spec) = spec else {
        return Err(PyValueError::new_err(
            "value_format: missing; say json, csv, avro or protobuf",
        ));
    };
    serde_json::to_string(&spec).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The spec of the text that [`value_spec`] gave.
pub(super) fn decoded(spec: &str) -> PyResult<ValueSpec> {
    serde_json::from_str(spec).map_err(|error| PyValueError::new_err(format!("values: this is no spec ({error})")))
}

#[expect(unsafe_code, reason = "Arrow's PyCapsule interface passes a schema by address")]
fn spark_json_of(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = c"arrow_schema";
    let capsule = object.call_method0("__arrow_c_schema__")?;
    let capsule = capsule
        .cast::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err("value_schema: its __arrow_c_schema__ gives no capsule"))?;
    let pointer = capsule.pointer_checked(Some(name))?;
    // SAFETY: a capsule of this name has a valid ArrowSchema, which is moved out here once: it is left without a
    // release callback, so that the capsule's destructor leaves it alone.
    let schema = unsafe { FFI_ArrowSchema::from_raw(pointer.as_ptr().cast()) };
    let schema = Schema::try_from(&schema).map_err(|error| PyValueError::new_err(format!("value_schema: {error}")))?;
    Ok(to_spark_json(&schema.fields).or_raise()?.to_string())
}
