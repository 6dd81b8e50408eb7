//! The state that a layer above attaches to a broker: that of the coordinators, which the data plane's APIs reach
//! through their broker.
//!
//! This layer cannot name the state's type and never reads the state. The state is created on its first use.

use std::any::Any;
use std::sync::OnceLock;

/// A place for one value, of one type.
#[derive(Default)]
pub struct Attached(OnceLock<Box<dyn Any + Send + Sync>>);

impl Attached {
    /// Returns the value. The first call creates it with its default.
    #[expect(clippy::expect_used, reason = "one module asks, for one type")]
    pub fn get<T: Any + Default + Send + Sync>(&self) -> &T {
        let value = self.0.get_or_init(|| Box::new(T::default()));
        value.downcast_ref().expect("a broker has one kind of coordinators")
    }
}
