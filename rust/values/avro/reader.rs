//! Avro values, appended to typed columns.
//!
//! A value is checked to its end before anything of it is appended. With a registry the writer's schema of each id is
//! fetched once; without one every value has the reader's schema.

use std::collections::HashMap;

use arrow_schema::{DataType, Fields};

use super::cursor::AvroCursor;
use super::plan::AvroPlan;
use super::schema::{Avro, parse};
use crate::columns::Structs;
use crate::error::{Result, invalid};
use crate::registry::SchemaRegistry;
use crate::spec::{ValueFraming, ValueSpec};
use crate::verdict::{DecodeOutcome, Reasons};

#[derive(Debug)]
pub(crate) struct AvroReader {
    reader: Avro,
    wanted: DataType,
    own: AvroPlan,
    /// The plans of the writers' schemas by id.
    plans: HashMap<u64, AvroPlan>,
    registry: Option<SchemaRegistry>,
    framing: ValueFraming,
}

impl AvroReader {
    pub(crate) fn new(spec: &ValueSpec, wanted: &Fields) -> Result<Self> {
        let Some(text) = &spec.avro_schema else {
            return invalid("valueSchema: missing; give an Avro schema");
        };
        let reader = parse(text)?;
        let wanted = DataType::Struct(wanted.clone());
        let own = AvroPlan::of(&reader, Some(&reader), Some(&wanted))?;
        Ok(Self {
            reader,
            wanted,
            own,
            plans: HashMap::new(),
            registry: spec.registry.clone(),
            framing: spec.framing,
        })
    }

    fn plan(&mut self, id: Option<u64>) -> Result<&AvroPlan> {
        let (Some(id), Some(registry)) = (id, &self.registry) else {
            return Ok(&self.own);
        };
        if !self.plans.contains_key(&id) {
            let writer = parse(&registry.schema(self.framing, id)?)?;
            let plan = AvroPlan::of(&writer, Some(&self.reader), Some(&self.wanted))?;
            self.plans.insert(id, plan);
        }
        Ok(self.plans.get(&id).unwrap_or(&self.own))
    }

    /// Appends one row for the value; the error is that of a schema that cannot be had.
    pub(crate) fn append(
        &mut self,
        id: Option<u64>,
        value: &[u8],
        rows: &mut Structs,
        reasons: &mut Reasons,
    ) -> Result<DecodeOutcome> {
        let plan = self.plan(id)?;
        let mut cursor = AvroCursor(value);
        let checked = match plan.check(&mut cursor) {
            Ok(()) if !cursor.0.is_empty() => Err("bytes follow the value"),
            checked => checked,
        };
        if let Err(reason) = checked {
            rows.push_nulls();
            reasons.add(|| format!("it is no Avro of its schema: {reason}"));
            return Ok(DecodeOutcome::Bad);
        }
        let AvroPlan::Record(record) = plan else {
            return invalid("valueSchema: the Avro schema is no record; give a record");
        };
        match record.append(&mut AvroCursor(value), rows) {
            Ok(()) => Ok(DecodeOutcome::Good),
            Err(reason) => invalid(format!("valueSchema: {reason}")),
        }
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
