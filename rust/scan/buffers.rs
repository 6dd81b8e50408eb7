//! Column memory that comes back: buffers given away as Arrow are taken again once their batch is dropped.
//!
//! Fresh pages cost more than the copy into them. It never waits for a batch: what is still held is left alone, and a
//! fresh buffer made.

use std::collections::VecDeque;

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};

/// Buffers given away, taken back once nobody else holds them.
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

    /// A vector of before, with its values, or an empty one with room for `capacity` values.
    pub(super) fn take<T: ArrowNativeType>(&mut self, capacity: usize) -> Vec<T> {
        // The one given last is the likeliest to be in a cache still.
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
