//! A planted bug: a `TxnOffsetCommit` of transaction version 1 is appended though the transaction coordinator was not
//! asked whether the transaction is open, as before KIP-890. It is planted around the request, by the option that turns
//! verifications off; the broker knows nothing of it.

use std::sync::atomic::{AtomicBool, Ordering};

use broker::{Broker, Options};
use protocol::ApiTable;

static IS_PLANTED: AtomicBool = AtomicBool::new(false);

/// Plants the bug in every broker of this process.
pub fn plant() {
    IS_PLANTED.store(true, Ordering::Relaxed);
}

/// Serves a request, without verifications if the bug is planted and concerns the request.
pub fn serve<T>(broker: &Broker, api_key: i16, serve: impl FnOnce() -> T) -> T {
    if api_key != ApiTable::TXN_OFFSET_COMMIT || !IS_PLANTED.load(Ordering::Relaxed) {
        return serve();
    }
    let options = broker.options();
    broker.set_options(Options {
        verifies_transactions: false,
        ..Options::clone(&options)
    });
    let served = serve();
    broker.set_options(Options::clone(&options));
    served
}
