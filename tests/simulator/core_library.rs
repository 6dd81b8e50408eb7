//! `kafkastore._core` of the development build, linked to what `cargo test` compiles anyway, and beside it
//! `kafkastore._simulator`: the broker under test, with the classes by which tests/simulator drives it.

extern crate simulator as _;
