//! The threads of the data plane that wait on the disk, their guard, and the queue of events to the control plane.

pub mod events;
pub mod flusher;
pub mod guard;
pub mod materialiser;
pub mod mover;
pub mod pools;
pub mod reaper;
pub mod workers;
