//! What a call would touch, before it runs: allowed or to be asked for by default, and beside others or alone.
//! What the settings and the person say goes above this, and is not known here.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bounds::{ACCESS_BYTES, clip_bytes, is_layout};
use crate::context::Context;
use crate::workspace::{Scope, spellings};

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
    /// For the person who is asked: one line, the tool first, of at most 4 KiB. Not redacted.
    /// A line end within a command is shown as `⏎`.
    pub summary: String,
    /// Where the file to be written really is; none where nothing can be written.
    target: Option<PathBuf>,
}

/// Where a file to be written lies.
#[derive(Clone, Copy)]
enum Place {
    Inside,
    Outside,
    Protected,
}

impl Access {
    /// A call that writes no file of its own, with what a person is asked.
    #[must_use]
    pub fn new(default: DefaultPolicy, summary: &str) -> Self {
        Self {
            default,
            summary: line(summary),
            target: None,
        }
    }

    /// A call that only reads, about the member of its input that says best what for.
    pub(crate) fn reading(name: &str, input: &Value, members: &[&str]) -> Self {
        let about = members
            .iter()
            .find_map(|member| input.get(member)?.as_str());
        let summary = match about {
            Some(text) => format!("{name}: {text}"),
            None => name.to_owned(),
        };
        Self::new(DefaultPolicy::Allow, &summary)
    }

    /// A command line, whose length is said first where what is shown of it may be cut.
    pub(crate) fn command(name: &str, command: Option<&str>) -> Self {
        let summary = match command {
            Some(text) if text.len() > LONG_COMMAND => {
                format!("{name} ({} bytes): {text}", text.len())
            }
            Some(text) => format!("{name}: {text}"),
            None => name.to_owned(),
        };
        Self::new(DefaultPolicy::Ask, &summary)
    }

    /// A call that writes the file of its member `path`: allowed inside the workspace, to be asked for
    /// elsewhere. Links and `..` are resolved first.
    pub(crate) fn writing(name: &str, input: &Value, cx: &Context) -> Self {
        let Some(path) = input.get("path").and_then(Value::as_str) else {
            return Self::new(DefaultPolicy::Allow, name);
        };
        let look = cx.scope().and_then(|scope| {
            let target = scope.resolve_for_writing(path)?;
            let place = place(&scope, cx.protected(), &target);
            Ok((place, scope.shown(&target), target))
        });
        match look {
            Ok((place, shown, target)) => {
                let (default, words) = match place {
                    Place::Inside => (DefaultPolicy::Allow, ""),
                    Place::Outside => (DefaultPolicy::Ask, " outside the workspace"),
                    Place::Protected => (DefaultPolicy::Ask, " to a protected place"),
                };
                Self {
                    target: Some(target),
                    ..Self::new(default, &format!("{name}{words}: {shown}"))
                }
            }
            // It will be refused for the same reason; and should the reason go away in between,
            // nothing was admitted.
            Err(_) => Self::new(DefaultPolicy::Allow, &format!("{name}: {path}")),
        }
    }

    /// The one path that the admitted call may write. The empty one matches none.
    pub(crate) fn target(&self) -> PathBuf {
        self.target.clone().unwrap_or_default()
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
