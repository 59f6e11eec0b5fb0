//! The MCP servers of both files, which of them cannot be started, and which wait for the person's approval.
//! Only what a look at the configuration tells; nothing here starts one.

use std::collections::BTreeSet;

use super::server::{McpServer, ServerState, Servers};
use super::source::Source;
use crate::reason::{Reason, Reasons, near_miss, shown};

/// The servers by name, telling which cannot be started, and which wait for an approval. Of two definitions the
/// project's counts, and each file can turn a server off; approval and trust are the global file's alone.
pub(super) fn resolve(
    global: (&Servers, Option<&Source>),
    project: (&Servers, Option<&Source>),
    notices: &mut Reasons,
) -> Vec<McpServer> {
    let names: BTreeSet<_> = global.0.keys().chain(project.0.keys()).collect();
    let mut servers = Vec::new();
    for name in names {
        let (of_person, of_project) = (global.0.get(name), project.0.get(name));
        // A project that only turns a server on or off states no definition of its own.
        let (server, source) = match (of_project, of_person) {
            (Some(own), Some(server)) if !own.is_stated() => (server, global.1),
            (Some(server), _) => (server, project.1),
            (None, Some(server)) => (server, global.1),
            (None, None) => continue,
        };
        // What a person said of a definition that another project has.
        if !server.is_stated() && (server.approved.is_some() || server.trust.is_some()) {
            continue;
        }
        let path = ["mcp_servers", name];
        let at = |reason: &str| {
            source.map_or_else(Reason::default, |source| source.reason(&path, reason))
        };
        let launch = server.launch();
        let digest = server.digest();
        let is_off = [of_person, of_project]
            .into_iter()
            .flatten()
            .any(|server| server.enabled == Some(false));
        let is_approved = of_person.and_then(|own| own.approved.as_ref()) == Some(&digest);
        let state = match (&launch, is_off, is_approved) {
            (None, ..) => ServerState::Unusable,
            (Some(_), true, _) => ServerState::Disabled,
            (Some(_), false, true) => ServerState::Approved,
            (Some(_), false, false) => ServerState::Waiting,
        };
        match state {
            ServerState::Unusable if server.command.is_some() => {
                let reason =
                    at("this server has both `command` and `url`, so it cannot be started");
                notices.add(reason.help(
                    "keep `command` for a program that is started here, or `url` for one over HTTP",
                ));
            }
            ServerState::Unusable => {
                // One that is there but misspelt or of a wrong type is told where it stands.
                let mut members = source.into_iter().flat_map(|source| source.members(&path));
                if !members.any(|member| near_miss(member, ["command", "url"]).is_some()) {
                    let reason =
                        at("this server has neither `command` nor `url`, so it cannot be started");
                    notices.add(reason.help(
                        "add `command` for a program that is started here, or `url` for one over HTTP",
                    ));
                }
            }
            ServerState::Waiting => {
                let reason = at("this server waits for approval; nothing of it is started");
                notices.add(reason.help(format!(
                    "run `magi-code mcp approve {}` if you know what it does",
                    shown(name)
                )));
            }
            ServerState::Disabled | ServerState::Approved => {}
        }
        servers.push(McpServer {
            name: name.clone(),
            launch,
            trust: is_approved && of_person.and_then(|own| own.trust) == Some(true),
            state,
            digest,
            named: at(""),
        });
    }
    servers
}
