//! The MCP servers of a workspace, in builds that have them and in those that don't.
//! What a server is stands in the crate `mcp`, what joins of it in `join`.

use std::path::Path;
use std::sync::Arc;

use store::settings::{Launch, McpServer, ServerState, Settings};
use store::{Home, Reason, Redactor};
use tools::ToolSet;
use tools::guard::Guard;

/// The servers of one workspace.
pub(crate) struct Servers {
    #[cfg(feature = "mcp")]
    all: mcp::Servers,
}

impl Servers {
    /// Starts none. What this build can't start is told in `notices`.
    #[cfg_attr(not(feature = "mcp"), allow(unused_variables))]
    pub(super) fn of(
        settings: &Settings,
        home: &Arc<dyn Home>,
        cwd: &Path,
        guard: &Guard,
        redactor: &Redactor,
        notices: &mut Vec<Reason>,
    ) -> Arc<Self> {
        let servers = &settings.mcp_servers;
        if cfg!(not(feature = "mcp")) {
            let approved = servers
                .iter()
                .filter(|server| server.state == ServerState::Approved);
            notices.extend(approved.map(|server| Reason {
                reason: "this build has no MCP, so this server is not started".to_owned(),
                help: Some("use a build with the feature `mcp`".to_owned()),
                ..server.named.clone()
            }));
        }
        Arc::new(Self {
            #[cfg(feature = "mcp")]
            all: mcp::Servers::new(servers, &setting(home, cwd, settings, guard, redactor)),
        })
    }
}

#[cfg(feature = "mcp")]
impl Servers {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn generation(&self) -> u64 {
        self.all.generation()
    }

    /// Starts them, unless they run; all or none. What of their tools is left out, not redacted.
    pub(super) async fn connect(&self) -> Result<Vec<Reason>, Vec<Reason>> {
        let failed = |errors: Vec<mcp::StartError>| {
            errors
                .into_iter()
                .map(mcp::StartError::into_reason)
                .collect()
        };
        self.all.connect().await.map_err(failed)
    }

    pub(super) async fn refresh(&self) {
        self.all.refresh().await;
    }

    pub(super) fn tools(&self, cwd: &Path) -> Option<ToolSet> {
        let context = tools::Context::new(cwd.to_owned(), Vec::new());
        Some(self.all.tools(context))
    }

    /// Ends them, all at once.
    pub(super) async fn close(&self) {
        self.all.close().await;
    }
}

#[cfg(not(feature = "mcp"))]
impl Servers {
    pub(super) fn is_empty(&self) -> bool {
        true
    }

    pub(super) fn generation(&self) -> u64 {
        0
    }

    pub(super) async fn connect(&self) -> Result<Vec<Reason>, Vec<Reason>> {
        Ok(Vec::new())
    }

    pub(super) async fn refresh(&self) {}

    pub(super) fn tools(&self, _: &Path) -> Option<ToolSet> {
        None
    }

    pub(super) async fn close(&self) {}
}

/// Where servers of a workspace are started.
#[cfg(feature = "mcp")]
pub(super) fn setting(
    home: &Arc<dyn Home>,
    cwd: &Path,
    settings: &Settings,
    guard: &Guard,
    redactor: &Redactor,
) -> mcp::Setting {
    mcp::Setting {
        cwd: cwd.to_owned(),
        trusted: settings.trusted,
        guard: guard.clone(),
        home: Arc::clone(home),
        redactor: redactor.clone(),
    }
}

/// Why servers in this state could not start, once they are approved, as far as that can be seen without starting one. Not
/// redacted. Blocks.
#[cfg_attr(not(feature = "mcp"), allow(unused_variables))]
pub(super) fn unstartable(
    home: &Arc<dyn Home>,
    cwd: &Path,
    settings: &Settings,
    state: ServerState,
    guard: &Guard,
    redactor: &Redactor,
) -> Vec<Reason> {
    #[cfg(feature = "mcp")]
    return mcp::check(
        &settings.mcp_servers,
        state,
        &setting(home, cwd, settings, guard, redactor),
    );
    #[cfg(not(feature = "mcp"))]
    return Vec::new();
}

/// Whether a value is `${NAME}` and nothing else.
fn names_variable(value: &str) -> bool {
    let name = value
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(in_name))
}

/// Headers carry credentials, and so do variables that are named as such.
pub(super) fn keep_secret(servers: &[McpServer], redactor: &Redactor) {
    for launch in servers.iter().filter_map(|server| server.launch.as_ref()) {
        match launch {
            Launch::Command { env, .. } => {
                let variables = env.iter().map(|(name, value)| (&**name, &**value));
                // The name of a variable that was to be put in is what a person has to see.
                let variables = variables.filter(|(_, value)| !names_variable(value));
                redactor.learn_variables(variables);
            }
            Launch::Http { headers, .. } => {
                // The credential stands behind the word for its kind.
                let values = headers.values().flat_map(|value| {
                    [
                        Some(&**value),
                        value.split_once(' ').map(|(_, behind)| behind),
                    ]
                });
                let values = values.flatten().filter(|value| !names_variable(value));
                redactor.learn(values);
            }
        }
    }
}
