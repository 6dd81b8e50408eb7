//! The types of a value's fields: Spark's, as Arrow has them.
//!
//! `ddl` and `spark_json` are the two ways in which Spark writes a schema.

mod ddl;
mod made;
mod spark_json;

pub(super) use ddl::parse_ddl;
pub(super) use made::{MAX_NESTING, MAX_PARTS, decimal, list_of, map_of, named, sql_name, timestamp};
pub use spark_json::{parse_spark_json, to_spark_json};
