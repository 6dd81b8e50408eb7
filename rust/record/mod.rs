//! `record`.
