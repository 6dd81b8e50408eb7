//! Errors and panics as exceptions of Java: the class by what the caller can do, the message one sentence.
//!
//! | error | exception |
//! |---|---|
//! | a mistake in an option, a topic that is not there | `java.lang.IllegalArgumentException` |
//! | records that are gone | `io.kafkastore.spark.DataLossException` |
//! | any other, and a panic | `io.kafkastore.spark.KafkastoreException` |
//!
//! No panic leaves a native: the JVM would die of it.

use std::any::Any;

use jni::Env;
use jni::errors::{Error as JniError, ErrorPolicy};
use jni::strings::{JNIStr, JNIString};

use planner::PlanError;
use producer::ProducerError;
use scan::ScanError;

/// What a native could not do.
#[derive(Debug)]
pub(super) enum NativeError {
    Mistake(String),
    Lost(String),
    Failed(String),
    /// Java refuses: an exception is on its way, or an argument is null.
    Java(JniError),
}

impl From<JniError> for NativeError {
    fn from(error: JniError) -> Self {
        Self::Java(error)
    }
}

impl From<PlanError> for NativeError {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Invalid(sentence) | PlanError::NotFound(sentence) => Self::Mistake(sentence),
            PlanError::Unreachable(sentence) | PlanError::Forbidden(sentence) => Self::Failed(sentence),
            PlanError::Scan(error) => Self::of_scan(&error),
        }
    }
}

impl From<ProducerError> for NativeError {
    fn from(error: ProducerError) -> Self {
        match error {
            ProducerError::Invalid(sentence) => Self::Mistake(sentence),
            ProducerError::Failed(sentence) => Self::Failed(sentence),
            ProducerError::Lost(sentence) => Self::Lost(sentence),
        }
    }
}

impl NativeError {
    fn of_scan(error: &ScanError) -> Self {
        let sentence = error.to_string();
        match error {
            ScanError::Invalid(_) | ScanError::NotFound(_) => Self::Mistake(sentence),
            ScanError::Lost { .. } => Self::Lost(sentence),
            ScanError::Corrupt { .. }
            | ScanError::CorruptBatch { .. }
            | ScanError::Io { .. }
            | ScanError::Storage(_)
            | ScanError::BadValue { .. }
            | ScanError::Values(_) => Self::Failed(sentence),
        }
    }

    /// The error that ends a scan; for a loss it says what to do, in the words of Spark's Kafka source.
    pub(super) fn of_reading(error: &ScanError) -> Self {
        match Self::of_scan(error) {
            Self::Lost(sentence) => Self::Lost(format!(
                "{sentence}; some data may have been lost, removed by retention or with its topic after the query was \
                 planned (set the option \"linkDir\" to keep what is planned readable, or \"failOnDataLoss\" to \
                 \"false\" to go on without it)"
            )),
            // Nothing that a reader meets is a mistake in an option.
            Self::Mistake(sentence) => Self::Failed(sentence),
            other => other,
        }
    }

    fn class(&self) -> &'static str {
        match self {
            Self::Mistake(_) => "java/lang/IllegalArgumentException",
            Self::Lost(_) => "io/kafkastore/spark/DataLossException",
            Self::Failed(_) | Self::Java(_) => "io/kafkastore/spark/KafkastoreException",
        }
    }

    fn sentence(&self) -> String {
        match self {
            Self::Mistake(sentence) | Self::Lost(sentence) | Self::Failed(sentence) => sentence.clone(),
            Self::Java(error) => format!("the call from Java failed: {error}"),
        }
    }
}

/// Throws errors and panics; the native then returns 0 or null.
pub(super) struct Throws;

impl<T: Default> ErrorPolicy<T, NativeError> for Throws {
    type Captures<'local: 'native, 'native> = ();

    fn on_error<'local: 'native, 'native>(
        env: &mut Env<'local>,
        _captures: &mut (),
        error: NativeError,
    ) -> jni::errors::Result<T> {
        throw(env, &error)
    }

    fn on_panic<'local: 'native, 'native>(
        env: &mut Env<'local>,
        _captures: &mut (),
        payload: Box<dyn Any + Send + 'static>,
    ) -> jni::errors::Result<T> {
        let told = panic_text(&*payload);
        // Dropping the payload may panic again; a bug's message may leak.
        std::mem::forget(payload);
        throw(
            env,
            &NativeError::Failed(format!("this is a bug of kafkastore: {told}")),
        )
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it panicked".to_owned())
}

fn throw<T: Default>(env: &mut Env<'_>, error: &NativeError) -> jni::errors::Result<T> {
    if env.exception_check() {
        return Ok(T::default());
    }
    let name = JNIString::from(error.class());
    let name: &JNIStr = name.as_ref();
    let class = env.find_class(name)?;
    match env.throw_new(class, JNIString::from(error.sentence())) {
        // what a throw that succeeds is called
        Ok(()) | Err(JniError::JavaException) => Ok(T::default()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;
