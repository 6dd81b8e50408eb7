//! `broker`.
