//! The servers of one workspace: started side by side, offered as one set of tools, ended together.
//! Which of them may be started is the settings' matter, when is the engine's.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::{BoxFuture, join_all};
use store::Reason;
use store::settings::{McpServer, ServerState};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tools::{Context, ToolSet};

use crate::error::StartError;
use crate::server::Server;
use crate::setting::Setting;
use crate::tool::ServerTool;

/// The approved servers of one workspace, running or not.
///
/// What is waited for is boxed here: the body of an `async fn` is compiled again in each crate that waits for it, and
/// with these bodies all of the SDK, four times in one program.
pub struct Servers {
    all: Vec<Arc<Server>>,
    /// Whether they run; held while they are started or ended.
    connected: tokio::sync::Mutex<bool>,
    /// Grows whenever what is offered is another.
    generation: Arc<AtomicU64>,
    closing: CancellationToken,
}

impl Servers {
    /// Those of `servers` that are approved. Starts none.
    #[must_use]
    pub fn new(servers: &[McpServer], setting: &Setting) -> Self {
        let (generation, closing) = (Arc::<AtomicU64>::default(), CancellationToken::new());
        let approved = servers
            .iter()
            .filter(|server| server.state == ServerState::Approved);
        let server = |server: &McpServer| {
            Arc::new(Server::new(
                server.clone(),
                setting.clone(),
                Arc::clone(&generation),
                closing.clone(),
            ))
        };
        Self {
            all: approved.map(server).collect(),
            connected: tokio::sync::Mutex::default(),
            generation,
            closing,
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Starts all of them side by side, unless they run: each has 10 s, its list of tools included. Where one fails the
    /// others are ended, and where one plainly can't start, none is started. Gives what of their tools is left out. Dropping the future ends what was started.
    ///
    /// # Errors
    /// With every server that failed, once all others are gone.
    #[inline(never)]
    pub fn connect(&self) -> BoxFuture<'_, Result<Vec<Reason>, Vec<StartError>>> {
        Box::pin(self.start())
    }

    async fn start(&self) -> Result<Vec<Reason>, Vec<StartError>> {
        let mut connected = self.connected.lock().await;
        if *connected {
            return Ok(Vec::new());
        }
        // What a server does at its start need not be done when another one of them keeps it from being used.
        let all = self.all.clone();
        let failing = spawn_blocking(move || {
            let failing = all.iter().map(|server| server.failing());
            failing.flatten().collect::<Vec<_>>()
        });
        match failing.await {
            Ok(errors) if errors.is_empty() => {}
            Ok(errors) => return Err(errors),
            // Each start looks once more.
            Err(error) => tracing::error!(%error, "the look at the servers broke off"),
        }
        // Whoever stops waiting stops what it waited for.
        let unwound = Unwound(self.all.clone());
        let started = join_all(self.all.iter().map(|server| server.start())).await;
        let mut errors = Vec::new();
        let mut left_out = Vec::new();
        for (server, started) in self.all.iter().zip(started) {
            match started {
                Ok(why) => left_out.extend(why.into_iter().map(|why| Reason {
                    reason: why,
                    ..server.definition.named.clone()
                })),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            join_all(self.all.iter().map(|server| server.end())).await;
            return Err(errors);
        }
        unwound.keep();
        left_out.extend(self.clashes());
        *connected = true;
        Ok(left_out)
    }

    /// A number that grows whenever the tools are others than they were.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Lists the tools of those servers again that told of other ones. Costs nothing where none did.
    #[inline(never)]
    pub fn refresh(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if !self.all.iter().any(|server| server.has_changed()) {
                return;
            }
            join_all(self.all.iter().map(|server| server.refresh())).await;
        })
    }

    /// Tools that have the name of another one before them.
    fn clashes(&self) -> Vec<Reason> {
        let (mut names, mut told) = (HashSet::new(), HashSet::new());
        let mut clashes = Vec::new();
        for server in &self.all {
            for offer in server
                .offers()
                .iter()
                .filter(|offer| !names.insert(offer.name.clone()))
                .filter(|offer| told.insert(offer.name.clone()))
            {
                let reason = format!(
                    "two tools are called `{}`: the second one is left out",
                    offer.name
                );
                clashes.push(Reason {
                    reason,
                    ..server.definition.named.clone()
                });
            }
        }
        clashes
    }

    /// The tools as they were listed last; of two of one name the first counts.
    #[must_use]
    pub fn tools(&self, context: Context) -> ToolSet {
        let mut set = ToolSet::empty(context);
        for server in &self.all {
            for offer in server.offers().iter() {
                let tool = ServerTool {
                    server: Arc::clone(server),
                    offer: offer.clone(),
                };
                if let Err(clash) = set.add(Arc::new(tool)) {
                    tracing::debug!(%clash, "a tool of a server is left out");
                }
            }
        }
        set
    }

    /// Ends all of them: each is told before any is waited for. Nothing is started any more.
    #[inline(never)]
    pub fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // Ends what is being started, and every connection: the input of a program, the session of one over HTTP.
            self.closing.cancel();
            join_all(self.all.iter().map(|server| server.end())).await;
        })
    }
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.all.iter().map(|server| &server.definition.name);
        f.debug_list().entries(names).finish()
    }
}

/// Ends servers whose common start nobody waits for any more.
struct Unwound(Vec<Arc<Server>>);

impl Unwound {
    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Unwound {
    fn drop(&mut self) {
        self.0.iter().for_each(|server| server.abandon());
    }
}
