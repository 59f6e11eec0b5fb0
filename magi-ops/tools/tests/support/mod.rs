//! A temporary workspace beside a hidden home, and calls of the tools on it.
//! No test lives here; not every test file uses all of it.
#![allow(dead_code, unreachable_pub)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tools::{Concurrency, Context, DefaultPolicy, ToolOutcome, ToolSet};

/// A workspace beside a hidden home, both in one temporary directory.
pub struct Place {
    _root: TempDir,
    pub workspace: PathBuf,
    pub hidden: PathBuf,
    pub outside: PathBuf,
}

pub fn place() -> Place {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().canonicalize().unwrap();
    let place = Place {
        workspace: path.join("work"),
        hidden: path.join("home"),
        outside: path.join("outside"),
        _root: root,
    };
    for directory in [&place.workspace, &place.hidden, &place.outside] {
        fs::create_dir(directory).unwrap();
    }
    fs::write(place.hidden.join("auth.json"), "top secret\n").unwrap();
    fs::write(place.outside.join("notes.txt"), "outside\n").unwrap();
    place
}

/// What holds for a call by default, whether it runs beside others, and what a person is asked.
pub async fn look(tools: &ToolSet, tool: &str, input: Value) -> (DefaultPolicy, bool, String) {
    let access = tools.access(tool, &input).await;
    let beside = tools
        .spec(tool)
        .is_none_or(|spec| spec.concurrency == Concurrency::SideBySide);
    let summary = access
        .question
        .render(&redact::Redactor::default(), 960)
        .into_string();
    (access.default, beside, summary)
}

impl Place {
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.workspace.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn context(&self) -> Context {
        Context::new(self.workspace.clone(), vec![self.hidden.clone()])
    }

    pub fn tools(&self) -> ToolSet {
        ToolSet::registered(self.context()).unwrap()
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.workspace.join(path)).unwrap()
    }

    /// Every path under the workspace, sorted; links are not followed.
    pub fn paths(&self) -> Vec<PathBuf> {
        fn walk(directory: &Path, top: &Path, out: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                out.push(entry.path().strip_prefix(top).unwrap().to_owned());
                if entry.file_type().unwrap().is_dir() {
                    walk(&entry.path(), top, out);
                }
            }
        }
        let mut out = Vec::new();
        walk(&self.workspace, &self.workspace, &mut out);
        out.sort();
        out
    }

    pub async fn run(&self, tool: &str, input: Value) -> ToolOutcome {
        let tools = self.tools();
        let outcome = tools.run(tool, &input, CancellationToken::new()).await;
        assert!(outcome.summary.len() <= 200);
        assert!(!outcome.summary.chars().any(char::is_control));
        outcome
    }

    pub async fn ok(&self, tool: &str, input: Value) -> ToolOutcome {
        let outcome = self.run(tool, input).await;
        assert!(!outcome.is_error, "{}", outcome.content);
        outcome
    }

    pub async fn err(&self, tool: &str, input: Value) -> ToolOutcome {
        let outcome = self.run(tool, input).await;
        assert!(outcome.is_error, "{}", outcome.content);
        outcome
    }
}

pub fn mkfifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}
