//! `kafkastore._core` of the development build, linked to what `cargo test` compiles anyway: the broker under test,
//! with the classes by which tests/simulator drives it.

use pyo3::prelude::*;

/// The storage engine and data plane of kafkastore, with the simulator's classes.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    kafkastore::py::add_to(module)
}
