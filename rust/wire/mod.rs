//! `wire`.
