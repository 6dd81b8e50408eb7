//! Scans by number: read to their end, wrong numbers, failures that stay.

use serde_json::{Value, json};

use super::super::errors::NativeError;
use super::{close, lost, next, open};
use planner::requests::plan;
use scan::testing::{Bench, START_MS, fill};

fn bench() -> Bench {
    let bench = Bench::new(&[]);
    let times: Vec<i64> = (0..30).map(|n| START_MS + n).collect();
    fill(&bench, &times, 2, 5);
    bench
}

fn splits(bench: &Bench) -> Value {
    let options = json!({"path": bench.dir.path().to_str().unwrap(), "subscribe": "topic"});
    let answer = plan(&json!({"options": options}).to_string(), 1 << 30).unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["shares"][0]["splits"].clone()
}

fn opened(bench: &Bench, more: &Value) -> i64 {
    let mut request = json!({"splits": splits(bench), "columns": ["offset"], "batchRows": 12});
    request
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    open(&request.to_string()).unwrap()
}

fn rows(handle: i64) -> Result<Option<usize>, NativeError> {
    next(handle, |rows, numbers| {
        assert_eq!(numbers.len(), 6);
        assert_ne!(numbers[0], 0);
        Ok(rows)
    })
}

#[test]
fn a_scan_gives_its_batches_and_then_its_end() {
    let bench = bench();
    let handle = opened(&bench, &json!({}));
    let mut counts = Vec::new();
    while let Some(rows) = rows(handle).unwrap() {
        counts.push(rows);
    }
    assert_eq!(counts, [12, 12, 6]);
    assert!(rows(handle).unwrap().is_none());
    assert!(lost(handle).unwrap().is_empty());
    close(handle);
}

#[test]
fn a_closed_or_unknown_number_is_an_error_and_closing_it_is_none() {
    let bench = bench();
    let handle = opened(&bench, &json!({}));
    assert!(rows(handle).is_ok());
    close(handle);
    close(handle);
    for wrong in [handle, 0, -1, i64::MAX] {
        close(wrong);
        let Err(NativeError::Failed(sentence)) = rows(wrong) else {
            panic!("{wrong} was read")
        };
        assert_eq!(
            sentence,
            format!("there is no open scan {wrong}; it was closed, or never opened")
        );
        assert!(lost(wrong).is_err());
    }
}

#[test]
fn a_scan_that_failed_never_seems_to_end() {
    let bench = bench();
    let handle = opened(&bench, &json!({}));
    std::fs::remove_dir_all(bench.path()).unwrap();
    assert!(matches!(rows(handle), Err(NativeError::Lost(_))));
    assert!(matches!(rows(handle), Err(NativeError::Failed(_))));
    close(handle);
}

#[test]
fn a_batch_that_java_did_not_get_fails_the_scan() {
    let bench = bench();
    let handle = opened(&bench, &json!({}));
    let refused = next(handle, |_, _| Err::<(), _>(NativeError::Failed("too few".to_owned())));
    assert!(refused.is_err());
    assert!(matches!(rows(handle), Err(NativeError::Failed(_))));
    close(handle);
}

#[test]
fn offsets_that_are_gone_are_listed_where_loss_is_allowed() {
    let bench = bench();
    let handle = opened(&bench, &json!({"failOnDataLoss": false}));
    std::fs::remove_file(bench.file(10, ".log")).unwrap();
    let mut count = 0;
    while let Some(rows) = rows(handle).unwrap() {
        count += rows;
    }
    let lost = lost(handle).unwrap();
    assert_eq!((count, lost.len()), (20, 1));
    assert_eq!((lost[0].from.get(), lost[0].to.get()), (10, 20));
    close(handle);
}
