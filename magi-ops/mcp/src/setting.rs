//! Where the servers of one workspace are started, and what for.

use std::path::PathBuf;
use std::sync::Arc;

use redact::Redactor;
use tools::guard::Guard;

/// Where servers are started.
#[derive(Clone)]
pub struct Setting {
    /// The workspace, canonical.
    pub cwd: PathBuf,
    /// Whether the person trusts its files; else programs start in an empty folder, where they find none of them.
    pub trusted: bool,
    /// What programs run under.
    pub guard: Guard,
    /// Where logins are kept.
    pub home: Arc<dyn store::Home>,
    /// Learns what logins are stored and received: nothing of them is shown.
    pub redactor: Redactor,
}
