//! A look at a call before it runs: what its paths and its command line would touch.
//! What the settings and the person say goes above this, and is not known here.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::access::{Access, DefaultPolicy};
use crate::approval::Question;
use crate::context::Context;
use crate::rules::Ruling;
use crate::workspace::{Scope, spellings};

/// Names, wherever they stand in a workspace, of what instructs an agent later or runs later: settings, hooks
/// and skills of ours, instructions, hooks and commands of git.
const OWN_RIGHTS: &[&str] = &[".magi-code", ".git", "AGENTS.md", ".githooks", ".husky"];

/// Where a file to be written lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Inside,
    Outside,
    Protected,
}

impl Access {
    /// A call that only reads what lies at or below the member `path` of its input, the workspace without one;
    /// `about` is what is looked for there. Allowed but for places that are known to hold credentials.
    pub fn reading(name: &str, input: &Value, about: &[&str], cx: &Context) -> Self {
        let member = |member: &&str| Some((*member).to_owned()).zip(input.get(*member)?.as_str());
        let path = input.get("path").and_then(Value::as_str);
        let look = cx.scope().and_then(|scope| {
            let resolved = scope.resolve(path.unwrap_or("."))?;
            let shown = scope.shown(&resolved);
            let allow = DefaultPolicy::Allow;
            Ok(if scope.holds_credentials(&resolved) {
                let words = " a place that may hold credentials";
                (DefaultPolicy::Ask, words, shown, Some(resolved))
            } else if resolved.starts_with(scope.workspace()) {
                (allow, "", shown, None)
            } else {
                (allow, " outside the workspace", shown, None)
            })
        });
        // Else it will be refused for the same reason, or what appears there is not admitted.
        let (default, words, place, target) = look.unwrap_or_else(|_| {
            let path = path.unwrap_or(".").to_owned();
            (DefaultPolicy::Allow, "", path, None)
        });
        let mut about = about.iter().filter_map(member);
        let subject = match about.next() {
            None => place,
            Some((_, first)) => about.fold(format!("{first} in {place}"), |all, (member, more)| {
                format!("{all} ({member} {more})")
            }),
        };
        Self {
            target,
            ..Self::new(default, Question::new(format!("{name}{words}"), subject))
        }
    }

    /// A command line; none where the call is going to be refused.
    pub(crate) fn command(name: &str, line: Option<&str>, cx: &Context) -> Self {
        let Some(line) = line else {
            return Self {
                // There is nothing to ask for, whatever is said of other lines.
                ruling: Some((Ruling::Allowed, cx.rules.default())),
                ..Self::new(DefaultPolicy::Allow, Question::new(name, ""))
            };
        };
        let is_free = |target: &str| {
            cx.scope().is_ok_and(|scope| {
                scope.resolve_for_writing(target).is_ok_and(|target| {
                    // A second name of a file may stand anywhere, and the shell writes into the file itself.
                    let is_shared = fs::symlink_metadata(&target)
                        .is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 1);
                    !is_shared && place(&scope, &cx.protected, &target) == Place::Inside
                })
            })
        };
        let ruling = cx.rules.judge(line, &is_free);
        Self {
            ruling: Some((ruling, cx.rules.default())),
            ..Self::new(DefaultPolicy::Ask, Question::of_command(name, line))
        }
    }

    /// A call that writes the file of its member `path`: allowed inside the workspace, to be asked for
    /// elsewhere. Links and `..` are resolved first.
    pub(crate) fn writing(name: &str, input: &Value, cx: &Context) -> Self {
        let Some(path) = input.get("path").and_then(Value::as_str) else {
            return Self::new(DefaultPolicy::Allow, Question::new(name, ""));
        };
        let look = cx.scope().and_then(|scope| {
            let target = scope.resolve_for_writing(path)?;
            let (default, words) = match place(&scope, &cx.protected, &target) {
                Place::Inside => (DefaultPolicy::Allow, ""),
                Place::Outside => (DefaultPolicy::Ask, " outside the workspace"),
                Place::Protected => (DefaultPolicy::Ask, " to a protected place"),
            };
            let question = Question::new(format!("{name}{words}"), scope.shown(&target));
            Ok(Self {
                target: Some(target),
                ..Self::new(default, question)
            })
        });
        // Else it will be refused for the same reason; and should the reason go away in between, nothing was
        // admitted.
        look.unwrap_or_else(|_| Self::new(DefaultPolicy::Allow, Question::new(name, path)))
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
