//! What a layer above keeps with a broker: the state of the coordinators, which the data plane's APIs reach through
//! their broker.
//!
//! The layer below cannot name the type. Made when it is first asked for. Never: looks into it.

use std::any::Any;
use std::sync::OnceLock;

/// A place for one value, of one type.
#[derive(Default)]
pub struct Attached(OnceLock<Box<dyn Any + Send + Sync>>);

impl Attached {
    /// The value; its default when there is none yet.
    #[expect(clippy::expect_used, reason = "one module asks, for one type")]
    pub fn get<T: Any + Default + Send + Sync>(&self) -> &T {
        let value = self.0.get_or_init(|| Box::new(T::default()));
        value.downcast_ref().expect("a broker has one kind of coordinators")
    }
}
