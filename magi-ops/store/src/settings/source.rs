//! One settings file: read within its bounds, as a tree and as a layer, with everything that is wrong or ignored of
//! it. What of a project's file counts is decided beside.

use std::path::Path;
use std::sync::Arc;

use super::MAX_BYTES;
use super::check::check;
use super::fault::{Fault, Finding};
use super::layer::Layer;
use super::project::TRUST;
use super::read::read;
use super::tree::{self, Node};
use crate::file::{self, Found};
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

    /// What is written as the value under `path`.
    pub(super) fn written(&self, path: &[&str]) -> Option<&str> {
        let mut node = &self.root;
        for name in path {
            node = node.child(name)?.1;
        }
        self.text.text.get(node.span.clone())
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
        self.root.walk(&mut |path, at, _| each(path, at));
    }

    /// The names that lead to what begins at a byte: a member with its name, or its value.
    fn key(&self, offset: usize) -> Option<String> {
        let mut key = None;
        self.root.walk(&mut |path, at, value| {
            if offset == at || offset == value.span.start {
                key = Some(path.join("."));
            }
        });
        key
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
        let bytes = match inside.map(|inside| file::open_inside(path, inside)) {
            None => file::read(path, MAX_BYTES),
            Some(Ok(Found::Missing)) => Ok(None),
            Some(Ok(Found::Ignored(why))) => {
                let why = format!("{why}, so nothing of it counts");
                found.notices.add(Reason::of_file(path, why).help(TRUST));
                Ok(None)
            }
            Some(Ok(Found::There((file, _)))) => file::read_open(file, path, MAX_BYTES).map(Some),
            Some(Err(error)) => Err(Box::new(file::unreadable(path, &error))),
        };
        match bytes {
            Ok(None) => {}
            Ok(Some(bytes)) => found.take(path, bytes, tools),
            Err(problem) => found.problems.add(*problem),
        }
        found
    }

    /// Reads what is given as the content of a file.
    pub(super) fn of_bytes(path: &Path, bytes: Vec<u8>, tools: &[&str]) -> Self {
        let mut found = Self::default();
        found.take(path, bytes, tools);
        found
    }

    fn take(&mut self, path: &Path, bytes: Vec<u8>, tools: &[&str]) {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let end = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let fault = Fault::new("this is no UTF-8", "save the file as UTF-8");
                return self.tell(&SourceText::new(path, text), None, fault.at(end));
            }
        };
        let text = SourceText::new(path, file::without_mark(text));
        let root = match tree::parse(&text.text) {
            Ok(root) => root,
            Err(finding) => return self.tell(&text, None, finding),
        };
        let source = Source { text, root };
        let (layer, mut findings) = read::<Layer>(&mut source.root.clone());
        findings.sort_by_key(|finding| finding.offset);
        let (ignored, wrong): (Vec<_>, Vec<_>) = findings
            .into_iter()
            .partition(|finding| finding.fault.ignored);
        for of_kind in [wrong, ignored] {
            // One more than is told says that there are more.
            for finding in of_kind.into_iter().take(MAX_REASONS + 1) {
                self.tell(&source.text, source.key(finding.offset), finding);
            }
        }
        if let Some(layer) = layer {
            check(&layer, tools, &mut |path, fault| {
                let (offset, _) = source.nearest(path);
                self.tell(&source.text, Some(path.join(".")), fault.at(offset));
            });
            self.layer = layer;
        }
        self.source = Some(source);
    }

    /// Tells what is wrong with or ignored of the member called `key`.
    fn tell(&mut self, text: &SourceText, key: Option<String>, Finding { offset, fault }: Finding) {
        let reason = Reason {
            key,
            help: fault.help,
            ..text.reason(offset, fault.reason)
        };
        match fault.ignored {
            true => self.notices.add(reason),
            false => self.problems.add(reason),
        }
    }
}
