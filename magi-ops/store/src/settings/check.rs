//! What of a settings file has the right type and can't be used all the same, and names that mean nothing.
//! Knows the layer only: where its members stand, and what of a project's counts, is said elsewhere.

use std::collections::BTreeMap;

use redact::Redactor;

use super::fault::Fault;
use super::hooks::{MAX_HOOK_BYTES, MAX_HOOKS};
use super::layer::{COMMANDS, Layer, PermissionLayer, Permissions, ProviderLayer, SNIPPETS};
use super::permissions::{MAX_RULE_BYTES, MAX_RULES};
use super::projects::directory;
use super::rule_advice::rule_advice;
use super::{FORM, MAX_INSTRUCTIONS, MAX_NAME_BYTES};
use crate::reason::{did_you_mean, listed, near_miss, shown};

/// Who is told of each fault, and of the names that lead to its member.
type Tell<'a> = &'a mut dyn FnMut(&[&str], Fault);

/// What begins the name of a server's tool.
const SERVERS: &str = "mcp__";
/// Longest name that a model is offered, in bytes.
const MAX_TOOL_NAME_BYTES: usize = 64;
const SHORTEN: &str = "shorten it";
const BLANK: (&str, &str) = (
    "this is blank",
    "write something here, or take the member out",
);

/// Tells everything that is wrong with `layer`. `tools` are the names that `permissions` may hold; without any, all do.
pub(super) fn check(layer: &Layer, tools: &[&str], tell: Tell<'_>) {
    check_version(layer.version, tell);
    for (key, name) in [("provider", &layer.provider), ("model", &layer.model)] {
        blank(&[key], name.as_deref(), BLANK, tell);
        if name.as_ref().map_or(0, String::len) > MAX_NAME_BYTES {
            let why = format!("this name is longer than {MAX_NAME_BYTES} bytes");
            tell(&[key], Fault::new(why, SHORTEN));
        }
    }
    if let Some(threshold) = layer.compaction.threshold
        && (threshold <= 0.0 || threshold > 1.0)
    {
        let fault = Fault::new(
            "this is not above 0 and at most 1",
            "write a share such as 0.8",
        );
        tell(&["compaction", "threshold"], fault);
    }
    for (id, provider) in &layer.providers {
        check_provider(id, provider, tell);
    }
    for (event, commands) in &layer.hooks {
        check_hooks(event.word(), commands, tell);
    }
    let files = layer.instructions.len();
    let help = "put some of them into one file";
    at_most(
        &["instructions"],
        files,
        MAX_INSTRUCTIONS,
        "files",
        help,
        tell,
    );
    for (index, path) in layer.instructions.iter().enumerate() {
        let index = index.to_string();
        blank(&["instructions", &index], path.to_str(), BLANK, tell);
    }
    check_permissions(&layer.permissions, &["permissions"], tools, tell);
    for (path, project) in &layer.projects {
        check_permissions(
            &project.permissions,
            &["projects", path, "permissions"],
            tools,
            tell,
        );
    }
    check_projects(layer, tell);
    for name in layer.mcp_servers.keys() {
        let fault = ("this name is blank", "give the server a name");
        blank(&["mcp_servers", name], Some(name), fault, tell);
    }
}

fn check_version(version: Option<u32>, tell: Tell<'_>) {
    let (why, help) = match version {
        None | Some(FORM) => return,
        Some(0) => (
            "there is no such form of settings".to_owned(),
            "take the member out",
        ),
        Some(later) => (
            format!(
                "this is form {later} of settings, of a later release; this one knows form {FORM} only"
            ),
            "install the later release, or use another `MC_HOME` with this one",
        ),
    };
    tell(&["version"], Fault::new(why, help));
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Tells `fault`, why and what to do, where a text is blank.
fn blank(path: &[&str], text: Option<&str>, fault: (&str, &str), tell: Tell<'_>) {
    if text.is_some_and(is_blank) {
        tell(path, Fault::new(fault.0, fault.1));
    }
}

/// Tells where there are more of something than may be.
fn at_most(path: &[&str], count: usize, most: usize, what: &str, help: &str, tell: Tell<'_>) {
    if count > most {
        let why = format!("these are more than {most} {what}");
        tell(path, Fault::new(why, help));
    }
}

fn check_provider(id: &str, own: &ProviderLayer, tell: Tell<'_>) {
    let help = "give the provider an id, which `provider` selects";
    blank(
        &["providers", id],
        Some(id),
        ("this id is blank", help),
        tell,
    );
    let script = own.script.as_ref().and_then(|path| path.to_str());
    for (member, text) in [
        ("base_url", own.base_url.as_deref()),
        ("issuer_url", own.issuer_url.as_deref()),
        ("api_key_env", own.api_key_env.as_deref()),
        ("script", script),
    ] {
        blank(&["providers", id, member], text, BLANK, tell);
    }
    let variable = own.api_key_env.as_deref().filter(|name| !is_blank(name));
    if variable.is_some_and(|name| name.contains(['=', '\0', ' ', '\t', '\n'])) {
        let fault = Fault::new(
            "this is no name of an environment variable",
            "write the variable's name alone; its value stays in the environment",
        );
        tell(&["providers", id, "api_key_env"], fault);
    } else if variable.is_some_and(|name| !Redactor::default().is_presentable(name)) {
        let fault = Fault::new(
            "this looks like a key, and a variable's name belongs here",
            "name the variable that holds the key, and take the key out of this file",
        );
        tell(&["providers", id, "api_key_env"], fault);
    }
    for (index, model) in own.models.iter().flatten().enumerate() {
        let path = ["providers", id, "models", &index.to_string(), "id"];
        let help = "write the model's name as its server has it";
        blank(&path, Some(&model.id), ("this id is blank", help), tell);
    }
}

fn check_hooks(event: &str, commands: &[String], tell: Tell<'_>) {
    let (path, help) = (["hooks", event], "put some of them into one script");
    at_most(&path, commands.len(), MAX_HOOKS, "commands", help, tell);
    for (index, command) in commands.iter().enumerate() {
        let fault = if is_blank(command) {
            Fault::new("this command is blank", "write a command, or take it out")
        } else if command.contains('\0') {
            Fault::new("this command holds a null character", "take it out")
        } else if command.len() > MAX_HOOK_BYTES {
            let why = format!("this command is longer than {MAX_HOOK_BYTES} bytes");
            Fault::new(why, "put it into a script")
        } else {
            continue;
        };
        tell(&["hooks", event, &index.to_string()], fault);
    }
}

fn check_projects(layer: &Layer, tell: Tell<'_>) {
    let mut directories = BTreeMap::new();
    for path in layer.projects.keys() {
        let fault = match directory(path).map(|real| directories.insert(real, path)) {
            None => Fault::new(
                "this path is not absolute, so it is no project",
                "write the whole path of a directory; `~` and variables are not replaced",
            ),
            Some(None) => continue,
            Some(Some(other)) => Fault::new(
                format!(
                    "this is the same directory as `{}`; of both only what is stricter counts",
                    shown(other)
                ),
                "make one entry of the two",
            ),
        };
        tell(&["projects", path], fault.ignored());
    }
}

/// What makes calls itself, and is none of a snippet's.
const NOT_IN_SNIPPETS: [&str; 2] = [SNIPPETS, "task"];

fn check_permissions(all: &Permissions, path: &[&str], tools: &[&str], tell: Tell<'_>) {
    for (tool, permission) in &all.0 {
        check_tool(tool, path, tools, tell);
        if let PermissionLayer::Tools(words) = permission {
            let path = [path, &[SNIPPETS]].concat();
            for tool in words.keys() {
                if NOT_IN_SNIPPETS.contains(&tool.as_str()) {
                    let why = format!("no snippet calls `{tool}`");
                    let fault = Fault::new(why, "take it out: as it stands it guards nothing");
                    tell(&[&path[..], &[tool]].concat(), fault);
                } else {
                    check_tool(tool, &path, tools, tell);
                }
            }
        }
    }
    let Some(PermissionLayer::Rules(rules)) = all.0.get(COMMANDS) else {
        return;
    };
    for (key, list) in [("allow", &rules.allow), ("deny", &rules.deny)] {
        let path = [path, &[COMMANDS, key]].concat();
        let help = "say it in fewer words";
        at_most(&path, list.len(), MAX_RULES, "rules", help, tell);
        for (index, rule) in list.iter().enumerate() {
            let fault = if is_blank(rule) {
                Fault::new(
                    "this rule is blank, and would be about every command",
                    "write the first words of a command, or take it out",
                )
            } else if rule.len() > MAX_RULE_BYTES {
                let why = format!("this rule is longer than {MAX_RULE_BYTES} bytes");
                Fault::new(why, SHORTEN)
            } else if let Some(advice) = rule_advice(rule, key == "deny") {
                Fault::new(advice.reason, advice.help).ignored()
            } else {
                continue;
            };
            tell(&[&path[..], &[&index.to_string()]].concat(), fault);
        }
    }
}

/// A name that no tool can have would guard nothing. Tools of MCP servers are known only once these run, but not their
/// form.
fn check_tool(tool: &str, path: &[&str], tools: &[&str], tell: Tell<'_>) {
    if tools.is_empty() || tools.contains(&tool) || is_of_server(tool) {
        return;
    }
    let of_server = meant_of_server(tool);
    let near = near_miss(tool, tools.iter().copied());
    let why = format!("no tool is called `{}`", shown(tool));
    let meant = near.or(of_server.as_ref().and_then(Option::as_deref));
    let what = match meant {
        Some(meant) => format!("rename it to `{meant}`"),
        None if of_server.is_some() => {
            "write `mcp__<server>__<tool>`, at most 64 of letters, digits, `_` and `-`".to_owned()
        }
        None => format!("use one of {}, or `mcp__<server>__<tool>`", listed(tools)),
    };
    let fault = Fault::new(
        why + &did_you_mean(meant),
        what + ": as it stands it guards nothing",
    );
    tell(&[path, &[tool]].concat(), fault);
}

/// Whether a name has the form of a server's tool: `mcp__<server>__<tool>`.
pub(crate) fn is_of_server(tool: &str) -> bool {
    server_of(tool).is_some()
}

/// The server that a tool of such a name is of.
pub(super) fn server_of(tool: &str) -> Option<&str> {
    let in_name = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
    let rest = tool.strip_prefix(SERVERS)?;
    // The tool may hold the two underscores too, and the server may end with one.
    let at = rest.get(1..)?.find("__")? + 1;
    let is_one = tool.len() <= MAX_TOOL_NAME_BYTES && tool.bytes().all(in_name);
    (is_one && rest.len() > at + 2).then_some(&rest[..at])
}

/// For a name that was to be one of a server's tool: what was probably meant, if that can be told.
fn meant_of_server(tool: &str) -> Option<Option<String>> {
    const BETWEEN: [char; 6] = ['_', '-', '.', ':', '/', ' '];
    let begins = tool
        .get(..3)
        .is_some_and(|start| start.eq_ignore_ascii_case("mcp"));
    let rest = tool.get(3..).filter(|rest| rest.starts_with(BETWEEN));
    let rest = rest.filter(|_| begins)?.trim_matches(BETWEEN);
    let parts = rest.split_once("__").or_else(|| rest.split_once(BETWEEN));
    let meant = parts.map(|(server, tool)| {
        let tool = tool.trim_start_matches(BETWEEN);
        format!("{SERVERS}{server}__{tool}")
    });
    Some(meant.filter(|meant| is_of_server(meant)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_server_s_tool_is_known_and_near_ones_are_mended() {
        for tool in ["mcp__a__b", "mcp__a_b__c-d", "mcp__a__b__c", "mcp__a___b"] {
            assert!(is_of_server(tool), "{tool}");
        }
        let long = format!("mcp__a__{}", "x".repeat(57));
        for (tool, meant) in [
            ("mcp__", None),
            ("mcp__a", None),
            ("mcp__a__", None),
            ("mcp____b", None),
            ("mcp__a__b c", None),
            ("mcp_x_y", Some("mcp__x__y")),
            ("mcp_x__y", Some("mcp__x__y")),
            ("mcp__x_y", Some("mcp__x__y")),
            ("MCP__x__y", Some("mcp__x__y")),
            ("mcp-x-y", Some("mcp__x__y")),
            ("mcp:x/y", Some("mcp__x__y")),
            (&long, None),
        ] {
            assert!(!is_of_server(tool), "{tool}");
            assert_eq!(
                meant_of_server(tool),
                Some(meant.map(str::to_owned)),
                "{tool}"
            );
        }
        for tool in ["zzz", "mcpx", "é", ""] {
            assert_eq!(meant_of_server(tool), None, "{tool}");
        }
    }
}
