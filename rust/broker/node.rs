//! [`Node`]: what the parts of a broker share: who it is, its file system and clock, its options, the partitions that
//! it hosts, its counters, and its way to the control plane.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::lines::{LineLimit, printable};
use crate::metrics::Metrics;
use crate::published::options::Options;
use crate::published::registry::Registry;
use crate::threads::events::{Event, EventQueue};
use storage::LogContext;

/// Characters of a log line that clients cause.
const LOG_LINE_CHARS: usize = 400;

/// See the module.
pub struct Node {
    id: i32,
    cluster_id: ArcSwap<String>,
    context: Arc<LogContext>,
    events: Arc<EventQueue>,
    options: ArcSwap<Options>,
    registry: Registry,
    metrics: Metrics,
    line_limit: LineLimit,
}

impl Node {
    /// A node that hosts nothing yet.
    pub fn new(
        id: i32,
        cluster_id: String,
        options: Options,
        context: Arc<LogContext>,
        events: Arc<EventQueue>,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            cluster_id: ArcSwap::from_pointee(cluster_id),
            context,
            events,
            options: ArcSwap::from_pointee(options),
            registry: Registry::default(),
            metrics: Metrics::default(),
            line_limit: LineLimit::default(),
        })
    }

    /// The node id.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// The cluster's id. When none was given at the start, it is empty until it is read from the log directories.
    pub fn cluster_id(&self) -> String {
        String::clone(&self.cluster_id.load())
    }

    pub(crate) fn set_cluster_id(&self, id: &str) {
        self.cluster_id.store(Arc::new(id.to_owned()));
    }

    /// File system and clock for logs.
    pub fn context(&self) -> &Arc<LogContext> {
        &self.context
    }

    /// The events that the control plane takes.
    pub fn events(&self) -> &Arc<EventQueue> {
        &self.events
    }

    /// The options now.
    pub fn options(&self) -> Arc<Options> {
        self.options.load_full()
    }

    /// Replaces the options.
    pub fn set_options(&self, options: Options) {
        self.options.store(Arc::new(options));
    }

    /// Hosted partitions.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Counters.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Sends a line to the control plane's log, unless this second has had too many lines. A long line is cut and
    /// control characters are escaped, since a line may contain text of clients.
    pub fn log(&self, line: &str) {
        let line = printable(line, LOG_LINE_CHARS);
        let Some(left_out) = self.line_limit.next_line() else {
            return;
        };
        if left_out > 0 {
            let note = format!("{left_out} more lines of the last second are left out");
            self.events.push(Event::Log(note));
        }
        self.events.push(Event::Log(line));
    }
}
