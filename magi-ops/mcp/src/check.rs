//! What can be seen of a server without starting it. Starts nothing and asks nobody.

use store::Reason;
use store::settings::{Launch, McpServer, ServerState};

use crate::error::StartError;
use crate::http;
use crate::program::find;
use crate::setting::Setting;

/// Why approved servers of `servers` could not start: a program that is not there or could not be given what the definition
/// says, an address or a header that is none.
/// Not redacted. Blocks.
#[must_use]
pub fn check(servers: &[McpServer], setting: &Setting) -> Vec<Reason> {
    let cause = |server: &McpServer| match server.launch.as_ref()? {
        Launch::Command { command, args, env } => find(command, args, env, setting).err(),
        Launch::Http { url, headers } => http::address(url)
            .and_then(|url| http::config(&url, headers))
            .err(),
    };
    let approved = servers
        .iter()
        .filter(|server| server.state == ServerState::Approved);
    let failed = approved.filter_map(|server| {
        Some(StartError {
            server: server.name.clone(),
            named: server.named.clone(),
            cause: cause(server)?,
        })
    });
    failed.map(StartError::into_reason).collect()
}
