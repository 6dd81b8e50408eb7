//! The APIs that the data plane serves. All others are served by the connection itself (`ApiVersions`, SASL) or by the
//! control plane.

use std::sync::Arc;

use broker::{AdoptSegments, Api, Broker, Fetch, ListOffsets, Metadata, Produce, ServedApis};
use coordinator::Coordinators;
use coordinator::transactions::CoordinatorVerifier;

/// Gives a broker its APIs, and the way to its transaction coordinator. Returns what it coordinates.
pub fn serve_all(broker: &Broker) -> Arc<Coordinators> {
    let coordinators = Arc::<Coordinators>::default();
    let own: [Arc<dyn Api>; 5] = [
        Arc::new(Produce),
        Arc::new(Fetch),
        Arc::new(ListOffsets),
        Arc::new(Metadata),
        Arc::new(AdoptSegments),
    ];
    let apis = ServedApis::new(own.into_iter().chain(coordinator::apis(&coordinators)));
    // the first engine of a broker is its only one
    let _ = broker.served().set(apis);
    let verifier = CoordinatorVerifier(Arc::clone(&coordinators));
    let _ = broker.verifier().set(Box::new(verifier));
    coordinators
}

#[cfg(test)]
#[path = "apis_tests.rs"]
mod tests;
