//! How values of a writer's schema become wanted columns.
//!
//! A plan has the shape of the writer's schema: every part of a value is read in the order of its bytes, and goes to a
//! column or to none. Numbers are made wider for a column of a wider type, which is Avro's promotion; a field that the
//! writer lacks has the reader's default. Fields are matched by name, and by the aliases of the reader's schema.

use arrow_schema::{DataType, Fields};

use super::cursor::{AvroCursor, AvroFault};
use super::default::encode;
use super::schema::{Avro, AvroField, branches, data_type_of};
use crate::columns::{Column, Lists, Maps, Structs};
use crate::error::{Result, invalid};
use crate::types::sql_name;

#[derive(Debug)]
pub(super) enum AvroPlan {
    Plain(Avro),
    Array(Box<AvroPlan>),
    Map(Box<AvroPlan>),
    /// The plans of the branches, and the field of the struct that a branch is, where a union is a struct.
    Union(Vec<(AvroPlan, Option<usize>)>),
    Record(RecordPlan),
}

#[derive(Debug)]
pub(super) struct RecordPlan {
    /// The writer's fields in order, each with its column.
    steps: Vec<(AvroPlan, Option<usize>)>,
    /// The columns that the writer has no field for, with the default; null where there is none.
    missing: Vec<(usize, Option<Default>)>,
}

/// A default, encoded as the plan reads it.
type Default = (AvroPlan, Vec<u8>);

impl AvroPlan {
    /// The plan that reads `writer` into a column of the type; `None` skips. `reader` is the reader's schema for it.
    pub(super) fn of(writer: &Avro, reader: Option<&Avro>, wanted: Option<&DataType>) -> Result<Self> {
        let reader = match reader {
            Some(Avro::Union(union)) => match branches(union)[..] {
                [(_, only)] => Some(only),
                _ => reader,
            },
            other => other,
        };
        Ok(match writer {
            Avro::Array(items) => {
                let wanted = wanted.map(|it| match it {
                    DataType::List(element) => Ok(element.data_type()),
                    other => unfit(writer, other),
                });
                let reader = reader.and_then(|it| {
                    if let Avro::Array(items) = it {
                        Some(&**items)
                    } else {
                        None
                    }
                });
                Self::Array(Box::new(Self::of(items, reader, wanted.transpose()?)?))
            }
            Avro::Map(values) => {
                let wanted = wanted.map(|it| match it {
                    DataType::Map(entries, _) => match entries.data_type() {
                        DataType::Struct(pair) if pair.len() == 2 => Ok(pair[1].data_type()),
                        other => unfit(writer, other),
                    },
                    other => unfit(writer, other),
                });
                let reader = reader.and_then(|it| {
                    if let Avro::Map(values) = it {
                        Some(&**values)
                    } else {
                        None
                    }
                });
                Self::Map(Box::new(Self::of(values, reader, wanted.transpose()?)?))
            }
            Avro::Union(union) => Self::union(union, reader, wanted)?,
            Avro::Record(fields) => {
                let wanted = wanted.map(|it| match it {
                    DataType::Struct(fields) => Ok(fields),
                    other => unfit(writer, other),
                });
                let reader = reader.and_then(|it| {
                    if let Avro::Record(fields) = it {
                        Some(&fields[..])
                    } else {
                        None
                    }
                });
                Self::Record(RecordPlan::of(fields, reader, wanted.transpose()?)?)
            }
            plain => {
                if let Some(wanted) = wanted
                    && !fits(plain, wanted)
                {
                    return unfit(plain, wanted);
                }
                Self::Plain(plain.clone())
            }
        })
    }

    fn union(union: &[Avro], reader: Option<&Avro>, wanted: Option<&DataType>) -> Result<Self> {
        let several = branches(union);
        // As `data_type_of` gives a union of several types, but for numbers, which have one type.
        let members = match wanted {
            Some(DataType::Struct(fields)) if several.len() > 1 => Some(fields),
            _ => None,
        };
        let plan_of = |(at, branch): (usize, &Avro)| {
            let Some(fields) = members else {
                let wanted = wanted.filter(|_| *branch != Avro::Null);
                return Ok((Self::of(branch, reader, wanted)?, None));
            };
            let number = several.iter().position(|(place, _)| *place == at);
            let name = number.map(|number| format!("member{number}"));
            let member = fields.iter().position(|field| Some(field.name()) == name.as_ref());
            let data_type = member.map(|member| fields[member].data_type());
            Ok((Self::of(branch, Some(branch), data_type)?, member))
        };
        Ok(Self::Union(
            union.iter().enumerate().map(plan_of).collect::<Result<_>>()?,
        ))
    }

    /// Goes over a value without appending anything; the error says why it is no value of the schema.
    pub(super) fn check(&self, cursor: &mut AvroCursor<'_>) -> Result<(), AvroFault> {
        match self {
            Self::Plain(schema) => check_plain(schema, cursor),
            Self::Array(items) => each(cursor, |cursor| items.check(cursor)),
            Self::Map(values) => each(cursor, |cursor| {
                text(cursor.bytes()?)?;
                values.check(cursor)
            }),
            Self::Union(branches) => {
                let (branch, _) = branch_of(branches, cursor)?;
                branch.check(cursor)
            }
            Self::Record(record) => record.steps.iter().try_for_each(|(step, _)| step.check(cursor)),
        }
    }

    /// Appends one row of a value that has been checked.
    pub(super) fn append(&self, cursor: &mut AvroCursor<'_>, column: &mut Column) -> Result<(), AvroFault> {
        match (self, column) {
            (Self::Plain(Avro::Null), column) => column.push_null(),
            (Self::Plain(schema), column) => return append_plain(schema, cursor, column),
            (Self::Array(items), Column::List(lists)) => append_list(items, cursor, lists)?,
            (Self::Map(values), Column::Map(maps)) => append_map(values, cursor, maps)?,
            (Self::Union(branches), column) => {
                let (branch, member) = branch_of(branches, cursor)?;
                let is_null = matches!(branch, Self::Plain(Avro::Null));
                match column {
                    Column::Struct(structs) if !is_null && branches.iter().any(|(_, member)| member.is_some()) => {
                        append_member(branch, *member, cursor, structs)?;
                    }
                    column => branch.append(cursor, column)?,
                }
            }
            (Self::Record(record), Column::Struct(structs)) => record.append(cursor, structs)?,
            _ => return Err("its schema does not fit the column"),
        }
        Ok(())
    }
}

impl RecordPlan {
    fn of(fields: &[AvroField], reader: Option<&[AvroField]>, wanted: Option<&Fields>) -> Result<Self> {
        let mut is_written = vec![false; wanted.map_or(0, |it| it.len())];
        let mut steps = Vec::with_capacity(fields.len());
        for field in fields {
            let known = reader.and_then(|reader| reader.iter().find(|it| it.name == field.name));
            let known = known.or_else(|| reader.and_then(|it| it.iter().find(|it| it.aliases.contains(&field.name))));
            let name = known.map_or(&field.name, |known| &known.name);
            let at = wanted.and_then(|wanted| wanted.iter().position(|it| it.name() == name));
            let at = at.filter(|at| !std::mem::replace(&mut is_written[*at], true));
            let data_type = at.and_then(|at| wanted.map(|wanted| wanted[at].data_type()));
            steps.push((AvroPlan::of(&field.schema, known.map(|it| &it.schema), data_type)?, at));
        }
        let mut missing = Vec::new();
        for (at, field) in wanted.into_iter().flat_map(|it| it.iter()).enumerate() {
            if is_written[at] {
                continue;
            }
            let known = reader.and_then(|reader| reader.iter().find(|it| it.name == *field.name()));
            let default = known.and_then(|known| known.default.as_ref().map(|default| (known, default)));
            let encoded = match default {
                Some((known, default)) => {
                    let plan = AvroPlan::of(&known.schema, Some(&known.schema), Some(field.data_type()))?;
                    Some((plan, encode(&known.schema, default, field.name())?))
                }
                None => None,
            };
            missing.push((at, encoded));
        }
        Ok(Self { steps, missing })
    }

    pub(super) fn append(&self, cursor: &mut AvroCursor<'_>, structs: &mut Structs) -> Result<(), AvroFault> {
        for (step, at) in &self.steps {
            match at {
                Some(at) => step.append(cursor, &mut structs.columns[*at])?,
                None => step.check(cursor)?,
            }
        }
        for (at, default) in &self.missing {
            match default {
                Some((plan, bytes)) => plan.append(&mut AvroCursor(bytes), &mut structs.columns[*at])?,
                None => structs.columns[*at].push_null(),
            }
        }
        structs.end();
        Ok(())
    }
}

fn unfit<T>(writer: &Avro, wanted: &DataType) -> Result<T> {
    let found = data_type_of(writer).map_or_else(|_| "NULL".to_owned(), |it| sql_name(&it));
    invalid(format!(
        "valueSchema: a value has a field of the type {found}, which cannot be read as {}; give a schema that the \
         writer's fits",
        sql_name(wanted)
    ))
}

/// Whether Avro promotes the writer's type to the column's.
fn fits(writer: &Avro, wanted: &DataType) -> bool {
    if *writer == Avro::Null || data_type_of(writer).is_ok_and(|found| found == *wanted) {
        return true;
    }
    match writer {
        Avro::Int => matches!(wanted, DataType::Int64 | DataType::Float32 | DataType::Float64),
        Avro::Long => matches!(wanted, DataType::Float32 | DataType::Float64),
        Avro::Float => *wanted == DataType::Float64,
        Avro::Text => *wanted == DataType::Binary,
        Avro::Bytes => *wanted == DataType::Utf8,
        _ => false,
    }
}

fn branch_of<'a, T>(branches: &'a [T], cursor: &mut AvroCursor<'_>) -> Result<&'a T, AvroFault> {
    let at = usize::try_from(cursor.long()?).ok();
    at.and_then(|at| branches.get(at)).ok_or("a union has no such branch")
}

/// Calls for each item of the blocks of an array or a map.
fn each(
    cursor: &mut AvroCursor<'_>,
    mut item: impl FnMut(&mut AvroCursor<'_>) -> Result<(), AvroFault>,
) -> Result<(), AvroFault> {
    loop {
        let count = cursor.block()?;
        if count == 0 {
            return Ok(());
        }
        for _ in 0..count {
            item(cursor)?;
        }
    }
}

fn text(bytes: &[u8]) -> Result<&str, AvroFault> {
    std::str::from_utf8(bytes).map_err(|_| "a string is not UTF-8")
}

fn check_plain(schema: &Avro, cursor: &mut AvroCursor<'_>) -> Result<(), AvroFault> {
    match schema {
        Avro::Boolean => cursor.boolean().map(drop),
        Avro::Int | Avro::Date => cursor.int().map(drop),
        Avro::Long => cursor.long().map(drop),
        Avro::Timestamp { is_millis, .. } => micros(cursor.long()?, *is_millis).map(drop),
        Avro::Float => cursor.take(4).map(drop),
        Avro::Double => cursor.take(8).map(drop),
        Avro::Bytes => cursor.bytes().map(drop),
        Avro::Text => text(cursor.bytes()?).map(drop),
        Avro::Fixed(size) => cursor.take(*size).map(drop),
        Avro::Enum(symbols) => branch_of(symbols, cursor).map(drop),
        Avro::Decimal { fixed, precision, .. } => unscaled(cursor, *fixed, *precision).map(drop),
        _ => Ok(()),
    }
}

fn micros(number: i64, is_millis: bool) -> Result<i64, AvroFault> {
    if is_millis {
        return number.checked_mul(1000).ok_or("a timestamp is too large");
    }
    Ok(number)
}

fn unscaled(cursor: &mut AvroCursor<'_>, fixed: Option<usize>, precision: u8) -> Result<i128, AvroFault> {
    const LARGE: AvroFault = "a decimal has too many digits";
    let bytes = match fixed {
        Some(size) => cursor.take(size)?,
        None => cursor.bytes()?,
    };
    let is_negative = bytes.first().is_some_and(|first| *first >= 0x80);
    let filler = if is_negative { 0xff } else { 0 };
    let (high, low) = bytes.split_at(bytes.len().saturating_sub(16));
    if high.iter().any(|byte| *byte != filler) {
        return Err(LARGE);
    }
    let start = if is_negative { -1i128 } else { 0 };
    let number = low.iter().fold(start, |number, byte| number << 8 | i128::from(*byte));
    if (number < 0) != is_negative || number.unsigned_abs() >= 10u128.pow(u32::from(precision)) {
        return Err(LARGE);
    }
    Ok(number)
}

fn append_plain(schema: &Avro, cursor: &mut AvroCursor<'_>, column: &mut Column) -> Result<(), AvroFault> {
    const UNFIT: AvroFault = "its schema does not fit the column";
    let has_room = match schema {
        Avro::Bytes | Avro::Text => {
            let bytes = cursor.bytes()?;
            match column {
                Column::Text(_) => column.push_text(&String::from_utf8_lossy(bytes)),
                _ => column.push_bytes(bytes),
            }
        }
        Avro::Fixed(size) => column.push_bytes(cursor.take(*size)?),
        Avro::Enum(symbols) => column.push_text(branch_of(symbols, cursor)?),
        Avro::Boolean => {
            let Column::Boolean(it) = column else { return Err(UNFIT) };
            it.append_value(cursor.boolean()?);
            true
        }
        Avro::Decimal { fixed, precision, .. } => {
            let Column::Decimal(it, ..) = column else {
                return Err(UNFIT);
            };
            it.append_value(unscaled(cursor, *fixed, *precision)?);
            true
        }
        Avro::Float => push_float(column, f32::from_le_bytes(cursor.array()?)),
        Avro::Double => {
            let Column::Double(it) = column else { return Err(UNFIT) };
            it.append_value(f64::from_le_bytes(cursor.array()?));
            true
        }
        Avro::Timestamp { is_millis, .. } => push_integer(column, micros(cursor.long()?, *is_millis)?),
        _ => push_integer(column, cursor.long()?),
    };
    if has_room { Ok(()) } else { Err(UNFIT) }
}

fn push_float(column: &mut Column, number: f32) -> bool {
    match column {
        Column::Float(it) => it.append_value(number),
        Column::Double(it) => it.append_value(f64::from(number)),
        _ => return false,
    }
    true
}

fn push_integer(column: &mut Column, number: i64) -> bool {
    match column {
        Column::Int(it) => it.append_value(number as i32), // checked: an int
        Column::Date(it) => it.append_value(number as i32),
        Column::Long(it) => it.append_value(number),
        Column::Float(it) => it.append_value(number as f32),
        Column::Double(it) => it.append_value(number as f64),
        Column::Timestamp(it) | Column::LocalTimestamp(it) => it.append_value(number),
        _ => return false,
    }
    true
}

fn append_list(items: &AvroPlan, cursor: &mut AvroCursor<'_>, lists: &mut Lists) -> Result<(), AvroFault> {
    each(cursor, |cursor| items.append(cursor, &mut lists.element))?;
    lists.end(true);
    Ok(())
}

fn append_map(values: &AvroPlan, cursor: &mut AvroCursor<'_>, maps: &mut Maps) -> Result<(), AvroFault> {
    each(cursor, |cursor| {
        if !maps.keys.push_text(text(cursor.bytes()?)?) {
            return Err("a map is too large");
        }
        values.append(cursor, &mut maps.values)
    })?;
    maps.end(true);
    Ok(())
}

fn append_member(
    branch: &AvroPlan,
    member: Option<usize>,
    cursor: &mut AvroCursor<'_>,
    structs: &mut Structs,
) -> Result<(), AvroFault> {
    for (at, column) in structs.columns.iter_mut().enumerate() {
        if Some(at) != member {
            column.push_null();
        }
    }
    match member {
        Some(member) => branch.append(cursor, &mut structs.columns[member])?,
        None => branch.check(cursor)?,
    }
    structs.end();
    Ok(())
}
