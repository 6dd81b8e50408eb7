//! Questions and answers as JSON.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{finish, lost, offsets, open, plan, push, summarise};
use crate::{PlanError, Result};
use base::place::Offset;
use scan::testing::{Bench, START_MS, fill};
use scan::{LostRange, LostRanges, ScanReader};

const SPLIT_BYTES: u64 = 1 << 30;

fn bench() -> Bench {
    let bench = Bench::new(&[]);
    let times: Vec<i64> = (0..30).map(|n| START_MS + n).collect();
    fill(&bench, &times, 2, 5);
    bench
}

fn request(bench: &Bench, options: Value, filters: &Value) -> String {
    let Value::Object(mut options) = options else {
        panic!("no object")
    };
    options.insert("path".to_owned(), json!(bench.dir.path().to_str().unwrap()));
    options.insert("subscribe".to_owned(), json!("topic"));
    json!({"options": options, "filters": filters, "cores": 2}).to_string()
}

fn parsed(answer: Result<String>) -> Value {
    serde_json::from_str(&answer.unwrap()).unwrap()
}

fn rows_of(request: &Value) -> usize {
    let (splits, options) = open(&request.to_string()).unwrap();
    let mut reader = ScanReader::new(splits, Arc::new(options), LostRanges::default()).unwrap();
    std::iter::from_fn(|| reader.next_batch())
        .map(|batch| batch.unwrap().num_rows())
        .sum()
}

#[test]
fn offsets_have_partitions_without_records_too() {
    let bench = bench();
    let answer = parsed(offsets(
        &request(
            &bench,
            json!({"startingTimestamp": (START_MS + 7).to_string()}),
            &json!([]),
        ),
        SPLIT_BYTES,
    ));
    let partition = &answer["partitions"][0];
    assert_eq!(
        (
            &partition["partition"],
            &partition["startOffset"],
            &partition["endOffset"]
        ),
        (&json!(0), &json!(7), &json!(30))
    );
    let empty = Bench::new(&[]);
    fill(&empty, &[], 1, 1);
    let answer = parsed(offsets(&request(&empty, json!({}), &json!([])), SPLIT_BYTES));
    assert_eq!(answer["partitions"].as_array().unwrap().len(), 1);
    assert_eq!(answer["partitions"][0]["endOffset"], json!(0));
}

#[test]
fn a_plan_is_read_as_it_was_planned() {
    let bench = bench();
    let filters = json!([
        {"column": "timestamp", "op": "LessThan", "values": [(START_MS + 20) * 1000]},
        {"column": "offset", "op": "GreaterThanOrEqual", "values": [4]},
        {"column": "key", "op": "EqualTo", "values": ["a2V5"]},
        {"column": "value", "op": "EqualTo", "values": ["eA=="]},
    ]);
    let options = json!({"minPartitions": "3", "failOnDataLoss": "false", "includeHeaders": "true", "fetch": "1"});
    let answer = parsed(plan(&request(&bench, options, &filters), SPLIT_BYTES));
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(
        (
            &answer["includeHeaders"],
            &answer["failOnDataLoss"],
            &answer["checkCrcs"]
        ),
        (&json!(true), &json!(false), &json!(true))
    );
    let range = &answer["ranges"][0];
    assert_eq!(
        (
            &range["topic"],
            &range["partition"],
            &range["startOffset"],
            &range["endOffset"]
        ),
        (&json!("topic"), &json!(0), &json!(4), &json!(30))
    );
    assert_eq!(range["sizeBytes"], answer["sizeBytes"]);
    assert_eq!(
        answer["scan"],
        json!({"minTimestampMs": null, "endTimestampMs": START_MS + 20, "keys": ["a2V5"]})
    );
    let shares = answer["shares"].as_array().unwrap();
    assert!(shares.len() > 1);
    assert!(shares.iter().all(|share| share["lease"].is_null()));
    let rows = shares.iter().map(|share| {
        let request = json!({"splits": share["splits"], "columns": ["key", "offset"], "scan": answer["scan"]});
        rows_of(&request)
    });
    assert_eq!(rows.sum::<usize>(), 16);
}

#[test]
fn the_last_finished_share_removes_the_links() {
    let bench = bench();
    let links = tempfile::tempdir_in(bench.dir.path().parent().unwrap()).unwrap();
    let options = json!({"linkDir": links.path().to_str().unwrap(), "minPartitions": "3"});
    let answer = parsed(plan(&request(&bench, options, &json!([])), SPLIT_BYTES));
    let count = || std::fs::read_dir(links.path()).unwrap().count();
    assert_eq!(count(), 1);
    std::fs::remove_dir_all(bench.path()).unwrap();
    let shares = answer["shares"].as_array().unwrap();
    let mut rows = 0;
    for share in shares {
        rows += rows_of(&json!({"splits": share["splits"], "columns": []}));
        assert_eq!(count(), 1);
        finish(share["lease"].as_str().unwrap()).unwrap();
    }
    assert_eq!((rows, count()), (30, 0));
}

#[test]
fn a_plan_that_fails_or_reads_nothing_leaves_no_links() {
    let bench = bench();
    let links = tempfile::tempdir_in(bench.dir.path().parent().unwrap()).unwrap();
    let dir = links.path().to_str().unwrap();
    let failing = json!({"linkDir": dir, "startingTimestamp": (START_MS + 99).to_string()});
    let error = plan(&request(&bench, failing, &json!([])), SPLIT_BYTES).err().unwrap();
    assert!(matches!(error, PlanError::Invalid(_)), "{error:?}");
    let empty = json!({"linkDir": dir, "startingOffsets": r#"{"topic":{"0":30}}"#});
    let answer = parsed(plan(&request(&bench, empty, &json!([])), SPLIT_BYTES));
    assert_eq!(answer["shares"], json!([]));
    assert_eq!(std::fs::read_dir(links.path()).unwrap().count(), 0);
}

#[test]
fn pushed_filters_on_columns_that_are_not_read_are_given_back() {
    let filters = json!([
        {"column": "value", "op": "IsNotNull"},
        {"column": "Offset", "op": "EqualTo", "values": [1]},
        {"column": "key", "op": "IsNull"},
    ]);
    let all = json!({"filters": filters}).to_string();
    assert_eq!(push(&all).unwrap(), r#"{"taken":[1,2]}"#);
    let some = json!({"filters": filters, "columns": ["offset"]}).to_string();
    assert_eq!(push(&some).unwrap(), r#"{"taken":[1]}"#);
}

#[test]
fn a_summary_leaves_out_what_headers_do_not_tell() {
    let bench = bench();
    let answer = parsed(summarise(&request(&bench, json!({}), &json!([])), SPLIT_BYTES));
    assert_eq!(
        answer["partitions"],
        json!([{"topic": "topic", "partition": 0, "records": 30, "minOffset": 0, "maxOffset": 29,
            "maxTimestampMs": START_MS + 29}])
    );
    // records are read where a time cuts their batch
    let late = json!([{"column": "timestamp", "op": "GreaterThanOrEqual", "values": [(START_MS + 29) * 1000]}]);
    let answer = parsed(summarise(&request(&bench, json!({}), &late), SPLIT_BYTES));
    assert_eq!(
        answer["partitions"],
        json!([{"topic": "topic", "partition": 0, "records": 1, "minOffset": 29, "maxOffset": 29,
            "minTimestampMs": START_MS + 29, "maxTimestampMs": START_MS + 29}])
    );
}

#[test]
fn a_summary_under_a_filter_on_keys_is_refused() {
    let filters = json!([{"column": "key", "op": "IsNull"}]);
    let error = summarise(&request(&bench(), json!({}), &filters), SPLIT_BYTES)
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "summarise: a filter on keys needs the records; read them"
    );
}

#[test]
fn lost_offsets_are_listed() {
    let range = LostRange {
        topic: "topic".into(),
        partition: 3,
        from: Offset(4),
        to: Offset(9),
    };
    assert_eq!(
        lost(&[range]).unwrap(),
        r#"[{"topic":"topic","partition":3,"startOffset":4,"endOffset":9}]"#
    );
}

#[test]
fn a_wrong_request_is_one_sentence() {
    for error in [
        plan("{", SPLIT_BYTES).err().unwrap(),
        push("[]").err().unwrap(),
        summarise("{}", SPLIT_BYTES).err().unwrap(),
        open(r#"{"splits": [], "columns": ["flight"]}"#)
            .map(|_| ())
            .err()
            .unwrap(),
        open(r#"{"splits": ["x"], "columns": []}"#).map(|_| ()).err().unwrap(),
        open(r#"{"splits": [], "columns": [], "scan": {"keys": ["?"]}}"#)
            .map(|_| ())
            .err()
            .unwrap(),
        finish("no lease").err().unwrap(),
    ] {
        let sentence = error.to_string();
        assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence}");
    }
}
