//! One child of either magi dialect with one session: turns, cancellation, and the lines that come meanwhile.
//! Each turn must end as it should, or the benchmark stops; times are the callers' matter.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::peer::{Peer, local, service};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    LocalAgent,
    Service,
}

pub(crate) const DIALECTS: [Dialect; 2] = [Dialect::LocalAgent, Dialect::Service];

impl Dialect {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LocalAgent => "local-agent",
            Self::Service => "service",
        }
    }

    fn delta(self) -> &'static str {
        match self {
            Self::LocalAgent => r#""event":"message.delta""#,
            Self::Service => r#""event":"turn.assistant_delta""#,
        }
    }

    fn terminal(self) -> &'static str {
        match self {
            Self::LocalAgent => r#""event":"run.finished""#,
            Self::Service => r#""event":"turn.terminal""#,
        }
    }

    /// The member of an accepted turn's answer that names it.
    fn turn_member(self) -> &'static str {
        match self {
            Self::LocalAgent => "run_id",
            Self::Service => "turn_id",
        }
    }
}

/// A home and a workspace of their own.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn with_settings(settings: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(place.work()).unwrap();
        std::fs::create_dir(place.home()).unwrap();
        std::fs::write(place.home().join("settings.json"), settings).unwrap();
        place
    }

    /// Turns of the offline provider that play `steps`.
    pub(crate) fn with_steps(steps: &str) -> Self {
        Self::with_script(&format!(r#"{{"turns":[{{"steps":[{steps}]}}]}}"#))
    }

    /// Turns of the offline provider that plays `text`.
    pub(crate) fn with_script(text: &str) -> Self {
        let place = Self::with_settings("{}");
        let script = place.0.path().join("script.json");
        std::fs::write(&script, text).unwrap();
        let settings = format!(
            r#"{{"permissions":{{"bash":"allow"}},"providers":{{"fixture":{{"script":{script:?}}}}}}}"#
        );
        std::fs::write(place.home().join("settings.json"), settings).unwrap();
        place
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }
}

pub(crate) struct Agent {
    pub(crate) peer: Peer,
    pub(crate) dialect: Dialect,
    pub(crate) session: String,
    requests: usize,
}

impl Agent {
    /// A child with a session.
    pub(crate) fn start(program: &Path, place: &Place, dialect: Dialect) -> Self {
        let mut agent = Self::bare(program, place, dialect);
        agent.request("session.create", None, "{}");
        agent.session = member(&agent.peer.line, "session_id").to_owned();
        agent
    }

    /// A child without one.
    pub(crate) fn bare(program: &Path, place: &Place, dialect: Dialect) -> Self {
        let mut command = Command::new(program);
        let args: &[&str] = match dialect {
            Dialect::LocalAgent => &["serve", "--stdio"],
            Dialect::Service => &["--app", "service"],
        };
        command
            .args(args)
            .env("MC_HOME", place.home())
            .env("NO_PROXY", "127.0.0.1")
            .current_dir(place.work());
        let mut agent = Self {
            peer: Peer::start(&mut command),
            dialect,
            session: String::new(),
            requests: 0,
        };
        let params = match dialect {
            Dialect::LocalAgent => r#"{"required_capabilities":[]}"#,
            Dialect::Service => r#"{"supported_protocol_versions":[1]}"#,
        };
        agent.request("initialize", None, params);
        agent
    }

    fn write(&mut self, method: &str, session: Option<&str>, params: &str) {
        use std::io::Write;
        self.requests += 1;
        let request = match self.dialect {
            Dialect::LocalAgent => local(self.requests, method, params),
            Dialect::Service => service(self.requests, method, session, params),
        };
        self.peer.input.write_all(&request).unwrap();
    }

    /// Asks and takes the next line for the answer.
    pub(crate) fn request(&mut self, method: &str, session: Option<&str>, params: &str) -> &str {
        self.write(method, session, params);
        self.read();
        let line = &self.peer.line;
        let fine = !line.contains(r#""error":{"#);
        assert!(fine, "{line}");
        line
    }

    fn read(&mut self) -> usize {
        let read = self.peer.read();
        assert!(read > 0, "the child ended");
        read
    }

    /// What its threads that live used of the processors.
    pub(crate) fn processor_time(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.peer.child.id())).unwrap();
        let times = tasks.flatten().map(|task| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            let first = text.split_whitespace().next();
            first.and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
        });
        Duration::from_nanos(times.sum())
    }

    /// Begins a turn; its id.
    pub(crate) fn begin(&mut self) -> String {
        let session = self.session.clone();
        match self.dialect {
            Dialect::LocalAgent => self.request(
                "turn.start",
                None,
                &format!(r#"{{"session_id":"{session}","prompt":"go"}}"#),
            ),
            Dialect::Service => self.request(
                "turn.start",
                Some(&session),
                r#"{"prompt":"go","options":{}}"#,
            ),
        };
        member(&self.peer.line, self.dialect.turn_member()).to_owned()
    }

    /// One more session of the same service.
    pub(crate) fn another_session(&mut self) -> String {
        self.request("session.create", None, "{}");
        member(&self.peer.line, "session_id").to_owned()
    }

    /// Asks the service for a turn of `session` and reads nothing.
    pub(crate) fn send_turn(&mut self, session: &str) {
        self.write(
            "turn.start",
            Some(session),
            r#"{"prompt":"go","options":{}}"#,
        );
    }

    /// Reads one line; whether it ended a turn, as it should.
    pub(crate) fn read_terminal(&mut self) -> bool {
        self.read();
        let line = &self.peer.line;
        assert!(!line.contains(r#""error":{"#), "{line}");
        let ends = line.contains(self.dialect.terminal());
        assert!(!ends || line.contains(r#""completed""#), "{line}");
        ends
    }

    /// Reads lines up to the first that contains `what`.
    pub(crate) fn wait_for(&mut self, what: &str) {
        while !self.peer.line.contains(what) {
            self.read();
        }
    }

    /// Reads up to the next delta.
    pub(crate) fn wait_for_delta(&mut self) {
        self.wait_for(self.dialect.delta());
    }

    /// A whole turn.
    pub(crate) fn turn(&mut self) -> Turn {
        self.turn_with(|_, _| {})
    }

    /// A whole turn; `delta` gets each delta's line and the moment it was read.
    pub(crate) fn turn_with(&mut self, mut delta: impl FnMut(&str, Instant)) -> Turn {
        let begun = Instant::now();
        self.begin();
        let mut turn = Turn {
            took: Duration::ZERO,
            deltas: 0,
            delta_bytes: 0,
            bytes: self.peer.line.len(),
        };
        while !self.peer.line.contains(self.dialect.terminal()) {
            let read = self.read();
            turn.bytes += read;
            if self.peer.line.contains(self.dialect.delta()) {
                delta(&self.peer.line, Instant::now());
                turn.deltas += 1;
                turn.delta_bytes += read;
            }
        }
        turn.took = begun.elapsed();
        let line = &self.peer.line;
        assert!(line.contains(r#""completed""#), "{line}");
        turn
    }

    /// From the request to cancel turn `id` to its terminal event.
    pub(crate) fn cancel(&mut self, id: &str) -> Duration {
        let session = self.session.clone();
        let begun = Instant::now();
        match self.dialect {
            Dialect::LocalAgent => self.write(
                "turn.cancel",
                None,
                &format!(r#"{{"session_id":"{session}","run_id":"{id}"}}"#),
            ),
            Dialect::Service => self.write(
                "turn.cancel",
                Some(&session),
                &format!(r#"{{"turn_id":"{id}"}}"#),
            ),
        }
        self.wait_for(self.dialect.terminal());
        let took = begun.elapsed();
        let line = &self.peer.line;
        assert!(line.contains(r#""cancelled""#), "{line}");
        took
    }

    /// Waits until another turn may begin: one more request is answered behind whatever was left to say.
    pub(crate) fn settle(&mut self) {
        let (method, params) = match self.dialect {
            Dialect::LocalAgent => ("status", "{}"),
            Dialect::Service => ("capabilities", "{}"),
        };
        self.write(method, None, params);
        self.wait_for(&format!("\"r{}\"", self.requests));
    }
}

/// What one turn took, from the request to its terminal event.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) took: Duration,
    pub(crate) deltas: usize,
    pub(crate) delta_bytes: usize,
    pub(crate) bytes: usize,
}

/// The string that stands first under this name; no value that is asked for holds an escape.
pub(crate) fn member<'l>(line: &'l str, name: &str) -> &'l str {
    let key = format!("\"{name}\":\"");
    let (_, rest) = line.split_once(&key).unwrap_or_else(|| panic!("{line}"));
    rest.split_once('"').unwrap().0
}
