//! Values in Avro's binary encoding: `schema` reads schemas, `plan` fits a writer's schema to the wanted columns,
//! `reader` decodes, with the writer's schemas that a registry has.

mod cursor;
mod default;
mod plan;
mod reader;
mod schema;

pub(super) use reader::AvroReader;
pub(super) use schema::fields_of;
