//! The natives of the Java classes in `java/` that have some: a native converts, makes one call, converts back.
//!
//! Built as a library without Python, which a JVM can load:
//!
//! ```text
//! cargo rustc --locked --profile jvm --lib --features jni --crate-type cdylib
//! ```
//!
//! A scan is known to Java by a number (`handles`, `numbered`), never by a pointer; what Java gets are the addresses of
//! the columns of the batch that the scan holds (`columns`). They stay valid until the next `next` or `close` of the
//! same scan, and the caller reads none of them later. Errors become exceptions (`errors`), panics too. No other folder
//! has the crate `jni`; this one decides nothing.

mod answers;
mod columns;
mod errors;
mod handles;
mod load_natives;
mod natives;
mod numbered;
mod producer_natives;
mod writers;
