//! One settings file: read within its bounds, as a tree and as a layer, with everything that is wrong or ignored of
//! it. What of a project's file counts is decided beside.

use std::path::Path;
use std::sync::Arc;

use super::MAX_BYTES;
use super::check::check;
use super::layer::Layer;
use super::read::{Finding, read};
use super::tree::{self, Node};
use crate::file::{self, Opened};
use crate::reason::{MAX_REASONS, Reason, Reasons, SourceText};

/// A file's own text and tree: what is said of its members names their places.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) text: Arc<SourceText>,
    root: Node,
}

impl Source {
    /// A reason that stands at the member or element under `path`, or at the nearest one above it.
    pub(super) fn reason(&self, path: &[impl AsRef<str>], reason: impl Into<String>) -> Reason {
        let names: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
        let (offset, _) = self.nearest(&names);
        Reason {
            key: Some(names.join(".")),
            ..self.text.reason(offset, reason)
        }
    }

    /// The names of the members under `path`, however wrong they are.
    pub(super) fn members(&self, path: &[&str]) -> impl Iterator<Item = &str> {
        let (_, node) = self.nearest(path);
        node.members().iter().map(|member| member.name.as_str())
    }

    fn nearest(&self, path: &[&str]) -> (usize, &Node) {
        let mut found = (self.root.span.start, &self.root);
        for name in path {
            match found.1.child(name) {
                Some(below) => found = below,
                None => break,
            }
        }
        found
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
            check(&layer, tools, &mut |path, found| {
                let mut reason = source.reason(path, found.reason);
                reason.help = Some(found.help);
                match found.ignored {
                    true => self.notices.add(reason),
                    false => self.problems.add(reason),
                }
            });
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
    let Some(inside) = inside else {
        return Ok(file::read(path, MAX_BYTES)?.map(Ok));
    };
    let opened = file::open_inside(path, inside);
    match opened.map_err(|error| Box::new(file::unreadable(path, &error)))? {
        Opened::Missing => Ok(None),
        Opened::Stray(why) => Ok(Some(Err(why))),
        Opened::File { file, .. } => Ok(Some(Ok(file::read_open(file, path, MAX_BYTES)?))),
    }
}
