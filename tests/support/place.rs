//! A private home and workspace on the disk for the children of one test.
//! What is started in it belongs to the parent module.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

/// A private `MC_HOME` and workspace, deleted at the end. Two servers share one by cloning the `Arc`.
pub(crate) struct Place {
    root: tempfile::TempDir,
}

impl Place {
    /// An empty workspace and a home that does not hold an `MC_HOME` yet.
    pub(crate) fn new() -> Arc<Self> {
        let root = tempfile::tempdir().expect("a temporary folder");
        for name in ["home", "work"] {
            std::fs::create_dir(root.path().join(name)).expect("a subfolder");
        }
        Arc::new(Self { root })
    }

    /// A place whose global settings are `settings`.
    pub(crate) fn with_settings(settings: &Value) -> Arc<Self> {
        let place = Self::new();
        place.write_settings(settings);
        place
    }

    /// A place where the offline provider plays `script`.
    pub(crate) fn with_script(script: &Value) -> Arc<Self> {
        let place = Self::new();
        place.write_script(script);
        place
    }

    /// One whose turns play `steps`, and whose tasks play what is written for the beginning of their prompts.
    pub(crate) fn with_tasks(steps: &Value, tasks: &[(&str, Value)]) -> Arc<Self> {
        let tasks: Vec<_> = tasks
            .iter()
            .map(|(prompt, steps)| json!({"prompt": prompt, "turns": [{"steps": steps}]}))
            .collect();
        Self::with_script(&json!({"turns": [{"steps": steps}], "tasks": tasks}))
    }

    /// One whose model plays `script` and has a window of so many tokens.
    pub(crate) fn with_window(script: &Value, window: u64) -> Arc<Self> {
        let place = Self::with_script(script);
        let path = place.root().join("script.json");
        let fixture = json!({"script": path, "context_window": window});
        place.write_settings(&json!({"providers": {"fixture": fixture}}));
        place
    }

    /// One whose model has a window of 1,000 tokens, says after each response that `used` are used, and is asked for a
    /// summary with `steps`.
    pub(crate) fn with_compaction(used: u64, steps: &Value) -> Arc<Self> {
        let turns: Vec<_> = (1..=6)
            .map(|n| {
                json!({"steps": [
                    {"text": format!("Answer {n}.")},
                    {"usage": {"input": used, "output": 0}},
                ]})
            })
            .collect();
        Self::with_window(
            &json!({"turns": turns, "compaction": {"steps": steps}}),
            1000,
        )
    }

    /// `HOME` of the child; its default `MC_HOME` would be `.magi-code` in here.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// `MC_HOME` of the child. It does not exist until somebody creates it.
    pub(crate) fn mc_home(&self) -> PathBuf {
        self.home().join(".magi-code")
    }

    /// The child's working directory.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// A folder for the test's own files, outside of home and workspace.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The file that stores a session's records.
    pub(crate) fn session_file(&self, session_id: &str) -> PathBuf {
        self.mc_home()
            .join("sessions")
            .join(format!("{session_id}.jsonl"))
    }

    /// What the records of a session say, in their order.
    pub(crate) fn records(&self, session_id: &str) -> Vec<Value> {
        Self::bodies(&self.session_file(session_id))
    }

    /// What the records of a file say, in their order.
    pub(crate) fn bodies(file: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(file).expect("a file of records");
        let record = |line| serde_json::from_str::<Value>(line).expect("a record");
        text.lines()
            .map(|line| record(line)["body"].take())
            .collect()
    }

    /// Writes the global settings, creating `MC_HOME`.
    pub(crate) fn write_settings(&self, settings: &Value) {
        std::fs::create_dir_all(self.mc_home()).expect("MC_HOME");
        let text = serde_json::to_vec_pretty(settings).expect("settings");
        std::fs::write(self.mc_home().join("settings.json"), text).expect("settings.json");
    }

    /// Writes `script` and global settings that make the offline provider play it.
    pub(crate) fn write_script(&self, script: &Value) {
        let path = self.root.path().join("script.json");
        std::fs::write(&path, serde_json::to_vec(script).expect("script")).expect("script.json");
        self.write_settings(&serde_json::json!({"providers": {"fixture": {"script": path}}}));
    }

    /// Says in the global settings that the workspace's own files are trusted.
    pub(crate) fn trust(&self) {
        let path = self.mc_home().join("settings.json");
        let mut settings: Value = std::fs::read(&path).map_or_else(
            |_| serde_json::json!({}),
            |text| serde_json::from_slice(&text).expect("settings"),
        );
        let work = self.work().canonicalize().expect("a workspace");
        settings["projects"][work.to_str().expect("UTF-8")]["trusted"] = true.into();
        self.write_settings(&settings);
    }

    /// Writes a file of the workspace, creating its parents.
    pub(crate) fn write_file(&self, path: &str, content: &str) {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("parents");
        std::fs::write(path, content).expect("a workspace file");
    }
}
