//! The authorizer's state in the broker.

use std::collections::HashSet;
use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};

use crate::lines::LineLimit;
use crate::published::acls::{AclPattern, Acls};

/// The ACLs, and how many refusals were logged lately.
#[derive(Default)]
pub struct Authorizer {
    acls: ArcSwapOption<Acls>,
    line_limit: LineLimit,
}

impl Authorizer {
    /// Decides from now on, without any ACL.
    pub fn begin(&self, super_users: HashSet<String>, allows_everyone: bool) {
        self.acls.store(Some(Arc::new(Acls::new(super_users, allows_everyone))));
    }

    /// See [`Acls::with`]. Without an authorizer nothing happens. Called by one thread.
    pub fn publish(&self, changed: Vec<AclPattern>, is_whole: bool) {
        if let Some(acls) = &*self.acls.load() {
            self.acls.store(Some(Arc::new(acls.with(changed, is_whole))));
        }
    }

    pub(super) fn load(&self) -> Guard<Option<Arc<Acls>>> {
        self.acls.load()
    }

    pub(super) fn line_limit(&self) -> &LineLimit {
        &self.line_limit
    }
}
