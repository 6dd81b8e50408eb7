//! The Python module `kafkastore._core`: it translates types and errors and makes no decision.
//!
//! A binding converts, detaches from the GIL, makes one engine call, and converts back. This is the only folder with
//! pyo3.

mod broker_offsets;
mod brokers;
mod check;
pub mod cleaner;
mod consumer;
pub mod convert;
mod dump;
pub mod engine;
pub mod errors;
mod events;
mod functions;
mod groups;
mod load;
mod messages;
mod producer;
mod quotas;
mod recovery;
mod rows;
mod scan;
mod scan_plan;
mod security;
mod spark;
mod transactions;
mod value_spec;
pub mod values;

use pyo3::prelude::*;

use broker::INTERNAL_TOPICS;

/// The storage engine and data plane of kafkastore.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("EngineError", module.py().get_type::<errors::EngineError>())?;
    module.add("StartError", module.py().get_type::<errors::StartError>())?;
    module.add("TooManyRowsError", module.py().get_type::<errors::TooManyRowsError>())?;
    module.add("INTERNAL_TOPICS", INTERNAL_TOPICS)?;
    module.add_class::<check::PyCheck>()?;
    module.add_class::<check::CheckReport>()?;
    module.add_class::<check::CheckFinding>()?;
    module.add_class::<check::CheckProgress>()?;
    module.add_class::<cleaner::PyCleanerReport>()?;
    module.add_class::<cleaner::PyCleanerFigures>()?;
    module.add_class::<engine::PyEngine>()?;
    values::add_to(module)?;
    module.add_class::<events::PyRequest>()?;
    module.add_class::<events::PyAppendDone>()?;
    module.add_class::<events::IsrChange>()?;
    module.add_class::<events::LogDirFailed>()?;
    module.add_class::<events::ReplicaMoved>()?;
    module.add_class::<events::LowWatermarkMoved>()?;
    module.add_class::<events::ProducerIdsLow>()?;
    module.add_class::<events::RequestAbandoned>()?;
    module.add_class::<events::ThreadFailed>()?;
    module.add_class::<events::GroupsCreated>()?;
    module.add_class::<events::SessionsExpired>()?;
    module.add_class::<events::ExpiredSession>()?;
    module.add_class::<events::LogLine>()?;
    module.add_class::<recovery::PyRecovery>()?;
    module.add_class::<quotas::PyQuotas>()?;
    module.add_class::<security::PySecurity>()?;
    module.add_class::<brokers::PyBrokerTls>()?;
    module.add_class::<brokers::PyBrokerLogin>()?;
    module.add_class::<brokers::PyBrokerConnection>()?;
    module.add_function(wrap_pyfunction!(security::issue_certificates, module)?)?;
    module.add_function(wrap_pyfunction!(security::certificate_ends, module)?)?;
    module.add_function(wrap_pyfunction!(security::certificate_hosts, module)?)?;
    module.add_class::<groups::PyGroups>()?;
    module.add_class::<groups::PyGroupLease>()?;
    module.add_class::<groups::PyLoadedGroups>()?;
    module.add_class::<groups::OffsetsRemoval>()?;
    module.add_class::<transactions::PyTransactions>()?;
    module.add_class::<transactions::PyLoadedTransactions>()?;
    module.add_class::<transactions::TransactionDescription>()?;
    module.add_class::<transactions::ListedTransaction>()?;
    module.add("ScanError", module.py().get_type::<scan::ScanError>())?;
    module.add("DataLossError", module.py().get_type::<scan::DataLossError>())?;
    module.add_class::<scan::PySplit>()?;
    module.add_class::<scan::PyScan>()?;
    module.add("LoadBuildError", module.py().get_type::<load::LoadBuildError>())?;
    module.add_class::<load::PyLoadBuilder>()?;
    module.add("ClientError", module.py().get_type::<consumer::ClientError>())?;
    module.add_class::<consumer::PyConsumer>()?;
    module.add_class::<consumer::PyFetchedRecords>()?;
    module.add_class::<consumer::PyFetchedRecord>()?;
    module.add_class::<producer::PyProducer>()?;
    module.add_class::<producer::Delivery>()?;
    messages::add_to(module)?;
    module.add_function(wrap_pyfunction!(load::make_staging_dir, module)?)?;
    module.add_function(wrap_pyfunction!(load::sweep_staged, module)?)?;
    module.add_class::<rows::Rows>()?;
    module.add_class::<dump::BatchHeaders>()?;
    module.add_class::<dump::BatchDescription>()?;
    module.add_function(wrap_pyfunction!(functions::build_batch, module)?)?;
    module.add_function(wrap_pyfunction!(value_spec::value_spec, module)?)?;
    module.add_function(wrap_pyfunction!(functions::error_codes, module)?)?;
    module.add_function(wrap_pyfunction!(functions::supported_features, module)?)?;
    module.add_function(wrap_pyfunction!(functions::resident_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(functions::give_back_memory, module)?)?;
    module.add_class::<scan_plan::PyPartitionPlan>()?;
    module.add_class::<scan_plan::PyTopicPartitionFiles>()?;
    module.add_function(wrap_pyfunction!(scan_plan::list_partitions, module)?)?;
    module.add_function(wrap_pyfunction!(scan_plan::plan_scan, module)?)?;
    module.add_function(wrap_pyfunction!(broker_offsets::parse_servers, module)?)?;
    module.add_function(wrap_pyfunction!(brokers::client_security, module)?)?;
    module.add_function(wrap_pyfunction!(broker_offsets::broker_offsets, module)?)?;
    module.add_function(wrap_pyfunction!(spark::plan_read, module)?)?;
    module.add_function(wrap_pyfunction!(spark::finish_lease, module)?)?;
    Ok(())
}
