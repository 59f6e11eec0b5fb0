//! This side of a connection: how it greets a server, and what that may ask of it: where the workspace is. Sampling is refused and questions to a person are
//! declined, which is what the SDK does for what is not answered here.

// The SDK calls roots deprecated, since the newest revision has none. Servers of the older ones still ask for them.
#![allow(deprecated)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::AcqRel};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsResult, ProtocolVersion,
    Root, RootsCapabilities,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, RequestContext, RoleClient, RunningService,
    serve_client_with_ct,
};
use rmcp::transport::Transport;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

/// This side of one connection.
#[derive(Debug)]
pub(crate) struct Client {
    /// The address of the workspace, `file://` and the canonical directory.
    pub(crate) root: String,
    /// How often the server told that its tools are others.
    pub(crate) told: Arc<AtomicU64>,
}

impl Client {
    /// The handshake with the server `name`; what comes of it lasts until `stop` fires.
    ///
    /// It is made in a task and a span of its own, which last as long as the connection: the SDK holds on to the span that it
    /// finds here, and that of a request would say that the request took all that time.
    pub(crate) async fn greet<T>(
        self,
        name: &str,
        transport: T,
        stop: CancellationToken,
    ) -> Result<RunningService<RoleClient, Self>, ClientInitializeError>
    where
        T: Transport<RoleClient> + Send + 'static,
    {
        let span = tracing::info_span!(parent: None, "mcp server", server = name);
        let greeting = serve_client_with_ct(self, transport, stop).instrument(span);
        match AbortOnDropHandle::new(tokio::spawn(greeting)).await {
            Ok(greeted) => greeted,
            Err(gone) => match gone.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends.
                Err(gone) => Err(ClientInitializeError::ConnectionClosed(gone.to_string())),
            },
        }
    }
}

impl ClientHandler for Client {
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(self.root.clone())]))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.told.fetch_add(1, AcqRel);
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let name = Implementation::new("magi-code", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, name)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
