//! What `exec` puts out: the last response's text on standard output and what went wrong on stderr, or every event as a line
//! of JSON.
//! Decides nothing; the exit status is the caller's.

use std::fs::File;
use std::io::{self, Write as _};

use consumer::display::plain;
use consumer::local_agent::answer::Attached;
use consumer::local_agent::event::RunFinished;
use consumer::local_agent::{ActivityState, Event, Outcome, Status, Transcript};
use serde_json::{Map, Value, json};

use crate::client::reasons::Tokens;
use crate::program::complain;

pub(super) struct Report {
    output: File,
    json: bool,
    /// The messages since the last call of a tool began: those of one response, which may be the last.
    said: Vec<String>,
}

impl Report {
    pub(super) fn new(output: File, json: bool) -> Self {
        Self {
            output,
            json,
            said: Vec::new(),
        }
    }

    /// One event as one line.
    fn line(&mut self, event: &str, mut data: Map<String, Value>) -> io::Result<()> {
        data.insert("event".to_owned(), event.into());
        let line = format!("{}\n", Value::Object(data));
        self.output.write_all(line.as_bytes())
    }

    /// Which session it is, and what answers.
    pub(super) fn attached(&mut self, session: &Attached, status: &Status) -> io::Result<()> {
        for notice in &session.notices {
            if !self.json {
                complain(&format!("magi-code exec: session: {}", plain(notice)));
            }
        }
        if !self.json {
            return Ok(());
        }
        let data = json!({
            "session_id": session.session_id,
            "provider": status.provider,
            "model": status.model,
            "notices": session.notices,
        });
        self.line("session", members(data))
    }

    /// An event of the run but its last.
    pub(super) fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::MessageReconcile(piece) if piece.last_part => {
                self.said.push(piece.message_id.to_string());
            }
            Event::ActivityEvent(activity) if activity.state == ActivityState::Started => {
                self.said.clear();
            }
            Event::Diagnostic(diagnostic) if !self.json => {
                complain(&format!("magi-code exec: {}", plain(&diagnostic.summary)));
            }
            _ => {}
        }
        match self.json {
            true => self.line(event.name(), members(json!(event))),
            false => Ok(()),
        }
    }

    /// The end, as the server told it.
    pub(super) fn finished(
        &mut self,
        ended: &RunFinished,
        run: Option<&Transcript>,
        tokens: Tokens,
        status: i32,
    ) -> io::Result<()> {
        let completed = ended.outcome == Outcome::Completed;
        let text = run.filter(|_| completed).map(|run| self.text(run));
        let text = text.unwrap_or_default();
        if self.json {
            let mut data = members(json!(ended));
            data.insert("text".to_owned(), text.into());
            let tokens = json!({"input": tokens.input, "output": tokens.output});
            data.insert("tokens".to_owned(), tokens);
            data.insert("exit_status".to_owned(), status.into());
            return self.line("run.finished", data);
        }
        if !completed {
            let code = ended.error_code.map(|code| format!(" ({})", code.word()));
            let code = code.unwrap_or_default();
            complain(&format!(
                "magi-code exec: turn {}{code}",
                ended.outcome.word()
            ));
        }
        if text.is_empty() {
            return Ok(());
        }
        // What a model wrote may be on its way to a terminal, through whatever pipe.
        let text = plain(&text);
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.output.write_all(format!("{text}{end}").as_bytes())
    }

    fn text(&self, run: &Transcript) -> String {
        let said = self.said.iter().filter_map(|id| run.segment(id));
        said.map(|segment| segment.text())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// There was no turn, or its end is not known. The exit status.
    pub(super) fn refused(&mut self, why: &str, more: &[String], status: i32) -> io::Result<i32> {
        complain(&format!("magi-code exec: {}", plain(why)));
        for line in more {
            complain(&plain(line));
        }
        if self.json {
            let outcome = match status {
                super::INTERRUPTED => Outcome::Cancelled,
                _ => Outcome::Failed,
            };
            let data = json!({
                "outcome": outcome.word(),
                "error": why,
                "text": "",
                "exit_status": status,
            });
            self.line("run.finished", members(data))?;
        }
        Ok(status)
    }
}

/// The members of an object.
fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
