//! One settings file: read within its bounds, as a tree and as a layer, with everything that is wrong or ignored of
//! it. What of a project's file counts is decided beside.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::hooks::{MAX_HOOK_BYTES, MAX_HOOKS};
use super::layer::{COMMANDS, Layer, PermissionLayer, Permissions, SNIPPETS};
use super::permissions::{MAX_RULE_BYTES, MAX_RULES};
use super::projects::directory;
use super::read::{Finding, read};
use super::rule_advice::rule_advice;
use super::tree::{self, Node};
use super::{MAX_BYTES, MAX_INSTRUCTIONS, MAX_NAME_BYTES};
use crate::file::{self, Bounded, Opened};
use crate::reason::{MAX_REASONS, Reason, Reasons, SourceText, near_miss, shown};

/// A file's own text and tree: what is said of its members names their places.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) text: Arc<SourceText>,
    root: Node,
}

impl Source {
    /// A reason that stands at the member or element under `path`, or at the nearest one above it.
    pub(super) fn reason(&self, path: &[String], reason: impl Into<String>) -> Reason {
        Reason {
            key: Some(path.join(".")),
            ..self.text.reason(self.offset(path), reason)
        }
    }

    fn offset(&self, path: &[String]) -> usize {
        let mut at = self.root.span.start;
        let mut node = &self.root;
        for name in path {
            let Some((offset, below)) = node.child(name) else {
                break;
            };
            (at, node) = (offset, below);
        }
        at
    }

    /// Every member and element, with the names that lead to it and where it begins.
    pub(super) fn walk(&self, each: &mut impl FnMut(&[String], usize)) {
        self.root.walk(each);
    }
}

/// What reading one file came to.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) layer: Layer,
    /// `None` when there is no file.
    pub(super) source: Option<Source>,
    /// Why it cannot be used.
    pub(super) problems: Reasons,
    /// What is ignored of it.
    pub(super) notices: Reasons,
}

impl File {
    /// Reads a file; one that is missing says nothing. With `inside`, the file has to lie in that directory, links
    /// followed, and to have one name only; otherwise it is ignored.
    pub(super) fn read(path: &Path, inside: Option<&Path>, tools: &[&str]) -> Self {
        let mut found = Self::default();
        match bytes(path, inside) {
            Ok(None) => {}
            Ok(Some(Ok(bytes))) => found.take(path, bytes, tools),
            Ok(Some(Err(stray))) => found.notices.add(
                Reason::of_file(path, format!("{stray}, so nothing of it counts"))
                    .help(super::project::TRUST),
            ),
            Err(problem) => found.problems.add(*problem),
        }
        found
    }

    /// Reads what is given as the content of a file.
    pub(super) fn of_bytes(path: &Path, bytes: Vec<u8>) -> Self {
        let mut found = Self::default();
        found.take(path, bytes, &[]);
        found
    }

    fn take(&mut self, path: &Path, bytes: Vec<u8>, tools: &[&str]) {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let end = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                self.problems.add(
                    SourceText::new(path, text)
                        .reason(end, "this is no UTF-8")
                        .help("save the file as UTF-8"),
                );
                return;
            }
        };
        // A byte order mark is what some editors put before every file.
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        let text = SourceText::new(path, text);
        let root = match tree::parse(&text.text) {
            Ok(root) => root,
            Err(error) => {
                let mut reason = text.reason(error.offset, error.reason);
                reason.help = error.help.map(str::to_owned);
                self.problems.add(reason);
                return;
            }
        };
        let source = Source { text, root };
        let (layer, mut findings) = read::<Layer>(&mut source.root.clone());
        findings.sort_by_key(|finding| finding.offset);
        for ignored in [false, true] {
            // One more than is told says that there are more.
            let of_kind = findings.iter().filter(|finding| finding.ignored == ignored);
            for finding in of_kind.take(MAX_REASONS + 1) {
                self.found(&source, finding);
            }
        }
        if let Some(layer) = layer {
            check(
                &layer,
                &source,
                tools,
                &mut self.problems,
                &mut self.notices,
            );
            self.layer = layer;
        }
        self.source = Some(source);
    }

    fn found(&mut self, source: &Source, finding: &Finding) {
        let mut key = None;
        source.walk(&mut |path, at| {
            if at == finding.offset {
                key = Some(path.join("."));
            }
        });
        // A value has the place of its member's key, which is what people look for.
        let reason = Reason {
            key: key.or_else(|| source.key_of_value(finding.offset)),
            help: finding.help.clone(),
            ..source.text.reason(finding.offset, finding.reason.clone())
        };
        if finding.ignored {
            self.notices.add(reason);
        } else {
            self.problems.add(reason);
        }
    }
}

impl Source {
    fn key_of_value(&self, offset: usize) -> Option<String> {
        fn go(node: &Node, offset: usize, path: &mut Vec<String>) -> bool {
            for member in node.members() {
                path.push(member.name.clone());
                if member.value.span.start == offset || go(&member.value, offset, path) {
                    return true;
                }
                path.pop();
            }
            false
        }
        let mut path = Vec::new();
        go(&self.root, offset, &mut path).then(|| path.join("."))
    }
}

/// The bytes of a file; `Ok(Some(Err(_)))` when it is not one that may be read, and why.
type Found = Result<Option<Result<Vec<u8>, &'static str>>, Box<Reason>>;

fn bytes(path: &Path, inside: Option<&Path>) -> Found {
    let unreadable = |error: std::io::Error| Box::new(file::unreadable(path, &error));
    let file = match inside {
        Some(inside) => match file::open_inside(path, inside).map_err(unreadable)? {
            Opened::Missing => return Ok(None),
            Opened::Stray(why) => return Ok(Some(Err(why))),
            Opened::File { file, .. } => file,
        },
        None => match file::open_regular(path, file::Links::Follow) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        },
    };
    match file::bounded(file, MAX_BYTES).map_err(unreadable)? {
        Bounded::Bytes(bytes) => Ok(Some(Ok(bytes))),
        Bounded::TooLong | Bounded::Missing => Err(Box::new(Reason::of_file(
            path,
            format!("this is longer than {MAX_BYTES} bytes"),
        ))),
    }
}

/// Values that have the right type and can't be used, and names that mean nothing.
fn check(
    layer: &Layer,
    source: &Source,
    tools: &[&str],
    problems: &mut Reasons,
    notices: &mut Reasons,
) {
    let at = |path: &[&str], reason: String| {
        let path: Vec<_> = path.iter().map(|&name| name.to_owned()).collect();
        source.reason(&path, reason)
    };
    for (key, name) in [("provider", &layer.provider), ("model", &layer.model)] {
        if name
            .as_ref()
            .is_some_and(|name| name.len() > MAX_NAME_BYTES)
        {
            problems.add(at(
                &[key],
                format!("this name is longer than {MAX_NAME_BYTES} bytes"),
            ));
        }
    }
    if layer.model.as_deref() == Some("") {
        problems.add(at(&["model"], "this name is empty".to_owned()));
    }
    if let Some(threshold) = layer.compaction.threshold
        && (threshold <= 0.0 || threshold > 1.0)
    {
        let reason = "this is not above 0 and at most 1".to_owned();
        problems.add(at(&["compaction", "threshold"], reason));
    }
    for (event, commands) in &layer.hooks {
        let event = event.word();
        if commands.len() > MAX_HOOKS {
            problems.add(at(
                &["hooks", event],
                format!("these are more than {MAX_HOOKS} commands"),
            ));
        }
        for (index, command) in commands.iter().enumerate() {
            let why = if command.trim().is_empty() {
                "this command is blank".to_owned()
            } else if command.contains('\0') {
                "this command holds a null character".to_owned()
            } else if command.len() > MAX_HOOK_BYTES {
                format!("this command is longer than {MAX_HOOK_BYTES} bytes")
            } else {
                continue;
            };
            problems.add(at(&["hooks", event, &index.to_string()], why));
        }
    }
    if layer.instructions.len() > MAX_INSTRUCTIONS {
        problems.add(at(
            &["instructions"],
            format!("these are more than {MAX_INSTRUCTIONS} files"),
        ));
    }
    for (index, path) in layer.instructions.iter().enumerate() {
        if path.as_os_str().is_empty() {
            let index = index.to_string();
            problems.add(at(
                &["instructions", &index],
                "this path is empty".to_owned(),
            ));
        }
    }
    let mut permissions = |all: &Permissions, path: &[&str]| {
        check_permissions(all, path, tools, &at, problems, notices);
    };
    permissions(&layer.permissions, &["permissions"]);
    for (path, project) in &layer.projects {
        permissions(&project.permissions, &["projects", path, "permissions"]);
    }
    let mut directories = BTreeMap::new();
    for path in layer.projects.keys() {
        let reason = match directory(path) {
            None => "this path is not absolute, so it is no project".to_owned(),
            Some(real) => match directories.insert(real, path) {
                None => continue,
                Some(other) => format!(
                    "this is the same directory as `{}`; of both only what is stricter counts",
                    shown(other)
                ),
            },
        };
        notices.add(at(&["projects", path], reason));
    }
}

fn check_permissions(
    all: &Permissions,
    path: &[&str],
    tools: &[&str],
    at: &impl Fn(&[&str], String) -> Reason,
    problems: &mut Reasons,
    notices: &mut Reasons,
) {
    let mut name = |tool: &str, path: &[&str]| {
        // Tools of MCP servers are known only once these run.
        if tools.is_empty() || tools.contains(&tool) || tool.starts_with("mcp__") {
            return;
        }
        let path = [path, &[tool]].concat();
        let word = shown(tool);
        match near_miss(tool, tools.iter().copied()) {
            Some(meant) => problems.add(
                at(
                    &path,
                    format!("no tool is called `{word}`; did you mean `{meant}`?"),
                )
                .help(format!(
                    "rename it to `{meant}`: as it stands it guards nothing"
                )),
            ),
            None => notices.add(at(&path, format!("no tool is called `{word}`"))),
        }
    };
    for (tool, permission) in &all.0 {
        name(tool, path);
        if let PermissionLayer::Tools(words) = permission {
            let path = [path, &[SNIPPETS]].concat();
            words.keys().for_each(|tool| name(tool, &path));
        }
    }
    let Some(PermissionLayer::Rules(rules)) = all.0.get(COMMANDS) else {
        return;
    };
    for (key, list) in [("allow", &rules.allow), ("deny", &rules.deny)] {
        let path = [path, &[COMMANDS, key]].concat();
        if list.len() > MAX_RULES {
            problems.add(at(&path, format!("these are more than {MAX_RULES} rules")));
        }
        for (index, rule) in list.iter().enumerate() {
            let why = if rule.trim().is_empty() {
                "this rule is blank, and would be about every command".to_owned()
            } else if rule.len() > MAX_RULE_BYTES {
                format!("this rule is longer than {MAX_RULE_BYTES} bytes")
            } else {
                if let Some(advice) = rule_advice(rule, key == "deny") {
                    notices.add(
                        at(&[&path[..], &[&index.to_string()]].concat(), advice.reason)
                            .help(advice.help),
                    );
                }
                continue;
            };
            problems.add(at(&[&path[..], &[&index.to_string()]].concat(), why));
        }
    }
}
