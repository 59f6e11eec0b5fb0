//! What can be seen of a server without starting it. Starts nothing and asks nobody.

use store::Reason;
use store::settings::{Launch, McpServer, ServerState};

use crate::error::{StartCause, StartError};
use crate::http;
use crate::program::find;
use crate::setting::Setting;

/// Why servers of `servers` in this state could not start once they are approved: a program or a script that is not there
/// or could not be given what the definition says, an address or a header that is none. Not redacted. Blocks.
#[must_use]
pub fn check(servers: &[McpServer], state: ServerState, setting: &Setting) -> Vec<Reason> {
    let of_state = servers.iter().filter(|server| server.state == state);
    let failed = of_state.filter_map(|server| failing(server, setting));
    failed.map(StartError::into_reason).collect()
}

/// The same of one server, whatever its state.
pub(crate) fn failing(server: &McpServer, setting: &Setting) -> Option<StartError> {
    let cause = match server.launch.as_ref()? {
        launch @ Launch::Command { command, args, env } => find(command, args, env, setting)
            .and_then(|()| match launch.relative_script() {
                Some(script) if !setting.trusted => Err(StartCause::Script(script.to_owned())),
                _ => Ok(()),
            })
            .err(),
        Launch::Http { url, headers } => http::address(url)
            .and_then(|url| http::config(&url, headers))
            .err(),
    };
    Some(StartError {
        server: server.name.clone(),
        named: server.named.clone(),
        cause: cause?,
    })
}
