//! The natives of the Java class `io.kafkastore.spark.Native`: a native converts, makes one call, converts back.
//!
//! Built as a library without Python, which a JVM can load:
//!
//! ```text
//! cargo rustc --locked --profile jvm --lib --features jni --crate-type cdylib
//! ```
//!
//! A scan is known to Java by a number (`handles`), never by a pointer; what Java gets are the addresses of the columns
//! of the batch that the scan holds (`columns`). They stay valid until the next `next` or `close` of the same scan, and
//! the caller reads none of them later. Errors become exceptions (`errors`), panics too. This is the only folder with
//! the crate `jni`; it decides nothing.

mod answers;
mod columns;
mod errors;
mod handles;
mod natives;
mod producer_natives;
mod writers;
