//! The planner's questions and answers as JSON, for callers of another language. Keys are base64, times milliseconds.
//!
//! ```text
//! plan       {"options": {name: value}, "filters": [filter], "cores": n?}
//!         -> {"warnings": [text], "includeHeaders", "checkCrcs", "failOnDataLoss", "ignoreCorruptBatches",
//!             "sizeBytes",
//!             "ranges": [{"topic", "partition", "startOffset", "endOffset", "sizeBytes", "way"}],
//!             "shares": [{"splits": [text], "sizeBytes", "hosts": [text], "lease": text or null}], "scan": limits}
//! offsets    as plan
//!         -> {"warnings": [text], "partitions": [{"topic", "partition", "startOffset", "endOffset", "sizeBytes"}]}
//! push       {"filters": [filter], "columns": [name]?} -> {"taken": [index]}
//! summarise  as plan
//!         -> {"warnings": [text], "partitions": [{"topic", "partition", "records", "minOffset"?, "maxOffset"?,
//!             "minTimestampMs"?, "maxTimestampMs"?}] or null}
//! schema     {"options": {name: value}}
//!         -> {"value": schema or null, "spec": spec or null, "dropsRecords": whether bad values leave records out}
//! open       {"splits": [text], "columns": [name], "scan": limits?, "checkCrcs"?, "failOnDataLoss"?,
//!             "ignoreCorruptBatches"?, "batchRows"?,
//!             "batchBytes"?, "kafka": {name: value}?, "values": {"spec": spec, "wanted": schema?}?}
//! lost    -> [{"topic", "partition", "startOffset", "endOffset"}]
//! filter  := {"column", "op", "values"}, see `filters`
//! schema  := the type of the column value as Spark's JSON; spec is for `open` alone
//! limits  := {"minTimestampMs": n or null, "endTimestampMs": n or null, "keys": [base64 or null] or null}
//! ```
//!
//! `way` is "files" or "network". Offsets and times of `summarise` are left out where there are none, and the least
//! time also where only the records would tell it; `partitions` is null when some partition's files are not seen.
//! Nothing is decided here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::lease::{ShareLease, release, take};
use super::local_files::prefer_local_files;
use super::options::security_of;
use super::{
    BrokerLog, OffsetLookup, PlanError, PlannedPartition, PushedFilter, ReadMethod, ReadOptions, ReadPlan,
    RecordFilter, Result, TaskShare, brokers_of, cut, filters, planning, share_count,
};
use ::io::{FileSystem, OsFileSystem};
use scan::{Column, LostRange, Predicate, ScanError, ScanOptions, Split, TimeLimits};
use values::{ValueSpec, parse_spark_json};

#[derive(Deserialize)]
struct PlanRequest {
    options: BTreeMap<String, String>,
    #[serde(default)]
    filters: Vec<PushedFilter>,
    #[serde(default)]
    cores: Option<usize>,
}

/// What a read does about what is wrong.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FaultPolicy {
    check_crcs: bool,
    fail_on_data_loss: bool,
    ignore_corrupt_batches: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanAnswer {
    warnings: Vec<String>,
    include_headers: bool,
    #[serde(flatten)]
    how: FaultPolicy,
    size_bytes: u64,
    ranges: Vec<RangeAnswer>,
    shares: Vec<ShareAnswer>,
    scan: RecordLimits,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RangeAnswer {
    topic: Arc<str>,
    partition: i32,
    start_offset: i64,
    end_offset: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<&'static str>,
}

#[derive(Serialize)]
struct OffsetsAnswer {
    warnings: Vec<String>,
    partitions: Vec<RangeAnswer>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShareAnswer {
    splits: Vec<String>,
    size_bytes: u64,
    hosts: Vec<String>,
    lease: Option<String>,
}

/// The conditions on records of a scan.
#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RecordLimits {
    min_timestamp_ms: Option<i64>,
    end_timestamp_ms: Option<i64>,
    keys: Option<Vec<Option<String>>>,
}

#[derive(Deserialize)]
struct PushRequest {
    filters: Vec<PushedFilter>,
    #[serde(default)]
    columns: Option<Vec<String>>,
}

#[derive(Serialize)]
struct PushAnswer {
    taken: Vec<usize>,
}

#[derive(Serialize)]
struct SummaryAnswer {
    warnings: Vec<String>,
    partitions: Option<Vec<PartitionSummary>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartitionSummary {
    topic: Arc<str>,
    partition: i32,
    records: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_offset: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_offset: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_timestamp_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_timestamp_ms: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenRequest {
    splits: Vec<String>,
    columns: Vec<String>,
    #[serde(default)]
    scan: Option<RecordLimits>,
    #[serde(default)]
    check_crcs: Option<bool>,
    #[serde(default)]
    fail_on_data_loss: Option<bool>,
    #[serde(default)]
    ignore_corrupt_batches: Option<bool>,
    #[serde(default)]
    batch_rows: Option<usize>,
    #[serde(default)]
    batch_bytes: Option<usize>,
    /// `kafka.security.protocol`, `kafka.ssl.*` and `kafka.sasl.*`.
    #[serde(default)]
    kafka: BTreeMap<String, String>,
    #[serde(default)]
    values: Option<ValuesRequest>,
}

/// How the column `value` is parsed.
#[derive(Deserialize)]
struct ValuesRequest {
    spec: ValueSpec,
    #[serde(default)]
    wanted: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct SchemaRequest {
    options: BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SchemaAnswer {
    value: Option<serde_json::Value>,
    drops_records: bool,
    spec: Option<ValueSpec>,
}

/// Plans a read and cuts it into shares.
pub fn plan(request: &str, default_split_bytes: u64) -> Result<String> {
    let request: PlanRequest = decoded("plan", request)?;
    let (options, mut warnings) = ReadOptions::parse(&request.options, default_split_bytes)?;
    let (_, wanted) = filters::push(&request.filters);
    let lease = options
        .link_dir
        .as_deref()
        .map(|dir| take(dir, &options.log_dirs.of_brokers(&[])));
    let lease = lease.transpose()?;
    let planned = ranges_and_shares(&options, &wanted, lease.as_deref(), request.cores);
    let (planned, shares) = match (planned, &lease) {
        (Ok((planned, shares)), Some(folder)) if shares.is_empty() => {
            release(folder);
            (planned, shares)
        }
        (Err(error), Some(folder)) => {
            release(folder);
            return Err(error);
        }
        (planned, _) => planned?,
    };
    warnings.extend(planned.warnings);
    let shares = answers_of(&shares, &planned.plans, lease.as_ref())?;
    encoded(&PlanAnswer {
        warnings,
        include_headers: options.include_headers,
        how: FaultPolicy {
            check_crcs: options.check_crcs,
            fail_on_data_loss: options.fail_on_data_loss,
            ignore_corrupt_batches: options.ignore_corrupt_batches,
        },
        size_bytes: shares.iter().map(|share| share.size_bytes).sum(),
        ranges: planned.plans.iter().map(range_of).collect(),
        shares,
        scan: limits_of(&wanted.predicate()),
    })
}

fn ranges_and_shares(
    options: &ReadOptions,
    wanted: &RecordFilter,
    lease: Option<&Path>,
    cores: Option<usize>,
) -> Result<(ReadPlan, Vec<TaskShare>)> {
    let planned = planned(options, wanted, lease)?;
    let total = planned.plans.iter().map(PlannedPartition::size_bytes).sum();
    let cores = cores.filter(|cores| *cores > 0).unwrap_or_else(own_cores);
    let shares = cut(&planned.plans, options.isolation, share_count(options, total, cores))?;
    Ok((planned, shares))
}

fn planned(options: &ReadOptions, wanted: &RecordFilter, lease: Option<&Path>) -> Result<ReadPlan> {
    let brokers = brokers_of(options)?;
    let ask = brokers.as_ref().map(|brokers| brokers as &dyn OffsetLookup);
    planning::plan(&files(), options, wanted, ask, lease)
}

fn own_cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn files() -> Arc<dyn FileSystem> {
    Arc::new(OsFileSystem)
}

fn answers_of(shares: &[TaskShare], plans: &[PlannedPartition], lease: Option<&PathBuf>) -> Result<Vec<ShareAnswer>> {
    let answer_of = |(number, share): (usize, &TaskShare)| {
        let splits = share
            .splits
            .iter()
            .map(Split::encode)
            .collect::<Result<_, ScanError>>()?;
        let part = lease.map(|folder| ShareLease {
            folder: folder.clone(),
            share: number,
            shares: shares.len(),
        });
        Ok(ShareAnswer {
            splits,
            size_bytes: share.size_bytes(),
            hosts: share.hosts(plans),
            lease: part.as_ref().map(encoded).transpose()?,
        })
    };
    shares.iter().enumerate().map(answer_of).collect()
}

fn range_of(plan: &PlannedPartition) -> RangeAnswer {
    let way = match plan.way {
        ReadMethod::Files(_) => "files",
        ReadMethod::Network { .. } => "network",
    };
    RangeAnswer {
        topic: Arc::clone(&plan.partition.topic),
        partition: plan.partition.partition,
        start_offset: plan.start_offset.get(),
        end_offset: plan.end_offset.get(),
        size_bytes: Some(plan.size_bytes()),
        way: Some(way),
    }
}

fn limits_of(predicate: &Predicate) -> RecordLimits {
    let key_of = |key: &Option<Vec<u8>>| key.as_ref().map(|key| STANDARD.encode(key));
    RecordLimits {
        min_timestamp_ms: predicate.min_timestamp_ms,
        end_timestamp_ms: predicate.end_timestamp_ms,
        keys: predicate.keys.as_ref().map(|keys| keys.iter().map(key_of).collect()),
    }
}

/// Where each partition of a read begins and ends now, those without records too. No shares are cut.
pub fn offsets(request: &str, default_split_bytes: u64) -> Result<String> {
    let request: PlanRequest = decoded("offsets", request)?;
    let (options, mut warnings) = ReadOptions::parse(&request.options, default_split_bytes)?;
    let planned = planned(&options, &RecordFilter::default(), None)?;
    warnings.extend(planned.warnings);
    let partitions = planned.plans.iter().chain(&planned.empty).map(range_of).collect();
    encoded(&OffsetsAnswer { warnings, partitions })
}

/// The filters that a scan of the columns applies exactly.
pub fn push(request: &str) -> Result<String> {
    let request: PushRequest = decoded("push", request)?;
    let (taken, _) = filters::push(&request.filters);
    let is_read = |at: &usize| {
        let column = &request.filters[*at].column;
        let columns = request.columns.as_ref();
        columns.is_none_or(|columns| columns.iter().any(|name| name.eq_ignore_ascii_case(column)))
    };
    encoded(&PushAnswer {
        taken: taken.into_iter().filter(is_read).collect(),
    })
}

/// Counts and extents of what a plan would read, from the headers of batches.
pub fn summarise(request: &str, default_split_bytes: u64) -> Result<String> {
    let request: PlanRequest = decoded("summarise", request)?;
    let (options, mut warnings) = ReadOptions::parse(&request.options, default_split_bytes)?;
    let (_, wanted) = filters::push(&request.filters);
    let limits = wanted.predicate();
    if limits.keys.is_some() {
        return Err(PlanError::Invalid(
            "summarise: a filter on keys needs the records; read them".to_owned(),
        ));
    }
    let limits = TimeLimits {
        min_ms: limits.min_timestamp_ms,
        end_ms: limits.end_timestamp_ms,
    };
    let planned = planned(&options, &wanted, None)?;
    let partitions = planned.plans.iter().map(|plan| {
        // headers do not tell which batches cannot be read
        if options.ignore_corrupt_batches {
            Ok(None)
        } else {
            summary_of(plan, limits)
        }
    });
    let partitions = partitions.collect::<Result<_>>()?;
    warnings.extend(planned.warnings);
    encoded(&SummaryAnswer { warnings, partitions })
}

/// `None` when the partition's headers are not in files that are seen here.
fn summary_of(plan: &PlannedPartition, limits: TimeLimits) -> Result<Option<PartitionSummary>> {
    let ReadMethod::Files(files) = &plan.way else {
        return Ok(None);
    };
    let summary = files.summary(limits)?;
    let least = summary.timestamps.filter(|_| !summary.may_begin_earlier);
    Ok(Some(PartitionSummary {
        topic: Arc::clone(&plan.partition.topic),
        partition: plan.partition.partition,
        records: summary.records,
        min_offset: summary.offsets.map(|(least, _)| least.get()),
        max_offset: summary.offsets.map(|(_, greatest)| greatest.get()),
        min_timestamp_ms: least.map(|(least, _)| least),
        max_timestamp_ms: summary.timestamps.map(|(_, greatest)| greatest),
    }))
}

/// The type of the column `value`, when the options have values parsed.
pub fn schema(request: &str) -> Result<String> {
    let request: SchemaRequest = decoded("schema", request)?;
    let spec = ValueSpec::parse(&request.options)?;
    encoded(&SchemaAnswer {
        value: spec.as_ref().map(|spec| spec.schema().clone()),
        drops_records: spec.as_ref().is_some_and(ValueSpec::drops_records),
        spec,
    })
}

/// The splits and the options of a scan; one thread, the caller's, reads it.
pub fn open(request: &str) -> Result<(Arc<[Arc<Split>]>, ScanOptions)> {
    let request: OpenRequest = decoded("open", request)?;
    let splits = request.splits.iter().map(|text| Split::decode(text));
    let splits = prefer_local_files(&files(), splits.collect::<Result<_, _>>()?);
    let splits = splits.into_iter().map(Arc::new).collect();
    let columns = request.columns.iter().map(|name| Column::parse(name));
    let columns: Vec<Column> = columns.collect::<Result<_, _>>()?;
    let mut options = ScanOptions::new(&columns)?;
    if let Some(values) = request.values {
        let wanted = values
            .wanted
            .map(|schema| parse_spark_json("wanted", &schema.to_string()));
        options = options.with_values(values.spec, wanted.transpose()?)?;
    }
    options.predicate = predicate_of(request.scan.unwrap_or_default())?;
    options.check_crcs = request.check_crcs.unwrap_or(options.check_crcs);
    options.fail_on_data_loss = request.fail_on_data_loss.unwrap_or(options.fail_on_data_loss);
    options.ignore_corrupt_batches = request.ignore_corrupt_batches.unwrap_or_default();
    options.remote_log = Some(Arc::new(BrokerLog::shared(security_of(&request.kafka)?)));
    options.batch_rows = request.batch_rows.unwrap_or(options.batch_rows).max(1);
    options.batch_bytes = request.batch_bytes.unwrap_or(options.batch_bytes).max(1);
    Ok((splits, options))
}

fn predicate_of(limits: RecordLimits) -> Result<Predicate> {
    let key_of = |key: Option<String>| key.map(|key| STANDARD.decode(key)).transpose();
    let keys = limits.keys.map(|keys| keys.into_iter().map(key_of).collect());
    let keys = keys
        .transpose()
        .map_err(|error: base64::DecodeError| PlanError::Invalid(format!("open: a key is no base64 ({error})")))?;
    Ok(Predicate {
        min_timestamp_ms: limits.min_timestamp_ms,
        end_timestamp_ms: limits.end_timestamp_ms,
        keys,
    })
}

/// The offsets that a scan has skipped because they were gone.
pub fn lost(ranges: &[LostRange]) -> Result<String> {
    let answer_of = |range: &LostRange| RangeAnswer {
        topic: Arc::clone(&range.topic),
        partition: range.partition,
        start_offset: range.from.get(),
        end_offset: range.to.get(),
        size_bytes: None,
        way: None,
    };
    encoded(&ranges.iter().map(answer_of).collect::<Vec<_>>())
}

/// The share of the lease is read; see [`ShareLease::finish`].
pub fn finish(lease: &str) -> Result<()> {
    decoded::<ShareLease>("release", lease)?.finish();
    Ok(())
}

fn decoded<T: DeserializeOwned>(which: &str, request: &str) -> Result<T> {
    serde_json::from_str(request).map_err(|error| PlanError::Invalid(format!("{which}: the request is wrong: {error}")))
}

fn encoded<T: Serialize>(answer: &T) -> Result<String> {
    serde_json::to_string(answer).map_err(|error| PlanError::Invalid(format!("the answer cannot be written: {error}")))
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
