//! The MCP servers of both files, which of them cannot be started, and which wait for the person's approval.
//! Only what a look at the configuration tells; nothing here starts one.

use std::collections::BTreeSet;

use super::project::TRUST;
use super::server::{McpServer, ServerLayer, ServerState, Servers};
use super::source::Source;
use crate::reason::{Reason, Reasons, command_word, near_miss, shown};

/// The servers by name, telling which cannot be started, and which wait for an approval. Of two definitions the
/// project's counts, and each file can turn a server off; approval and trust are the global file's alone, and its trust
/// is for its own definitions. `trusted` is the project: programs of another one start outside of it.
pub(super) fn resolve(
    global: (&Servers, Option<&Source>),
    project: (&Servers, Option<&Source>),
    trusted: bool,
    notices: &mut Reasons,
) -> Vec<McpServer> {
    let names: BTreeSet<_> = global.0.keys().chain(project.0.keys()).collect();
    let mut servers = Vec::new();
    for name in names {
        let (of_person, of_project) = (global.0.get(name), project.0.get(name));
        // A project that only turns a server on or off states no definition of its own.
        let (server, source, is_persons) = match (of_project, of_person) {
            (Some(own), Some(server)) if !own.is_stated() => (server, global.1, true),
            (Some(server), _) => (server, project.1, false),
            (None, Some(server)) => (server, global.1, true),
            (None, None) => continue,
        };
        let path = ["mcp_servers", name];
        // What a person said of a definition that another project has; a null is what an approval leaves that was revoked.
        let is_elsewhere = is_persons && !server.is_stated() && {
            let mut members = source.into_iter().flat_map(|source| source.members(&path));
            members.any(|member| matches!(member, "approved" | "trust"))
        };
        if is_elsewhere && server.approved.is_none() {
            continue;
        }
        let at = |reason: &str| {
            source.map_or_else(Reason::default, |source| source.reason(&path, reason))
        };
        let launch = server.launch();
        let digest = server.digest();
        let is_off = [of_person, of_project]
            .into_iter()
            .flatten()
            .any(|server| server.enabled == Some(false));
        let approved = of_person.and_then(|own| own.approved.as_ref());
        let is_approved = approved == Some(&digest);
        let state = match (&launch, is_off, is_approved) {
            _ if is_elsewhere => ServerState::Elsewhere,
            (None, ..) => ServerState::Unusable,
            (Some(_), true, _) => ServerState::Disabled,
            (Some(_), false, true) => ServerState::Approved,
            (Some(_), false, false) => ServerState::Waiting,
        };
        let is_other_approved = approved.is_some() && !is_approved;
        let is_trusted = of_person.and_then(|own| own.trust) == Some(true);
        match state {
            ServerState::Unusable => {
                let members = source.into_iter().flat_map(|source| source.members(&path));
                if let Some((reason, help)) = unusable(server, members) {
                    notices.add(at(reason).help(help));
                }
            }
            ServerState::Waiting => {
                let reason = match is_other_approved {
                    true => {
                        "this server waits for approval: what is approved of its name is another definition, and nothing of this one is started"
                    }
                    false => "this server waits for approval; nothing of it is started",
                };
                let help = match command_word(name) {
                    Some(name) => {
                        format!("run `magi-code mcp approve {name}` if you know what it does")
                    }
                    None => "to approve it, give it a name of at most 64 characters that can be seen, and \
                             no `-` at its beginning"
                        .to_owned(),
                };
                notices.add(at(reason).help(help));
            }
            ServerState::Disabled | ServerState::Approved | ServerState::Elsewhere => {}
        }
        if matches!(state, ServerState::Waiting | ServerState::Approved) {
            if !is_offerable(name) {
                let reason = "no tool of this server can be offered: tools are called `mcp__<server>__<tool>`, of letters, digits, `-` and single `_` between them";
                notices.add(at(reason).help("give it another name"));
            }
            if is_trusted && !is_persons {
                let reason = "`trust` of the global settings is for their own definition of this name; calls of this one ask";
                notices.add(at(reason).help("allow tools of it by `permissions.mcp__<server>__<tool>` of the global settings, or define it there"));
            }
            if let Some((member, word)) = unexpanded(server) {
                let reason = format!(
                    "`{}` stands as it is: nothing is put in for `~` or a variable",
                    shown(word)
                );
                let path: Vec<_> = path.into_iter().map(str::to_owned).chain(member).collect();
                let reason =
                    source.map_or_else(Reason::default, |source| source.reason(&path, reason));
                notices.add(reason.help("write what it is to be"));
            }
            let relative = launch.as_ref().filter(|_| !trusted).and_then(|launch| {
                // What is plainly not there fails a start, and is told by whoever looks for programs.
                let is_missing =
                    state == ServerState::Approved && launch.relative_script().is_some();
                launch.relative_word().filter(|_| !is_missing)
            });
            if let Some(word) = relative {
                let reason = format!(
                    "`{}` is relative, and programs of servers start in an empty folder as long as this project is not trusted",
                    shown(word)
                );
                notices.add(at(&reason).help(format!("write an absolute path, or {TRUST}")));
            }
        }
        servers.push(McpServer {
            name: name.clone(),
            launch,
            trust: is_approved && is_persons && is_trusted,
            is_trust_said: is_persons && is_trusted,
            is_other_approved,
            state,
            digest,
            named: at(""),
        });
    }
    servers
}

/// Why a definition is none, and what to do. `None` where the word that is missing is misspelt or of a wrong type, which
/// is told where it stands.
fn unusable<'s>(
    server: &ServerLayer,
    mut members: impl Iterator<Item = &'s str>,
) -> Option<(&'static str, &'static str)> {
    if server.command.is_some() {
        return Some((
            "this server has both `command` and `url`, so it cannot be started",
            "keep `command` for a program that is started here, or `url` for one over HTTP",
        ));
    }
    let is_meant = members.any(|member| near_miss(member, ["command", "url"]).is_some());
    (!is_meant).then_some((
        "this server has neither `command` nor `url`, so it cannot be started",
        "add `command` for a program that is started here, or `url` for one over HTTP",
    ))
}

/// Whether a tool of a server of this name could be offered.
fn is_offerable(name: &str) -> bool {
    const LONGEST: usize = 64 - "mcp____t".len();
    (1..=LONGEST).contains(&name.len())
        && is_server_name(name)
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

/// Whether the name of a tool, `mcp__<server>__<tool>`, tells which server of such a name it is of: a rule for a tool of
/// one server must not be one for a tool of another.
#[must_use]
pub fn is_server_name(name: &str) -> bool {
    !name.contains("__") && !name.starts_with('_') && !name.ends_with('_')
}

/// What a shell, or another program, would put something in for, and the member that holds it. Not in arguments of what
/// may be a shell itself.
fn unexpanded(server: &ServerLayer) -> Option<(Vec<String>, &str)> {
    let is_open = |text: &str| text.starts_with("~/") || text.contains("${");
    let is_shell = server
        .command
        .as_deref()
        .is_some_and(|command| command.ends_with("sh"));
    let own = [("command", &server.command), ("url", &server.url)];
    let own = own
        .into_iter()
        .filter_map(|(name, text)| Some((vec![name.to_owned()], text.as_deref()?)));
    let args = server.args.iter().flatten().filter(|_| !is_shell);
    let args = args.enumerate().map(|(index, text)| {
        let path = vec!["args".to_owned(), index.to_string()];
        (path, text.as_str())
    });
    let values = [("env", &server.env), ("headers", &server.headers)];
    let values = values.into_iter().flat_map(|(of, values)| {
        values.iter().flatten().map(move |(name, text)| {
            let path = vec![of.to_owned(), name.clone()];
            (path, text.as_str())
        })
    });
    own.chain(args)
        .chain(values)
        .find(|(_, text)| is_open(text))
        // What stands around it may be secret.
        .map(|(path, text)| match text.find("${") {
            Some(at) => (
                path,
                text[at..].split_inclusive('}').next().unwrap_or_default(),
            ),
            None => (path, "~"),
        })
}
