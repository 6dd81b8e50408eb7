//! The receiving side of a connection: bytes into frames, `size:i32 frame`.
//!
//! Whole frames are served out of the loop's shared buffer where they arrived; only the rest of a frame is kept here. A
//! frame larger than the shared buffer is received straight into its own buffer: a pooled buffer for a frame of
//! ordinary size, else a buffer that grows with the bytes that arrive and never by the size that the frame claims. The
//! content of a frame is never read here.

use std::io;
use std::os::fd::AsFd;

use super::transport::Transport;

/// The least that a frame's buffer grows by.
const GROW_BYTES: usize = 64 << 10;
/// A frame up to this size gets its buffer at once: memory that is reserved but not written costs nothing yet.
const WHOLE_BYTES: usize = 2 << 20;
/// A frame larger than this may keep its buffer.
const OWN_BYTES: usize = 4 << 20;
/// Buffers kept by a loop for the next large frames.
const POOLED: usize = 8;
/// Bytes of the size prefix.
pub const SIZE_BYTES: usize = 4;

/// What some bytes begin with.
#[derive(Debug, PartialEq, Eq)]
pub enum Front {
    /// A whole frame of so many bytes after its size prefix.
    Frame(usize),
    /// No whole frame yet; so many bytes in all are needed, as far as is known.
    Partial(usize),
    /// A size that no request can have; the connection is closed.
    Bad(i32),
}

/// Looks at the front of `bytes`.
pub fn front(bytes: &[u8], max_bytes: usize) -> Front {
    let Some(prefix) = bytes.first_chunk::<SIZE_BYTES>() else {
        return Front::Partial(SIZE_BYTES);
    };
    let size = i32::from_be_bytes(*prefix);
    match usize::try_from(size) {
        Ok(len) if len > 0 && len <= max_bytes => {
            if bytes.len() >= SIZE_BYTES + len {
                Front::Frame(len)
            } else {
                Front::Partial(SIZE_BYTES + len)
            }
        }
        _ => Front::Bad(size),
    }
}

/// Whether the bytes are one whole frame and nothing else, too large for the pool: the frame may keep its buffer while
/// it is served.
pub fn is_one_large_frame(bytes: &[u8], max_bytes: usize) -> bool {
    bytes.len() > OWN_BYTES && is_one_frame(bytes, max_bytes)
}

/// Whether the bytes are one whole frame and nothing else.
pub fn is_one_frame(bytes: &[u8], max_bytes: usize) -> bool {
    matches!(front(bytes, max_bytes), Front::Frame(len) if bytes.len() == SIZE_BYTES + len)
}

/// The size of the frame that `bytes` begin, with its size prefix; the prefix alone when it has not arrived whole.
pub fn frame_bytes(bytes: &[u8]) -> usize {
    let size = bytes
        .first_chunk::<SIZE_BYTES>()
        .map_or(0, |size| i32::from_be_bytes(*size));
    SIZE_BYTES + usize::try_from(size).unwrap_or(0)
}

/// Buffers of large frames, kept by a loop: fresh memory costs more than all else that is done to a frame.
#[derive(Default)]
pub struct BufferPool {
    free: Vec<Vec<u8>>,
}

impl BufferPool {
    /// An empty buffer, an old one when there is one.
    fn take(&mut self) -> Vec<u8> {
        self.free.pop().unwrap_or_default()
    }

    /// Keeps a buffer, unless it is large or there are enough.
    fn put(&mut self, mut buffer: Vec<u8>) {
        if self.free.len() < POOLED && buffer.capacity() > 0 && buffer.capacity() <= WHOLE_BYTES + SIZE_BYTES {
            buffer.clear();
            self.free.push(buffer);
        }
    }
}

/// Bytes received and not yet served.
#[derive(Default)]
pub struct Input {
    kept: Vec<u8>,
    /// The length that `kept` must reach before its front is looked at again; 0 when it can be looked at now.
    needed: usize,
}

impl Input {
    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Bytes of memory that are written: bytes that a frame announces cost nothing before they arrive.
    pub fn held_bytes(&self) -> usize {
        self.kept.len()
    }

    /// The kept bytes.
    pub fn held(&self) -> &[u8] {
        &self.kept
    }

    /// Whether the kept bytes are to be looked at; not while a frame is known to be incomplete.
    pub fn may_be_served(&self) -> bool {
        !self.kept.is_empty() && self.kept.len() >= self.needed
    }

    /// Takes the kept bytes out; [`Input::keep`] puts them back.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.kept)
    }

    /// Keeps the bytes of `buffer` from `from` on, or gives the buffer to the pool when none are left. `needed` is the
    /// size of the frame that they begin, as far as known.
    pub fn keep(&mut self, mut buffer: Vec<u8>, from: usize, needed: usize, pool: &mut BufferPool) {
        if from >= buffer.len() {
            pool.put(buffer);
        } else {
            buffer.drain(..from);
            self.kept = buffer;
            self.needed = needed;
        }
    }

    /// Keeps a copy of bytes that arrived in the shared buffer; `needed` as for [`Input::keep`].
    pub fn keep_copy(&mut self, bytes: &[u8], needed: usize, pool: &mut BufferPool) {
        self.kept = pool.take();
        self.needed = needed;
        let whole = if needed <= WHOLE_BYTES + SIZE_BYTES {
            needed
        } else {
            bytes.len() + GROW_BYTES
        };
        self.kept.reserve_exact(whole.max(bytes.len()));
        self.kept.extend_from_slice(bytes);
    }

    /// As [`Input::keep_copy`], for a frame that keeps its buffer while it is served: the buffer is not pooled. It
    /// grows with the bytes that arrive and is not reserved at once: the allocator reuses memory, so reserved memory
    /// has soon been written by an earlier user.
    pub fn keep_own_copy(&mut self, bytes: &[u8], needed: usize) {
        self.needed = needed;
        self.kept = Vec::with_capacity(needed.min(GROW_BYTES).max(bytes.len()));
        self.kept.extend_from_slice(bytes);
    }

    /// Receives more of the frame that is arriving. Returns the bytes received; `Ok(0)` is the end of the stream.
    pub fn receive<S: AsFd>(&mut self, transport: &mut Transport<S>) -> io::Result<usize> {
        let missing = self.needed.saturating_sub(self.kept.len());
        if self.kept.capacity() == self.kept.len() {
            self.kept.reserve_exact(missing.min(GROW_BYTES.max(self.kept.len())));
        }
        // The spare room may be larger than what is missing: then the next frame's first bytes come along.
        transport.receive_behind(&mut self.kept)
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
