//! `index`.
