//! A chat in a terminal of its own: tmux, spoken to by keys and read by captures.
//! Knows no words of the chat.

use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::person::Person;

/// How long a screen is waited for: long, for a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Tmux<'a> {
    person: &'a Person,
}

impl<'a> Tmux<'a> {
    /// A chat on a screen of 60 columns. `None` where there is no tmux, which is a failure where all tools must be there.
    pub(crate) fn chat(person: &'a Person, vars: &str, args: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "there is no tmux");
            return None;
        }
        let tmux = Self { person };
        let program = env!("CARGO_BIN_EXE_magi-code");
        let path = std::env::var("PATH").unwrap();
        let (home, mc) = (person.at("home"), person.at("mc"));
        let (home, mc) = (home.display(), mc.display());
        // What follows shows how it ended, and whether the terminal is as it was.
        let line = format!(
            "env -i PATH='{path}' HOME='{home}' MC_HOME='{mc}' TERM=\"$TERM\" LANG=C.UTF-8 {vars} '{program}' chat {args}; \
             echo \"ended $?\"; stty -a | grep -q ' echo ' && echo its keys are shown; exec sleep 600"
        );
        let work = person.at("work");
        let work = work.to_str().unwrap();
        tmux.run(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "60",
            "-y",
            "24",
            "-c",
            work,
            &line,
        ]);
        Some(tmux)
    }

    fn run(&self, args: &[&str]) -> Output {
        let socket = self.person.at("tmux");
        let output = Command::new("tmux")
            .env_remove("TMUX")
            .arg("-u")
            .arg("-S")
            .arg(socket)
            .args(args)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }

    /// Presses keys by tmux's names.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys"][..], keys].concat());
    }

    /// Types a text and Enter.
    pub(crate) fn say(&self, text: &str) {
        self.run(&["send-keys", "-l", text]);
        self.keys(&["Enter"]);
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.run(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// What stands there, with what scrolled away.
    pub(crate) fn text(&self) -> String {
        let output = self.run(&["capture-pane", "-p", "-S", "-200"]);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same with looks.
    pub(crate) fn looks(&self) -> String {
        let output = self.run(&["capture-pane", "-p", "-e", "-S", "-200"]);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits for a screen, and gives it.
    pub(crate) fn until(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let text = self.text();
            if fits(&text) {
                return text;
            }
            assert!(began.elapsed() < PATIENCE, "no screen with {what}:\n{text}");
            sleep(Duration::from_millis(30));
        }
    }

    /// Waits for a text on the screen.
    pub(crate) fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits for the sign that a line may be typed, alone on the last line.
    pub(crate) fn waits(&self) -> String {
        self.until("a prompt", |screen| screen.trim_end().ends_with('›'))
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        // The chat ends with its terminal.
        let socket = self.person.at("tmux");
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(socket)
            .arg("kill-server")
            .output();
    }
}
