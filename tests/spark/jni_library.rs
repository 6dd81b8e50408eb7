//! The library of natives that tests/spark loads into its JVM: the same functions as in the jar's, linked to the build
//! that `cargo test` needs anyway.

extern crate spark_jni as _;
