//! Plays a conversation with one process and writes it down as Markdown, opaque values by name.
//! No dialect is named here.

use std::collections::HashMap;
use std::process::Command;

use serde_json::Value;

use crate::support::{Launch, Server};

/// Set to write the pages instead of comparing them.
const REGENERATE: &str = "UPDATE_TRANSCRIPTS";

/// What a dialect's transcript needs to know of its frames.
pub(crate) struct Dialect {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Members whose text is another one in each run, and what it is called.
    pub(crate) opaque: &'static [(&'static str, &'static str)],
    /// Members whose number is another one in each run or place.
    pub(crate) numbers: &'static [&'static str],
    /// The shape of a frame from the process, a key under `envelope` of its schema.
    pub(crate) shape: fn(&Value) -> &'static str,
    /// The command that prints the schema.
    pub(crate) schema: (&'static str, &'static [&'static str]),
}

pub(crate) struct Stage {
    dialect: Dialect,
    server: Server,
    envelope: Value,
    page: String,
    /// Opaque values and their names.
    names: Vec<(String, String)>,
    counts: HashMap<&'static str, usize>,
}

impl Stage {
    pub(crate) fn new(dialect: Dialect, launch: Launch) -> Self {
        let (program, args) = dialect.schema;
        let out = Command::new(program).args(args).output().unwrap();
        let schema: Value = serde_json::from_slice(&out.stdout).unwrap();
        let page = format!(
            "# A conversation in {}\n\nPlayed and written down by `tests/transcripts.rs`; not edited by hand. `→` is the \
             client, `←` the process. `<…>` stands for an opaque value, the same one wherever it stands again. Where a \
             response and an event may come in either order, the response is shown first.\n\nThe rules: \
             [the reference page](../{}.md).\n",
            dialect.title, dialect.name
        );
        Self {
            dialect,
            server: Server::spawn(launch),
            envelope: schema["envelope"].clone(),
            page,
            names: Vec::new(),
            counts: HashMap::new(),
        }
    }

    /// Begins a section: its heading and what is to be seen in it.
    pub(crate) fn section(&mut self, heading: &str, text: &str) {
        self.page.push_str(&format!("\n## {heading}\n\n{text}\n"));
    }

    /// Sends a line in which opaque values stand by name, and takes lines up to the one that `last` accepts.
    pub(crate) fn exchange(&mut self, request: &str, last: impl FnMut(&Value) -> bool) {
        let mut line = request.to_owned();
        for (value, name) in &self.names {
            line = line.replace(name, value);
        }
        assert!(!line.contains('<'), "an unknown name in {line}");
        serde_json::from_str::<Value>(&line).unwrap();
        self.server.send(format!("{line}\n"));
        let lines = self.lines(last);
        self.show(request, lines);
    }

    fn lines(&mut self, mut last: impl FnMut(&Value) -> bool) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = self.server.recv_line().expect("a line");
            let value = line.json();
            self.holds(&value);
            lines.push(String::from_utf8(line.bytes).unwrap());
            if last(&value) {
                return lines;
            }
        }
    }

    /// The frame has the members that its shape requires, and only described ones unless its kind is open.
    fn holds(&self, frame: &Value) {
        let shape = (self.dialect.shape)(frame);
        let schema = &self.envelope[shape];
        let properties = schema["properties"].as_object().unwrap();
        for member in schema["required"].as_array().unwrap() {
            let member = member.as_str().unwrap();
            let value = frame.get(member);
            let value = value.unwrap_or_else(|| panic!("{shape} without {member}: {frame}"));
            if let Some(constant) = properties[member].get("const") {
                assert_eq!(value, constant, "{frame}");
            }
        }
        // Where everything stands in an envelope, nothing stands beside it.
        if self.envelope["request"]["additionalProperties"] == false {
            for member in frame.as_object().unwrap().keys() {
                assert!(properties.contains_key(member), "{member}: {frame}");
            }
        }
    }

    /// Adds a block to the page, responses before events.
    fn show(&mut self, request: &str, lines: Vec<String>) {
        let mut frames: Vec<(String, Value)> = lines
            .into_iter()
            .map(|line| {
                let value = serde_json::from_str(&line).unwrap();
                (line, value)
            })
            .collect();
        let counted: Vec<Value> = frames.iter().map(|(_, v)| v["seq"].clone()).collect();
        if self.envelope.get("done").is_none() {
            frames.sort_by_key(|(_, value)| (self.dialect.shape)(value) == "event");
        }
        self.page.push_str(&format!("\n```text\n→ {request}\n"));
        for ((mut line, value), seq) in frames.into_iter().zip(counted) {
            if seq != value["seq"] {
                let (old, new) = (&value["seq"], &seq);
                line = line.replace(&format!("\"seq\":{old},"), &format!("\"seq\":{new},"));
            }
            self.name(&value);
            for (value, name) in &self.names {
                line = line.replace(value, name);
            }
            for member in self.dialect.numbers {
                line = without_number(&line, member);
            }
            self.page.push_str(&format!("← {line}\n"));
        }
        self.page.push_str("```\n");
    }

    /// Gives a name to each opaque value that is new.
    fn name(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (member, value) in members {
                    let opaque = self.dialect.opaque.iter().find(|(m, _)| m == member);
                    if let (Some((_, kind)), Some(text)) = (opaque, value.as_str())
                        && !self.names.iter().any(|(known, _)| known == text)
                    {
                        let count = self.counts.entry(kind).or_default();
                        *count += 1;
                        let name = format!("<{kind}-{count}>");
                        self.names.push((text.to_owned(), name));
                    }
                    self.name(value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.name(item)),
            _ => {}
        }
    }

    /// Ends the input, or waits for a process that ends by itself; compares the page or writes it.
    pub(crate) fn end(mut self, closes: bool) {
        if closes {
            self.page.push_str("\n```text\n→ (end of input)\n");
            self.server.close_stdin();
        } else {
            self.page.push_str("\n```text\n");
        }
        assert!(self.server.rest().is_empty(), "something was left to say");
        let exit = self.server.wait_exit();
        let code = exit.code.unwrap();
        self.page
            .push_str(&format!("← (end of output, exit status {code})\n```\n"));
        let root = env!("CARGO_MANIFEST_DIR");
        let path = format!("{root}/docs/protocols/transcripts/{}.md", self.dialect.name);
        if std::env::var_os(REGENERATE).is_some() {
            std::fs::write(&path, &self.page).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(written, self.page, "{path}: run again with {REGENERATE}=1");
    }
}

/// The line with `<number>` as the value of a member.
fn without_number(line: &str, member: &str) -> String {
    let key = format!("\"{member}\":");
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(&key) {
        let (before, after) = rest.split_at(at + key.len());
        out.push_str(before);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        out.push_str(if digits > 0 { "<number>" } else { "" });
        rest = &after[digits..];
    }
    out + rest
}
