//! A home, a directory and a script of the offline provider for tests of a person's commands, and the built binary in them.
//! Knows no command.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Person {
    dir: TempDir,
}

impl Person {
    /// One whose model plays this script.
    pub(crate) fn with(script: &Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["work", "mc"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let person = Self { dir };
        std::fs::write(person.at("work/README.md"), "# Readme\n").unwrap();
        std::fs::write(person.at("script.json"), script.to_string()).unwrap();
        person.set(&json!({}));
        person
    }

    /// One whose model says this to everything.
    #[allow(dead_code)]
    pub(crate) fn told(text: &str) -> Self {
        Self::with(&turn(&json!([{ "text": text }])))
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Writes the person's settings, to which the script belongs.
    pub(crate) fn set(&self, settings: &Value) {
        let mut settings = settings.clone();
        settings["providers"]["fixture"]["script"] = json!(self.at("script.json"));
        std::fs::write(self.at("mc/settings.json"), settings.to_string()).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_magi-code"));
        command
            .args(args)
            .current_dir(self.at("work"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.at("home"))
            .env("MC_HOME", self.at("mc"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str], stdin: &str) -> Ran {
        let mut child = self.command(args).spawn().unwrap();
        // A command that reads nothing may be gone already.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        child.wait_with_output().unwrap().into()
    }

    /// The ids of the sessions that are there.
    pub(crate) fn sessions(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.at("mc/sessions")) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
            .collect()
    }
}

/// A script of one turn, which repeats.
pub(crate) fn turn(steps: &Value) -> Value {
    json!({"turns": [{ "steps": steps }]})
}

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
