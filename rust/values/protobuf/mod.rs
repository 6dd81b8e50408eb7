//! Values in Protocol Buffers: `schema` reads `.proto` files and descriptor sets, `reader` appends messages to columns.

mod reader;
mod schema;

pub(super) use reader::ProtobufReader;
pub(super) use schema::load;
