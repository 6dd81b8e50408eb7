//! The grammar of `messages/**/*.txt`, and its reader.
//!
//! ```text
//! file      := message (blank-line message)*
//! message   := kind Name ["key" number] "versions" range "flexible" (range | "none")
//!              ["unstable" range] ["typed" range] ["on" listener ("/" listener)*] NL field* struct*
//! kind      := "request" | "response" | "header" | "data" | "coordinator-key" | "coordinator-value"
//! struct    := indent "struct" Name NL field*           a struct that more than one field has
//! field     := indent Name ["[]"] type [range] option* NL field*
//! type      := "bool" | "int8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "float64" | "error_code" | "uuid"
//!            | "string" | "bytes" | "records" | Name     a Name is a struct: of the fields below, or a `struct` line
//! option    := "tag" number | "nullable" [range] | "default" literal | "ignorable" | "key" | "plain"
//! literal   := "null" | "true" | "false" | number | '""'
//! range     := number | number "-" number | number "+"   versions, both ends included
//! ```
//! A line that begins with `#` is a remark. Every other line is one message, struct or field; what belongs to it is
//! four spaces deeper. A field without a range is in all versions, `nullable` without a range allows null in all of
//! them. Names, versions and defaults are Kafka's. `error_code` is an int16 on the wire. A field with a tag is a
//! tagged field in all its versions. `ignorable`: a value that is not the default may be left out where a version has
//! not the field. `key`: the array is a set by this field. `plain`: a length is never a varint, also in flexible
//! versions (the client id of a header). `unstable`: Kafka offers these versions only when it is told to. `typed`:
//! these versions have Rust types.

/// The last version of a range without an end.
pub const NO_END: i16 = i16::MAX;
/// The versions of a field that says none.
pub const EVERY: Range = Range { first: 0, last: NO_END };
const INDENT: usize = 4;

/// A range of versions, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub first: i16,
    pub last: i16,
}

/// One message.
#[derive(Debug)]
pub struct Message {
    pub kind: String,
    pub name: String,
    pub key: Option<i16>,
    pub versions: Range,
    pub flexible: Option<Range>,
    pub unstable: Option<Range>,
    pub typed: Option<Range>,
    pub listeners: Vec<String>,
    /// The first has the message's own fields.
    pub structs: Vec<Struct>,
}

/// The fields of a message or of a part of it.
#[derive(Debug)]
pub struct Struct {
    pub name: String,
    pub fields: Vec<Field>,
}

/// One field.
#[derive(Debug)]
pub struct Field {
    pub name: String,
    pub is_array: bool,
    pub kind: String,
    pub versions: Range,
    pub tag: Option<u32>,
    pub nullable: Option<Range>,
    pub default: Option<String>,
    /// Of "ignorable", "key" and "plain".
    pub flags: Vec<String>,
}

struct Line<'a> {
    number: usize,
    depth: usize,
    words: Vec<&'a str>,
}

/// The messages of a file; an error begins with the number of its line.
pub fn parse(text: &str) -> Result<Vec<Message>, String> {
    let mut lines = Vec::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty() && !line.trim_start().starts_with('#'))
    {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        let words: Vec<&str> = line.split_whitespace().collect();
        if spaces % INDENT != 0 || words.is_empty() || line.len() > 120 {
            return Err(format!("{}: a line of wrong indentation or length", number + 1));
        }
        lines.push(Line {
            number: number + 1,
            depth: spaces / INDENT,
            words,
        });
    }
    let mut rest = &lines[..];
    let mut messages = Vec::new();
    while let Some((head, below)) = rest.split_first() {
        let mut message = parse_head(head).map_err(|error| format!("{}: {error}", head.number))?;
        let end = below.iter().position(|line| line.depth == 0).unwrap_or(below.len());
        parse_fields(&below[..end], 1, 0, &mut message.structs)?;
        messages.push(message);
        rest = &below[end..];
    }
    Ok(messages)
}

/// Reads the lines of one struct, the one at `place`, and adds the structs that are written inside of it.
fn parse_fields(lines: &[Line<'_>], depth: usize, place: usize, structs: &mut Vec<Struct>) -> Result<(), String> {
    let mut rest = lines;
    while let Some((line, below)) = rest.split_first() {
        let fail = |error: String| format!("{}: {error}", line.number);
        if line.depth != depth {
            return Err(fail("a line is too deep".to_owned()));
        }
        let end = below.iter().position(|line| line.depth <= depth).unwrap_or(below.len());
        let part = if let ["struct", name] = line.words[..] {
            Some(name.to_owned())
        } else {
            let field = parse_field(&line.words).map_err(fail)?;
            let part = (end > 0).then(|| field.kind.clone());
            structs[place].fields.push(field);
            part
        };
        if let Some(name) = part {
            if structs.iter().any(|one| one.name == name) {
                return Err(fail(format!("there are two structs {name}")));
            }
            structs.push(Struct {
                name,
                fields: Vec::new(),
            });
            parse_fields(&below[..end], depth + 1, structs.len() - 1, structs)?;
        }
        rest = &below[end..];
    }
    Ok(())
}

fn parse_head(line: &Line<'_>) -> Result<Message, String> {
    let [kind, name, options @ ..] = &line.words[..] else {
        return Err("a message has a kind and a name".to_owned());
    };
    let mut message = Message {
        kind: (*kind).to_owned(),
        name: (*name).to_owned(),
        key: None,
        versions: Range { first: 0, last: -1 },
        flexible: None,
        unstable: None,
        typed: None,
        listeners: Vec::new(),
        structs: vec![Struct {
            name: (*name).to_owned(),
            fields: Vec::new(),
        }],
    };
    for pair in options.chunks(2) {
        match pair {
            ["key", number] => message.key = Some(parse_number(number)?),
            ["versions", range] => message.versions = parse_range(range)?,
            ["flexible", "none"] => message.flexible = None,
            ["flexible", range] => message.flexible = Some(parse_range(range)?),
            ["unstable", range] => message.unstable = Some(parse_range(range)?),
            ["typed", range] => message.typed = Some(parse_range(range)?),
            ["on", listeners] => message.listeners = listeners.split('/').map(str::to_owned).collect(),
            _ => return Err(format!("a message has no {pair:?}")),
        }
    }
    Ok(message)
}

fn parse_field(words: &[&str]) -> Result<Field, String> {
    let [name, kind, options @ ..] = words else {
        return Err("a field has a name and a type".to_owned());
    };
    let mut field = Field {
        name: (*name).to_owned(),
        is_array: kind.starts_with("[]"),
        kind: kind.trim_start_matches("[]").to_owned(),
        versions: EVERY,
        tag: None,
        nullable: None,
        default: None,
        flags: Vec::new(),
    };
    let mut rest = options;
    if let Some((first, after)) = rest.split_first()
        && first.starts_with(|c: char| c.is_ascii_digit())
    {
        field.versions = parse_range(first)?;
        rest = after;
    }
    while let Some((option, after)) = rest.split_first() {
        rest = after;
        match (*option, rest) {
            ("tag", [number, after @ ..]) => {
                field.tag = Some(number.parse().map_err(|_| format!("{number} is no tag"))?);
                rest = after;
            }
            ("nullable", [range, after @ ..]) if range.starts_with(|c: char| c.is_ascii_digit()) => {
                field.nullable = Some(parse_range(range)?);
                rest = after;
            }
            ("nullable", _) => field.nullable = Some(EVERY),
            ("default", [literal, after @ ..]) => {
                field.default = Some((*literal).to_owned());
                rest = after;
            }
            ("ignorable" | "key" | "plain", _) => field.flags.push((*option).to_owned()),
            _ => return Err(format!("a field has no option {option}")),
        }
    }
    Ok(field)
}

fn parse_range(text: &str) -> Result<Range, String> {
    let (first, last) = match (text.strip_suffix('+'), text.split_once('-')) {
        (Some(first), _) => (parse_number(first)?, NO_END),
        (None, Some((first, last))) => (parse_number(first)?, parse_number(last)?),
        (None, None) => (parse_number(text)?, parse_number(text)?),
    };
    if first > last {
        return Err(format!("{text} is an empty range"));
    }
    Ok(Range { first, last })
}

fn parse_number(text: &str) -> Result<i16, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}
