//! Which MCP servers cannot be started, and which wait for the person's approval, over both files.
//! Only what a look at the configuration tells; nothing here starts one.

use std::collections::BTreeSet;

use super::server::Servers;
use super::source::Source;
use crate::reason::{Reason, Reasons, near_miss};

/// Tells which servers cannot be started, and which wait for an approval. Of two definitions the project's counts; an
/// approval is the global file's alone.
pub(super) fn notice(
    global: (&Servers, Option<&Source>),
    project: (&Servers, Option<&Source>),
    notices: &mut Reasons,
) {
    let names: BTreeSet<_> = global.0.keys().chain(project.0.keys()).collect();
    for name in names {
        let of_person = global.0.get(name);
        let (server, source) = match (project.0.get(name), of_person) {
            (Some(server), _) => (server, project.1),
            (None, Some(server)) => (server, global.1),
            (None, None) => continue,
        };
        let path = ["mcp_servers", name];
        let at = |reason: &str, help: &str| {
            let reason = source.map_or_else(Reason::default, |source| source.reason(&path, reason));
            reason.help(help)
        };
        if server.command.is_some() && server.url.is_some() {
            notices.add(at(
                "this server has both `command` and `url`, so it cannot be started",
                "keep `command` for a program that is started here, or `url` for one over HTTP",
            ));
        } else if server.command.is_none() && server.url.is_none() {
            // One that is there but misspelt or of a wrong type is told where it stands.
            let mut members = source.into_iter().flat_map(|source| source.members(&path));
            if !members.any(|member| near_miss(member, ["command", "url"]).is_some()) {
                notices.add(at(
                    "this server has neither `command` nor `url`, so it cannot be started",
                    "add `command` for a program that is started here, or `url` for one over HTTP",
                ));
            }
        } else if server.enabled != Some(false)
            && of_person.and_then(|own| own.approved.as_ref()) != Some(&server.digest())
        {
            notices.add(at(
                "this server waits for approval; nothing of it is started",
                "there is nothing to do yet: this build starts no MCP servers",
            ));
        }
    }
}
