//! Schemas as Spark's DDL writes them, `id BIGINT, pos STRUCT<x: DOUBLE, y: DOUBLE> NOT NULL`, as Arrow fields.
//!
//! Every field may be null, whatever the schema says: a value may lack any of them, and Spark's parsers take schemas so
//! too. Comments of columns are read and left out. Source: Spark's "Data Types" and `StructType.fromDDL`.

use arrow_schema::{DataType, Field, Fields};

use super::{MAX_NESTING, decimal, list_of, map_of, named, timestamp};
use crate::error::{Result, invalid};

/// The fields of the schema; `option` is named in the error.
pub(crate) fn parse_ddl(option: &str, text: &str) -> Result<Fields> {
    let mut parser = DdlParser {
        option,
        text,
        rest: text,
    };
    let fields = parser.fields(None, 0)?;
    if fields.is_empty() {
        return invalid(format!(
            "{option}: {text:?} names no field; write it like id BIGINT, name STRING"
        ));
    }
    Ok(fields)
}

struct DdlParser<'a> {
    option: &'a str,
    text: &'a str,
    rest: &'a str,
}

impl<'a> DdlParser<'a> {
    fn wrong<T>(&self, reason: &str) -> Result<T> {
        let place = self.text.len() - self.rest.len();
        invalid(format!(
            "{}: {:?} is wrong at character {}: {reason}; write it like id BIGINT, tags ARRAY<STRING>, pos STRUCT<x: \
             DOUBLE>",
            self.option,
            self.text,
            self.text[..place].chars().count() + 1
        ))
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Whether the character was next, and is passed.
    fn takes(&mut self, wanted: char) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        if self.takes(wanted) {
            return Ok(());
        }
        self.wrong(&format!("{wanted} is due"))
    }

    /// Fields up to `end`, which is passed, or to the end of the text.
    fn fields(&mut self, end: Option<char>, depth: usize) -> Result<Fields> {
        let mut fields: Vec<Field> = Vec::new();
        loop {
            self.skip_space();
            let is_over = match end {
                Some(end) => fields.is_empty() && self.takes(end),
                None => fields.is_empty() && self.rest.is_empty(),
            };
            if is_over {
                return Ok(fields.into());
            }
            let name = self.name()?;
            if fields.iter().any(|field| *field.name() == name) {
                return self.wrong(&format!("{name} is named twice"));
            }
            self.takes(':');
            let data_type = self.data_type(depth)?;
            self.constraints()?;
            fields.push(named(&name, data_type));
            if self.takes(',') {
                continue;
            }
            let is_over = match end {
                Some(end) => self.takes(end),
                None => self.rest.is_empty(),
            };
            return if is_over {
                Ok(fields.into())
            } else {
                self.wrong("a comma or the end is due")
            };
        }
    }

    /// A name, in back quotes when it has other characters than letters, digits and underscores.
    fn name(&mut self) -> Result<String> {
        self.skip_space();
        let Some(quoted) = self.rest.strip_prefix('`') else {
            let word = self.word();
            return if word.is_empty() {
                self.wrong("a name is due")
            } else {
                Ok(word.to_owned())
            };
        };
        let mut name = String::new();
        let mut rest = quoted;
        loop {
            let Some((part, after)) = rest.split_once('`') else {
                return self.wrong("a back quote is not closed");
            };
            name.push_str(part);
            let Some(more) = after.strip_prefix('`') else {
                self.rest = after;
                return Ok(name);
            };
            name.push('`');
            rest = more;
        }
    }

    fn word(&mut self) -> &'a str {
        self.skip_space();
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let end = self
            .rest
            .find(|character| !is_word(character))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn takes_word(&mut self, wanted: &str) -> bool {
        let before = self.rest;
        if self.word().eq_ignore_ascii_case(wanted) {
            return true;
        }
        self.rest = before;
        false
    }

    /// `NOT NULL` and `COMMENT '...'`.
    fn constraints(&mut self) -> Result<()> {
        if self.takes_word("NOT") && !self.takes_word("NULL") {
            return self.wrong("NULL is due after NOT");
        }
        if self.takes_word("COMMENT") {
            self.skip_space();
            let Some(quote) = self.rest.chars().next().filter(|it| matches!(it, '\'' | '"')) else {
                return self.wrong("a text in quotes is due after COMMENT");
            };
            let Some(end) = self.rest[1..].find(quote) else {
                return self.wrong("a comment is not closed");
            };
            self.rest = &self.rest[end + 2..];
        }
        Ok(())
    }

    fn data_type(&mut self, depth: usize) -> Result<DataType> {
        if depth > MAX_NESTING {
            return self.wrong("it is nested too deep");
        }
        let before = self.rest;
        let word = self.word().to_ascii_uppercase();
        Ok(match word.as_str() {
            "BOOLEAN" => DataType::Boolean,
            "TINYINT" | "BYTE" => DataType::Int8,
            "SMALLINT" | "SHORT" => DataType::Int16,
            "INT" | "INTEGER" => DataType::Int32,
            "BIGINT" | "LONG" => DataType::Int64,
            "FLOAT" | "REAL" => DataType::Float32,
            "DOUBLE" => DataType::Float64,
            "DECIMAL" | "DEC" | "NUMERIC" => self.decimal()?,
            "STRING" => DataType::Utf8,
            "BINARY" => DataType::Binary,
            "DATE" => DataType::Date32,
            "TIMESTAMP" | "TIMESTAMP_LTZ" => timestamp(true),
            "TIMESTAMP_NTZ" => timestamp(false),
            "ARRAY" => {
                self.expect('<')?;
                let element = self.data_type(depth + 1)?;
                self.expect('>')?;
                list_of(element)
            }
            "MAP" => {
                self.expect('<')?;
                let key = self.data_type(depth + 1)?;
                self.expect(',')?;
                let value = self.data_type(depth + 1)?;
                self.expect('>')?;
                map_of(key, value)
            }
            "STRUCT" => {
                self.expect('<')?;
                DataType::Struct(self.fields(Some('>'), depth + 1)?)
            }
            _ => {
                self.rest = before;
                return self.wrong("there is no such type");
            }
        })
    }

    fn decimal(&mut self) -> Result<DataType> {
        if !self.takes('(') {
            return decimal(self.option, 10, 0);
        }
        let precision = self.number()?;
        let scale = if self.takes(',') { self.number()? } else { 0 };
        self.expect(')')?;
        decimal(self.option, precision, scale)
    }

    fn number(&mut self) -> Result<u64> {
        match self.word().parse() {
            Ok(number) => Ok(number),
            Err(_) => self.wrong("a whole number is due"),
        }
    }
}

#[cfg(test)]
#[path = "ddl_tests.rs"]
mod tests;
