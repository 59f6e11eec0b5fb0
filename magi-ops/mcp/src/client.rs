//! What a server may ask of this side: where the workspace is. Sampling is refused and questions to a person are
//! declined, which is what the SDK does for what is not answered here.

// The revisions that have roots are the ones that servers speak.
#![allow(deprecated)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Release};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsResult, ProtocolVersion,
    Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};

/// This side of one connection.
#[derive(Debug)]
pub(crate) struct Client {
    /// The address of the workspace, `file://` and the canonical directory.
    pub(crate) root: String,
    /// The server's tools are others than it told.
    pub(crate) changed: Arc<AtomicBool>,
}

impl ClientHandler for Client {
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(self.root.clone())]))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.store(true, Release);
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let name = Implementation::new("magi-code", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, name)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
