//! Reuse of column memory: buffers that were given away as Arrow are reused once their batch is dropped.
//!
//! Fresh pages cost more than the copy into them. The pool never waits for a batch: a buffer that is still in use is
//! left alone, and a fresh buffer is made.

use std::collections::VecDeque;

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};

/// Buffers that were given away, and are reused once the pool alone holds them.
#[derive(Debug)]
pub(super) struct Pool {
    given: VecDeque<Buffer>,
    most: usize,
}

impl Pool {
    pub(super) const fn new(most: usize) -> Self {
        Self {
            given: VecDeque::new(),
            most,
        }
    }

    /// A used vector with its old values, or an empty vector with room for `capacity` values.
    pub(super) fn take<T: ArrowNativeType>(&mut self, capacity: usize) -> Vec<T> {
        // The buffer that was given away last is the most likely to be still in a cache.
        let free = self.given.iter().rposition(|buffer| buffer.strong_count() == 1);
        if let Some(buffer) = free.and_then(|at| self.given.remove(at))
            && let Ok(values) = buffer.into_vec()
        {
            return values;
        }
        Vec::with_capacity(capacity)
    }

    pub(super) fn give<T: ArrowNativeType>(&mut self, values: Vec<T>) -> Buffer {
        let buffer = Buffer::from_vec(values);
        while self.given.len() >= self.most && self.given.pop_front().is_some() {}
        self.given.push_back(buffer.clone());
        buffer
    }
}

/// Fixed-width values.
#[derive(Debug)]
pub(super) struct Numbers<T> {
    pub(super) values: Vec<T>,
    pool: Pool,
}

impl<T: ArrowNativeType> Numbers<T> {
    pub(super) fn new(pooled: usize) -> Self {
        Self {
            values: Vec::new(),
            pool: Pool::new(pooled),
        }
    }

    pub(super) fn start(&mut self, rows: usize) {
        if self.values.capacity() == 0 {
            self.values = self.pool.take(rows);
            self.values.clear();
        }
    }

    pub(super) fn finish(&mut self) -> ScalarBuffer<T> {
        ScalarBuffer::from(self.pool.give(std::mem::take(&mut self.values)))
    }
}
