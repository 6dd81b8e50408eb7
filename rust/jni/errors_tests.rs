//! Which exception an error becomes.

use super::{NativeError, panic_text};
use base::place::Offset;
use planner::PlanError;
use scan::ScanError;

fn lost() -> ScanError {
    ScanError::Lost {
        topic: "t".to_owned(),
        partition: 1,
        from: Offset(2),
        to: Offset(3),
        reason: "gone".to_owned(),
    }
}

#[test]
fn the_class_says_what_the_caller_can_do() {
    let class = |error: PlanError| NativeError::from(error).class();
    let text = || "a sentence".to_owned();
    assert_eq!(class(PlanError::Invalid(text())), "java/lang/IllegalArgumentException");
    assert_eq!(class(PlanError::NotFound(text())), "java/lang/IllegalArgumentException");
    assert_eq!(
        class(PlanError::Unreachable(text())),
        "io/kafkastore/spark/KafkastoreException"
    );
    assert_eq!(class(lost().into()), "io/kafkastore/spark/DataLossException");
    assert_eq!(NativeError::from(PlanError::Invalid(text())).sentence(), "a sentence");
}

#[test]
fn a_loss_while_reading_says_what_to_do() {
    let error = NativeError::of_reading(&lost());
    assert_eq!(error.class(), "io/kafkastore/spark/DataLossException");
    assert_eq!(
        error.sentence(),
        "t-1: offsets 2 to 3 are lost: gone; some data may have been lost, removed by retention or with its topic \
         after the query was planned (set the option \"linkDir\" to keep what is planned readable, or \
         \"failOnDataLoss\" to \"false\" to go on without it)"
    );
}

#[test]
fn a_panic_is_told_by_its_text() {
    assert_eq!(panic_text(&"static"), "static");
    assert_eq!(panic_text(&"owned".to_owned()), "owned");
    assert_eq!(panic_text(&1), "it panicked");
}
