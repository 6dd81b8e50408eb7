//! The Rust types of the messages that the table calls typed: one struct for each struct of the table, with a reader
//! and a writer of the typed versions.
//!
//! Strings and bytes are borrowed from what is read. A field that no typed version has is left out of its struct.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::emit::snake;
use super::grammar::{Field, Message, Range, Struct};

/// The text of `typed.rs`: a module for each file of the table that has typed messages.
pub fn modules(messages: &[(String, Message)]) -> String {
    let mut by_module: BTreeMap<&str, Vec<Typed<'_>>> = BTreeMap::new();
    for (module, message) in messages {
        if let Some(versions) = message.typed {
            by_module.entry(module).or_default().push(Typed { message, versions });
        }
    }
    let mut out = String::new();
    for (module, messages) in by_module {
        let _ = writeln!(out, "pub mod {module} {{\n    use super::*;\n");
        for typed in messages {
            for (place, one) in typed.message.structs.iter().enumerate() {
                typed.put_struct(&mut out, one, place == 0);
            }
        }
        let _ = writeln!(out, "}}\n");
    }
    put_again(&mut out, messages);
    out
}

/// A function for tests: a body that is read and written again.
fn put_again(out: &mut String, messages: &[(String, Message)]) {
    let _ = writeln!(
        out,
        "#[cfg(test)]\npub fn again(name: &str, version: i16, body: &[u8]) -> Option<Result<Vec<u8>>> {{"
    );
    let _ = writeln!(out, "    match name {{");
    for (module, message) in messages.iter().filter(|(_, message)| message.typed.is_some()) {
        let name = &message.name;
        let _ = writeln!(
            out,
            "        {name:?} => super::round::<{module}::{name}>(version, body),"
        );
    }
    let _ = writeln!(out, "        _ => None,\n    }}\n}}");
}

struct Typed<'a> {
    message: &'a Message,
    versions: Range,
}

impl Typed<'_> {
    fn part(&self, kind: &str) -> Option<&Struct> {
        self.message.structs.iter().find(|one| one.name == kind)
    }

    fn fields<'s>(&self, one: &'s Struct) -> Vec<&'s Field> {
        let in_use = |field: &&Field| overlaps(field.versions, self.versions);
        one.fields.iter().filter(in_use).collect()
    }

    fn put_struct(&self, out: &mut String, one: &Struct, is_message: bool) {
        let borrows = self.borrows(one);
        let (name, lifetime) = (&one.name, if borrows { "<'a>" } else { "" });
        let message = &self.message.name;
        let _ = writeln!(out, "/// See `{message}` in the table of messages.");
        let _ = writeln!(
            out,
            "#[derive(Debug, Clone, PartialEq, Eq)]\npub struct {name}{lifetime} {{"
        );
        for field in self.fields(one) {
            let _ = writeln!(out, "    pub {}: {},", snake(&field.name), self.type_of(field));
        }
        let _ = writeln!(
            out,
            "}}\nimpl Default for {name}{} {{",
            if borrows { "<'_>" } else { "" }
        );
        let _ = writeln!(out, "    fn default() -> Self {{ Self {{");
        for field in self.fields(one) {
            let _ = writeln!(out, "        {}: {},", snake(&field.name), self.default_of(field));
        }
        let _ = writeln!(out, "    }} }}\n}}");
        let _ = writeln!(out, "impl<'a> Part<'a> for {name}{lifetime} {{");
        self.put_reader(out, one);
        self.put_writer(out, one);
        let _ = writeln!(out, "}}");
        if is_message {
            let Range { first, last } = self.versions;
            let flexible = self.message.flexible.map_or(i16::MAX, |range| range.first);
            let _ = writeln!(
                out,
                "impl<'a> Message<'a> for {name}{lifetime} {{\n    const KEY: i16 = {};\n    const IS_REQUEST: bool = \
                 {};\n    const FIRST_VERSION: i16 = {first};\n    const LAST_VERSION: i16 = {last};\n    const \
                 FLEXIBLE_FROM: i16 = {flexible};\n}}",
                self.message.key.unwrap_or(-1),
                self.message.kind == "request",
            );
        }
    }

    fn put_reader(&self, out: &mut String, one: &Struct) {
        let _ = writeln!(
            out,
            "    fn read(r: &mut Reader<'a>, version: i16) -> Result<Self> {{ let _ = version;"
        );
        let _ = writeln!(out, "        let mut it = Self::default();");
        for field in self.fields(one).into_iter().filter(|field| field.tag.is_none()) {
            let (name, read) = (snake(&field.name), self.read_of(field));
            let _ = writeln!(
                out,
                "        {}{{ it.{name} = {read}; }}",
                self.condition(field.versions)
            );
        }
        let tagged = self.tagged(one);
        if tagged.is_empty() {
            let _ = writeln!(out, "        r.skip_tags()?;");
        } else {
            let _ = writeln!(out, "        r.tags(|tag, r| {{ match tag {{");
            for field in &tagged {
                let tag = field.tag.unwrap_or_default();
                let (name, read) = (snake(&field.name), self.read_of(field));
                let guard = self
                    .guard(field.versions)
                    .map_or(String::new(), |guard| format!(" if {guard}"));
                let _ = writeln!(out, "            {tag}{guard} => it.{name} = {read},");
            }
            let _ = writeln!(out, "            _ => return Ok(false), }}\n            Ok(true) }})?;");
        }
        let _ = writeln!(out, "        Ok(it)\n    }}");
    }

    fn put_writer(&self, out: &mut String, one: &Struct) {
        let _ = writeln!(
            out,
            "    fn write(&self, w: &mut Writer<'_>, version: i16) {{ let _ = version;"
        );
        for field in self.fields(one).into_iter().filter(|field| field.tag.is_none()) {
            let _ = writeln!(
                out,
                "        {}{{ {} }}",
                self.condition(field.versions),
                self.write_of(field)
            );
        }
        let tagged = self.tagged(one);
        if tagged.is_empty() {
            let _ = writeln!(out, "        w.no_tags();");
        } else {
            let _ = writeln!(out, "        let mut count = 0;");
            let is_there = |field: &Field| {
                let guard = self
                    .guard(field.versions)
                    .map_or(String::new(), |guard| format!("{guard} && "));
                format!("{guard}self.{} != {}", snake(&field.name), self.default_of(field))
            };
            for field in &tagged {
                let _ = writeln!(out, "        if {} {{ count += 1; }}", is_there(field));
            }
            let _ = writeln!(out, "        w.tag_count(count);");
            for field in &tagged {
                let (tag, write) = (field.tag.unwrap_or_default(), self.write_of(field));
                let _ = writeln!(
                    out,
                    "        if {} {{ w.tag({tag}, |w| {{ {write} }}); }}",
                    is_there(field)
                );
            }
        }
        let _ = writeln!(out, "    }}");
    }

    /// The fields with a tag, by tag.
    fn tagged<'s>(&self, one: &'s Struct) -> Vec<&'s Field> {
        let mut tagged = self.fields(one);
        tagged.retain(|field| field.tag.is_some());
        tagged.sort_by_key(|field| field.tag);
        tagged
    }

    /// What tells a version that has the field from those that have not; `None` when all typed versions have it.
    fn guard(&self, range: Range) -> Option<String> {
        let (first, last) = (range.first > self.versions.first, range.last < self.versions.last);
        match (first, last) {
            (false, false) => None,
            (true, false) => Some(format!("version >= {}", range.first)),
            (false, true) => Some(format!("version <= {}", range.last)),
            (true, true) => Some(format!("({}..={}).contains(&version)", range.first, range.last)),
        }
    }

    fn condition(&self, range: Range) -> String {
        self.guard(range).map_or(String::new(), |guard| format!("if {guard} "))
    }

    fn borrows(&self, one: &Struct) -> bool {
        self.fields(one).iter().any(|field| match &*field.kind {
            "string" | "bytes" | "records" => true,
            kind => self.part(kind).is_some_and(|part| self.borrows(part)),
        })
    }

    fn element_type(&self, field: &Field) -> String {
        match &*field.kind {
            "bool" => "bool".to_owned(),
            "int8" => "i8".to_owned(),
            "int16" => "i16".to_owned(),
            "int32" => "i32".to_owned(),
            "int64" => "i64".to_owned(),
            "error_code" => "ErrorCode".to_owned(),
            "uuid" => "TopicId".to_owned(),
            "string" => "&'a str".to_owned(),
            "bytes" | "records" => "&'a [u8]".to_owned(),
            kind if self.part(kind).is_some_and(|part| self.borrows(part)) => format!("{kind}<'a>"),
            kind => kind.to_owned(),
        }
    }

    /// Whether the field is optional: in some typed version it may be null.
    fn is_option(&self, field: &Field) -> bool {
        field.nullable.is_some_and(|range| overlaps(range, self.versions))
    }

    fn type_of(&self, field: &Field) -> String {
        let element = self.element_type(field);
        let whole = if field.is_array {
            format!("Vec<{element}>")
        } else {
            element
        };
        if self.is_option(field) {
            format!("Option<{whole}>")
        } else {
            whole
        }
    }

    fn default_of(&self, field: &Field) -> String {
        let is_null = field.default.as_deref() == Some("null") || field.kind == "records";
        if self.is_option(field) && is_null {
            return "None".to_owned();
        }
        let value = match (&*field.kind, field.default.as_deref()) {
            _ if field.is_array => "Vec::new()".to_owned(),
            ("bool", default) => (default == Some("true")).to_string(),
            ("string", _) => "\"\"".to_owned(),
            ("bytes" | "records", _) => "&[]".to_owned(),
            ("uuid", _) => "[0; 16]".to_owned(),
            ("error_code", _) => "ErrorCode::NONE".to_owned(),
            (kind, _) if self.part(kind).is_some() => format!("{kind}::default()"),
            (_, default) => default.unwrap_or("0").to_owned(),
        };
        if self.is_option(field) {
            format!("Some({value})")
        } else {
            value
        }
    }

    fn read_of(&self, field: &Field) -> String {
        let read = match &*field.kind {
            "bool" => "r.boolean()?",
            "int8" => "r.i8()?",
            "int16" => "r.i16()?",
            "int32" => "r.i32()?",
            "int64" => "r.i64()?",
            "error_code" => "ErrorCode(r.i16()?)",
            "uuid" => "r.uuid()?",
            "string" => "r.str()?",
            "bytes" | "records" => "r.bytes()?",
            _ => "Part::read(r, version)?",
        };
        let is_option = self.is_option(field);
        if field.is_array {
            let least = self.least_bytes(&field.kind);
            let many = format!("many(r, count, |r| Ok({read}))?");
            return if is_option {
                format!("match r.nullable_elements({least})? {{ Some(count) => Some({many}), None => None }}")
            } else {
                format!("{{ let count = r.elements({least})?; {many} }}")
            };
        }
        if !is_option {
            return read.to_owned();
        }
        match &*field.kind {
            "string" => "r.nullable_str()?".to_owned(),
            "bytes" | "records" => "r.nullable_slice()?".to_owned(),
            _ => format!("if r.is_there()? {{ Some({read}) }} else {{ None }}"),
        }
    }

    fn write_of(&self, field: &Field) -> String {
        let name = snake(&field.name);
        let element = |value: &str| match &*field.kind {
            "bool" => format!("w.boolean(*{value});"),
            "int8" => format!("w.i8(*{value});"),
            "int16" => format!("w.i16(*{value});"),
            "int32" => format!("w.i32(*{value});"),
            "int64" => format!("w.i64(*{value});"),
            "error_code" => format!("w.i16({value}.0);"),
            "uuid" => format!("w.raw({value});"),
            "string" => format!("w.string({value});"),
            "bytes" | "records" => format!("w.bytes({value});"),
            _ => format!("{value}.write(w, version);"),
        };
        let array = |value: &str| {
            let one = element("one");
            format!("w.length(Some({value}.len())); for one in {value} {{ {one} }}")
        };
        let is_part = self.part(&field.kind).is_some();
        let null = match &*field.kind {
            _ if field.is_array => "w.length(None);",
            "string" => "w.nullable_string(None);",
            "bytes" | "records" => "w.length(None);",
            _ => "w.i8(-1);",
        };
        let there = match (field.is_array, is_part) {
            (true, _) => array("value"),
            (false, true) => format!("w.i8(1); {}", element("value")),
            (false, false) => element("value"),
        };
        if self.is_option(field) {
            format!("match &self.{name} {{ Some(value) => {{ {there} }} None => {{ {null} }} }}")
        } else {
            let put = if field.is_array {
                array("value")
            } else {
                element("value")
            };
            format!("let value = &self.{name}; {put}")
        }
    }

    /// The fewest bytes that an element takes in any typed version.
    fn least_bytes(&self, kind: &str) -> usize {
        match kind {
            "int16" | "error_code" => 2,
            "int32" => 4,
            "int64" => 8,
            "uuid" => 16,
            "bool" | "int8" => 1,
            "string" => 1 + usize::from(self.is_never_flexible()),
            "bytes" | "records" => 1 + 3 * usize::from(self.is_never_flexible()),
            kind => self.part(kind).map_or(1, |part| self.least_of(part)),
        }
    }

    fn least_of(&self, one: &Struct) -> usize {
        let always = |field: &&&Field| field.tag.is_none() && self.guard(field.versions).is_none();
        let fields = self.fields(one);
        let bytes = fields.iter().filter(always).map(|field| match &*field.kind {
            _ if field.is_array => 1 + 3 * usize::from(self.is_never_flexible()),
            kind if self.part(kind).is_some() && self.is_option(field) => 1,
            kind => self.least_bytes(kind),
        });
        bytes.sum::<usize>().max(1)
    }

    fn is_never_flexible(&self) -> bool {
        self.message
            .flexible
            .is_none_or(|range| !overlaps(range, self.versions))
    }
}

fn overlaps(one: Range, other: Range) -> bool {
    one.first <= other.last && other.first <= one.last
}
