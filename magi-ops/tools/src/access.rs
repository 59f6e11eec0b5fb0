//! What a call would touch, before it runs: allowed or to be asked for by default, and beside others or alone.
//! What the settings and the person say goes above this, and is not known here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::bounds::{ACCESS_BYTES, clip_bytes, is_layout};
use crate::error::ToolError;
use crate::workspace::{Scope, spellings};
use crate::{TOOLS, Toolbox, edit, skill, write};

/// How long the look at a path may take; a dead network mount must not hold a run up.
const LOOK_LIMIT: Duration = Duration::from_secs(5);
/// Bytes of a command from which on its length is said first: what is shown may be cut, here or
/// further on, and a person must know.
const LONG_COMMAND: usize = 512;
/// Directories, wherever they stand in a workspace, whose files widen what a model may do:
/// settings, hooks and skills of ours, hooks and commands of git.
const OWN_RIGHTS: &[&str] = &[".magi-code", ".git"];

/// What holds for a call where the settings say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultPolicy {
    Allow,
    Ask,
}

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub default: DefaultPolicy,
    /// Whether the call may run beside others: it changes nothing.
    pub parallel: bool,
    /// For the person who is asked: one line, the tool first, of at most 4 KiB. Not redacted.
    /// A line end within a command is shown as `⏎`.
    pub summary: String,
    /// Where the file to be written really is; none where nothing can be written.
    target: Option<PathBuf>,
}

impl Access {
    /// The one path that the admitted call may write. The empty one matches none.
    pub(crate) fn target(&self) -> PathBuf {
        self.target.clone().unwrap_or_default()
    }
}

/// Where a file to be written lies.
#[derive(Clone, Copy)]
enum Place {
    Inside,
    Outside,
    Protected,
}

impl Toolbox {
    /// Looks at a call without running it: reading and `skill` are allowed, and so is writing
    /// inside the workspace; everything else is to be asked for. Links and `..` are resolved
    /// first. A call that the toolbox is going to refuse, an unknown tool among them, is
    /// allowed: there is nothing to ask for.
    ///
    /// Pass the answer to [`Toolbox::run_admitted`], so that it holds for what is run.
    pub async fn access(&self, name: &str, input: &Value) -> Access {
        let tool = TOOLS.iter().find(|tool| tool.name == name);
        let known = tool.is_some() || name == skill::NAME;
        if name == write::TOOL.name || name == edit::TOOL.name {
            return self.writing(name, input).await;
        }
        let harmless = !known || name == skill::NAME || tool.is_some_and(|tool| tool.read_only);
        Access {
            default: if harmless {
                DefaultPolicy::Allow
            } else {
                DefaultPolicy::Ask
            },
            parallel: harmless,
            summary: match subject(input) {
                Some((member, text)) if member == "command" && text.len() > LONG_COMMAND => {
                    line(&format!("{name} ({} bytes): {text}", text.len()))
                }
                Some((_, text)) => line(&format!("{name}: {text}")),
                None => line(name),
            },
            target: None,
        }
    }

    async fn writing(&self, name: &str, input: &Value) -> Access {
        let access = |default, summary: &str, target| Access {
            default,
            parallel: false,
            summary: line(summary),
            target,
        };
        let Some(path) = input.get("path").and_then(Value::as_str) else {
            return access(DefaultPolicy::Allow, name, None);
        };
        let given = Arc::clone(&self.given);
        let path = path.to_owned();
        let asked = path.clone();
        let look = tokio::task::spawn_blocking(move || {
            let scope = Scope::new(&given.workspace, &given.hidden)?;
            let target = scope.resolve_for_writing(&asked)?;
            let place = place(&scope, &given.protected, &target);
            let shown = scope.shown(&target);
            Ok::<_, ToolError>((place, shown, target))
        });
        match tokio::time::timeout(LOOK_LIMIT, look).await {
            Ok(Ok(Ok((place, shown, target)))) => {
                let (default, words) = match place {
                    Place::Inside => (DefaultPolicy::Allow, ""),
                    Place::Outside => (DefaultPolicy::Ask, " outside the workspace"),
                    Place::Protected => (DefaultPolicy::Ask, " to a protected place"),
                };
                access(default, &format!("{name}{words}: {shown}"), Some(target))
            }
            // It will be refused for the same reason; and should the reason go away in between,
            // nothing was admitted.
            Ok(Ok(Err(_))) => access(DefaultPolicy::Allow, &format!("{name}: {path}"), None),
            Ok(Err(_)) | Err(_) => access(
                DefaultPolicy::Ask,
                &format!("{name} to a place that could not be looked at: {path}"),
                None,
            ),
        }
    }
}

fn place(scope: &Scope, protected: &[PathBuf], target: &Path) -> Place {
    let under = |path: PathBuf| target.starts_with(path);
    if protected
        .iter()
        .flat_map(|path| spellings(scope.workspace(), path))
        .any(under)
    {
        return Place::Protected;
    }
    let Ok(inside) = target.strip_prefix(scope.workspace()) else {
        return Place::Outside;
    };
    // Without regard to case: some file systems have none.
    let own = |part: std::path::Component<'_>| {
        OWN_RIGHTS
            .iter()
            .any(|name| part.as_os_str().eq_ignore_ascii_case(name))
    };
    if inside.components().any(own) {
        Place::Protected
    } else {
        Place::Inside
    }
}

/// The member that says best what a call is about.
fn subject(input: &Value) -> Option<(&'static str, &str)> {
    ["command", "pattern", "path", "name"]
        .into_iter()
        .find_map(|member| Some((member, input.get(member)?.as_str()?)))
}

/// One line of at most [`ACCESS_BYTES`]. A line end stays visible: what follows a comment must
/// not seem to be part of it. Marks are set apart by spaces, so that a secret beside one is
/// still recognized as such, and a cut falls between words, so that none is cut in two.
fn line(text: &str) -> String {
    let mut out = String::new();
    for c in text.trim_end().chars() {
        match c {
            '\n' => out.push_str(" ⏎ "),
            c if is_layout(c) => out.push(' '),
            c => out.push(c),
        }
        if out.len() > ACCESS_BYTES {
            let cut = clip_bytes(&out, ACCESS_BYTES - " …".len());
            let whole = cut.rfind(' ').filter(|at| *at > ACCESS_BYTES / 2);
            return format!("{} …", &cut[..whole.unwrap_or(cut.len())]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_line_is_one_bounded_line(text in "(.|\n|\u{202e}){0,50}", times in 1_usize..400) {
            let line = line(&text.repeat(times));
            prop_assert!(line.len() <= ACCESS_BYTES);
            prop_assert!(!line.chars().any(is_layout));
        }
    }

    #[test]
    fn a_cut_takes_whole_words() {
        let line = line(&format!(
            "bash: {} {}",
            "word ".repeat(700),
            "s".repeat(2000)
        ));
        assert!(
            line.ends_with("word  …") || line.ends_with("word …"),
            "{}",
            &line[3400..]
        );
    }
}
