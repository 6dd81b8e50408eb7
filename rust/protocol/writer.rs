//! Appends Kafka's primitives to a growing buffer, in either encoding. Writing never fails: a string above 32767 bytes
//! is cut at a character boundary, since only the broker's own messages can be that long.

use super::codec::put;
use super::topic::NodeEndpoint;

/// A response being written; bytes already in the buffer stay.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    flexible: bool,
}

impl<'a> Writer<'a> {
    /// Appends to `out`; `flexible` picks the encoding.
    pub fn new(out: &'a mut Vec<u8>, flexible: bool) -> Self {
        Self { out, flexible }
    }

    /// The buffer.
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Reserves room for the bytes that follow.
    pub fn reserve(&mut self, bytes: usize) {
        self.out.reserve(bytes);
    }

    /// Bytes as they are.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// A boolean.
    pub fn boolean(&mut self, value: bool) {
        self.out.push(u8::from(value));
    }

    /// An int8.
    #[inline]
    pub fn i8(&mut self, value: i8) {
        self.raw(&value.to_be_bytes());
    }

    /// An int16.
    #[inline]
    pub fn i16(&mut self, value: i16) {
        self.raw(&value.to_be_bytes());
    }

    /// An int32.
    #[inline]
    pub fn i32(&mut self, value: i32) {
        self.raw(&value.to_be_bytes());
    }

    /// An int64.
    #[inline]
    pub fn i64(&mut self, value: i64) {
        self.raw(&value.to_be_bytes());
    }

    /// An unsigned varint.
    #[inline]
    pub fn unsigned_varint(&mut self, value: u32) {
        put::varint(self.out, value);
    }

    /// The length of bytes or the count of an array; `None` is null.
    #[inline]
    pub fn length(&mut self, length: Option<usize>) {
        put::length(self.out, length, self.flexible, false);
    }

    /// A string.
    #[inline]
    pub fn string(&mut self, text: &str) {
        self.string_bytes(put::cut(text).as_bytes());
    }

    /// A string whose bytes are known to be UTF-8 and at most 32767 (a name out of the request).
    #[inline]
    pub fn string_bytes(&mut self, text: &[u8]) {
        put::length(self.out, Some(text.len()), self.flexible, true);
        self.raw(text);
    }

    /// A nullable string.
    #[inline]
    pub fn nullable_string(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.string(text),
            None => put::length(self.out, None, self.flexible, true),
        }
    }

    /// Bytes or records.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.length(Some(bytes.len()));
        self.raw(bytes);
    }

    /// An array of int32.
    pub fn i32_array(&mut self, values: &[i32]) {
        self.length(Some(values.len()));
        self.out.reserve(values.len() * 4);
        for value in values {
            self.i32(*value);
        }
    }

    /// An empty tagged-field section; nothing in the older encoding.
    #[inline]
    pub fn no_tags(&mut self) {
        if self.flexible {
            self.out.push(0);
        }
    }

    /// The number of tagged fields that follow, each by [`Writer::tag`]; nothing in the older encoding.
    pub fn tag_count(&mut self, count: usize) {
        if self.flexible {
            self.unsigned_varint(count as u32);
        }
    }

    /// One tagged field; its size is put before the content that `content` writes.
    pub fn tag(&mut self, tag: u32, content: impl FnOnce(&mut Writer<'_>)) {
        self.unsigned_varint(tag);
        let start = self.out.len();
        content(&mut Writer {
            out: self.out,
            flexible: self.flexible,
        });
        let end = self.out.len();
        self.unsigned_varint((end - start) as u32);
        let size_bytes = self.out.len() - end;
        if let Some(field) = self.out.get_mut(start..) {
            field.rotate_right(size_bytes);
        }
    }

    /// The last section of a Produce or Fetch response: node endpoints as tag 0 when there are any.
    pub fn node_endpoints(&mut self, endpoints: &[NodeEndpoint<'_>]) {
        if endpoints.is_empty() {
            return self.no_tags();
        }
        self.tag_count(1);
        self.tag(0, |w| {
            w.length(Some(endpoints.len()));
            for endpoint in endpoints {
                w.i32(endpoint.node_id);
                w.string(endpoint.host);
                w.i32(endpoint.port);
                w.nullable_string(endpoint.rack);
                w.no_tags();
            }
        });
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
