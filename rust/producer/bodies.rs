//! Bodies of requests and answers, over the fields of [`wire`](protocol).
//!
//! A request of a version with tagged fields (KIP-482) has one more byte in its header, an empty section of tags, which
//! stands before the body; so has the header of its answer. The connection knows only the older header, so that byte
//! counts as the body's first here.

use client::Malformed;
use protocol::{Reader, WireError, Writer};

/// Whether a version of an API has tagged fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    Tagged,
}

impl Encoding {
    /// The body of a request.
    pub(super) fn write(self, content: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut body = Vec::new();
        let mut writer = Writer::new(&mut body, self == Self::Tagged);
        writer.no_tags();
        content(&mut writer);
        writer.no_tags();
        body
    }

    /// Reads the body of an answer.
    pub(super) fn read<'a, T>(
        self,
        answer: &'a [u8],
        content: impl FnOnce(&mut Reader<'a>) -> Result<T, WireError>,
    ) -> Result<T, Malformed> {
        let mut reader = Reader::new(answer, self == Self::Tagged);
        let read = reader.skip_tags().and_then(|()| content(&mut reader));
        read.map_err(|_| Malformed)
    }
}
