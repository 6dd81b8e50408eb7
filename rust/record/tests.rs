//! Tests of the module.
