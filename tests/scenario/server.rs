//! Plays a server-driving case against the built binary on real pipes.
//! What is true of every frame is the dialect's `Watch`; patterns are pattern.rs.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::pattern::{fill, fits, short};
use super::{Dialect, Names, Scenario, Watch};
use crate::support::{Launch, PATIENCE, Place, Server};

/// Frames of a failed case that its message shows.
const SHOWN: usize = 12;
/// Pages a walk follows before it fails.
const MOST_PAGES: u64 = 500;

struct Process<W> {
    server: Server,
    watch: W,
    open: bool,
    ended: bool,
    seen: VecDeque<String>,
}

struct Stage<'a, D: Dialect> {
    scenario: &'a Scenario,
    place: Arc<Place>,
    names: Names,
    processes: BTreeMap<String, Process<D::Watch>>,
}

pub(super) fn play<D: Dialect>(scenario: &Scenario, steps: &[Value]) -> Result<(), String> {
    let mut names = Names::new();
    if let Some(entries) = scenario.json["setup"].get("http") {
        names.insert("http".into(), super::http::serve(entries)?.into());
    }
    let mut stage = Stage::<D> {
        scenario,
        place: place(&scenario.json["setup"], &names)?,
        names,
        processes: BTreeMap::new(),
    };
    stage.steps(steps)?;
    // Whoever still runs is told that there is no more input, and must end well.
    let left: Vec<_> = (stage.processes.iter())
        .filter(|(_, process)| !process.ended)
        .map(|(name, _)| name.clone())
        .collect();
    for name in left {
        let process = stage.process(&name)?;
        process.close();
        while process.frame()?.is_some() {}
        process
            .end(&json!(0))
            .map_err(|why| format!("at the end, {name}: {why}"))?;
    }
    Ok(())
}

fn place(setup: &Value, names: &Names) -> Result<Arc<Place>, String> {
    let place = Place::new();
    let settings = setup.get("settings").cloned().unwrap_or(json!({}));
    let mut settings = fill(&settings, names)?;
    if let Some(script) = setup.get("script") {
        let path = place.root().join("script.json");
        let script = fill(script, &Names::new())?;
        std::fs::write(&path, script.to_string()).map_err(|error| error.to_string())?;
        settings["providers"]["fixture"]["script"] = json!(path);
    }
    if settings != json!({}) {
        place.write_settings(&settings);
    }
    if setup["trusted"] == true {
        place.trust();
    }
    for (path, content) in setup["workspace"].as_object().into_iter().flatten() {
        match fill(content, &Names::new())? {
            Value::String(text) => place.write_file(path, &text),
            other => place.write_file(path, &other.to_string()),
        }
    }
    Ok(place)
}

impl<D: Dialect> Stage<'_, D> {
    fn steps(&mut self, steps: &[Value]) -> Result<(), String> {
        for (n, step) in steps.iter().enumerate() {
            self.step(step).map_err(|why| {
                let name = step["on"].as_str().unwrap_or("main");
                let seen = self.processes.get(name).map(|process| {
                    let seen: Vec<_> = process.seen.iter().map(String::as_str).collect();
                    format!("\n  its last frames:\n    {}", seen.join("\n    "))
                });
                format!(
                    "step {n} {}: {why}{}",
                    short(step),
                    seen.unwrap_or_default()
                )
            })?;
        }
        Ok(())
    }

    fn process(&mut self, name: &str) -> Result<&mut Process<D::Watch>, String> {
        self.processes
            .get_mut(name)
            .ok_or_else(|| format!("{name} was not launched"))
    }

    fn step(&mut self, step: &Value) -> Result<(), String> {
        let map = step.as_object().ok_or("a step is an object")?;
        let on = step["on"].as_str().unwrap_or("main");
        let mut kinds = map.iter().filter(|(key, _)| *key != "on");
        let (Some((kind, value)), None) = (kinds.next(), kinds.next()) else {
            return Err("a step has one kind, and `on`".into());
        };
        match kind.as_str() {
            "launch" => self.launch(value),
            "request" | "send" => {
                let mut frame = fill(value, &self.names)?;
                if kind == "request" {
                    frame = D::frame(&frame);
                }
                let process = self.process(on)?;
                process.watch.sent(&frame);
                process
                    .server
                    .try_send(format!("{frame}\n"))
                    .map_err(|error| format!("cannot write: {error}"))
            }
            "send_text" => {
                let text = fill(value, &self.names)?;
                let text = text.as_str().ok_or("send_text takes a string")?.to_owned();
                let process = self.process(on)?;
                for line in text.lines() {
                    // What is a request in spite of all may be answered under its identity.
                    if let Ok(frame) = serde_json::from_str(line) {
                        process.watch.sent(&frame);
                    }
                }
                process
                    .server
                    .try_send(text)
                    .map_err(|error| format!("cannot write: {error}"))
            }
            "close_input" => {
                self.process(on)?.close();
                Ok(())
            }
            "kill" => {
                let process = self.process(on)?;
                process.server.signal(rustix::process::Signal::KILL);
                process.server.wait_exit();
                process.ended = true;
                Ok(())
            }
            "expect" => {
                let frame = self.process(on)?.must()?;
                fits(value, &frame, &mut self.names)?;
                self.negotiated(on)
            }
            "await" => self.awaits(on, value),
            "collect" => self.collect(on, value),
            "walk" => self.walk(on, value),
            "poll" => self.poll(on, value),
            "expect_end" => {
                let process = self.process(on)?;
                match process.frame()? {
                    None => process.end(value),
                    Some(frame) => Err(format!("one more frame: {}", short(&frame))),
                }
            }
            "repeat" => {
                let times = value["times"].as_u64().ok_or("repeat has times")?;
                let inner = value["steps"].as_array().ok_or("repeat has steps")?;
                for n in 1..=times {
                    self.names.insert("n".into(), n.into());
                    self.steps(inner)
                        .map_err(|why| format!("repetition {n}: {why}"))?;
                }
                Ok(())
            }
            "session_file" => self.session_file(value),
            "settings_file" => {
                let text = match fill(value, &self.names)? {
                    Value::String(text) => text,
                    settings => settings.to_string(),
                };
                let file = self.place.mc_home().join("settings.json");
                std::fs::write(file, text).map_err(|error| error.to_string())
            }
            _ => Err(format!("no step {kind}")),
        }
    }

    fn launch(&mut self, value: &Value) -> Result<(), String> {
        let (name, folder) = match value {
            Value::String(name) => (name.as_str(), None),
            _ => (
                value["name"].as_str().unwrap_or("main"),
                value["cwd"].as_str(),
            ),
        };
        if self.processes.get(name).is_some_and(|old| !old.ended) {
            return Err(format!("{name} is still running"));
        }
        let mut launch = Launch::new(env!("CARGO_BIN_EXE_magi-code"), D::ARGS).place(&self.place);
        if let Some(folder) = folder {
            let folder = self.place.root().join(folder);
            std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
            launch = launch.cwd(folder);
        }
        let env = self.scenario.json["setup"]["env"].as_object();
        for (name, value) in env.into_iter().flatten() {
            let value = value.as_str().ok_or("env has strings")?;
            launch = launch.env(name, value);
        }
        let process = Process {
            server: Server::spawn(launch),
            watch: D::Watch::default(),
            open: true,
            ended: false,
            seen: VecDeque::new(),
        };
        self.processes.insert(name.to_owned(), process);
        Ok(())
    }

    /// Once a server has said what it offers, a scenario that needs more is not for it.
    fn negotiated(&mut self, on: &str) -> Result<(), String> {
        let needs = self.scenario.json["needs"].as_array();
        let process = &self.processes[on];
        let Some(offered) = process.watch.advertised() else {
            return Ok(());
        };
        for need in needs.into_iter().flatten() {
            if !offered.iter().any(|offered| need == offered) {
                return Err(format!(
                    "the server does not advertise {need}, which this scenario needs"
                ));
            }
        }
        Ok(())
    }

    fn awaits(&mut self, on: &str, value: &Value) -> Result<(), String> {
        let mut open = value.as_array().ok_or("await takes an array")?.clone();
        while !open.is_empty() {
            let frame = self
                .process(on)?
                .frame()?
                .ok_or_else(|| format!("the output ended before {}", Value::from(open.clone())))?;
            let fitting =
                (0..open.len()).find(|n| fits(&open[*n], &frame, &mut self.names).is_ok());
            if let Some(n) = fitting {
                open.remove(n);
            }
        }
        self.negotiated(on)
    }

    fn collect(&mut self, on: &str, value: &Value) -> Result<(), String> {
        for key in value.as_object().ok_or("collect takes an object")?.keys() {
            let known = ["until", "require", "forbid", "only", "join", "count"];
            if !known.contains(&key.as_str()) {
                return Err(format!("collect has no {key}"));
            }
        }
        let until = value.get("until").ok_or("collect has until")?;
        let mut frames = Vec::new();
        loop {
            match self.process(on)?.frame()? {
                None if until == "$end" => break,
                None => return Err(format!("the output ended before {until}")),
                Some(frame) => {
                    let last = until != "$end" && fits(until, &frame, &mut self.names).is_ok();
                    frames.push(frame);
                    if last {
                        break;
                    }
                }
            }
        }
        self.examine(value, &frames)?;
        self.negotiated(on)
    }

    /// Holds collected frames or items to the rules beside them.
    fn examine(&mut self, rules: &Value, frames: &[Value]) -> Result<(), String> {
        let list = |name: &str| rules[name].as_array().cloned().unwrap_or_default();
        let mut from = 0;
        for wanted in list("require") {
            let found = (from..frames.len())
                .find(|n| fits(&wanted, &frames[*n], &mut self.names).is_ok())
                .ok_or_else(|| format!("no frame in order fits {wanted}"))?;
            from = found + 1;
        }
        for unwanted in list("forbid") {
            for frame in frames {
                if fits(&unwanted, frame, &mut self.names.clone()).is_ok() {
                    return Err(format!("forbidden {unwanted}: {}", short(frame)));
                }
            }
        }
        let only = list("only");
        for frame in frames.iter().filter(|_| !only.is_empty()) {
            if !(only.iter()).any(|one| fits(one, frame, &mut self.names.clone()).is_ok()) {
                return Err(format!("fits none of `only`: {}", short(frame)));
            }
        }
        let names = self.names.clone();
        let selected = |rule: &Value| -> Vec<&Value> {
            let fitting = |frame: &&Value| fits(&rule["where"], frame, &mut names.clone()).is_ok();
            frames.iter().filter(fitting).collect()
        };
        for rule in list("join") {
            let pointer = rule["at"].as_str().ok_or("join has at")?;
            let mut joined = String::new();
            for frame in selected(&rule) {
                joined += (frame.pointer(pointer).and_then(Value::as_str))
                    .ok_or_else(|| format!("no text at {pointer}"))?;
            }
            fits(&rule["is"], &joined.into(), &mut self.names)
                .map_err(|why| format!("the joined text: {why}"))?;
        }
        for rule in list("count") {
            let count = selected(&rule).len();
            let fitting = match &rule["is"] {
                Value::Array(range) => {
                    range.len() == 2
                        && range[0].as_u64() <= Some(count as u64)
                        && range[1].as_u64() >= Some(count as u64)
                }
                exact => exact.as_u64() == Some(count as u64),
            };
            if !fitting {
                return Err(format!("{count} frames fit {rule}"));
            }
        }
        Ok(())
    }

    /// Follows pages: the request again and again with `$cursor`, until a page says that it is the last.
    fn walk(&mut self, on: &str, value: &Value) -> Result<(), String> {
        let rules = ["require", "forbid", "only", "join", "count"];
        for key in value.as_object().ok_or("walk takes an object")?.keys() {
            let own = ["request", "page", "items", "cursor", "more"];
            if !own.contains(&key.as_str()) && !rules.contains(&key.as_str()) {
                return Err(format!("walk has no {key}"));
            }
        }
        let pointer = |name: &str| {
            value[name]
                .as_str()
                .ok_or_else(|| format!("walk has {name}"))
        };
        let (items, cursor, more) = (pointer("items")?, pointer("cursor")?, pointer("more")?);
        let mut collected = Vec::new();
        self.names.insert("cursor".into(), Value::Null);
        for page in 1..=MOST_PAGES {
            self.names.insert("n".into(), page.into());
            self.step(&json!({"on": on, "request": value["request"]}))?;
            let frame = self.process(on)?.must()?;
            fits(&value["page"], &frame, &mut self.names)
                .map_err(|why| format!("page {page}: {why}"))?;
            let at = |pointer: &str| frame.pointer(pointer);
            let got = at(items).and_then(Value::as_array);
            collected.extend(
                got.ok_or_else(|| format!("no items: {}", short(&frame)))?
                    .clone(),
            );
            if matches!(at(more), None | Some(Value::Null | Value::Bool(false))) {
                return self.examine(value, &collected);
            }
            let next = at(cursor).ok_or("no cursor to go on with")?.clone();
            self.names.insert("cursor".into(), next);
        }
        Err(format!("more than {MOST_PAGES} pages"))
    }

    /// Asks again until the answer is the one that is waited for; what has to pass is out of sight.
    fn poll(&mut self, on: &str, value: &Value) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        for n in 1.. {
            self.names.insert("n".into(), n.into());
            self.step(&json!({"on": on, "request": value["request"]}))?;
            let frame = loop {
                let frame = self.process(on)?.must()?;
                // A turn under way may tell of itself between two answers.
                if !frame["event"].is_string() {
                    break frame;
                }
            };
            if fits(&value["until"], &frame, &mut self.names).is_ok() {
                return Ok(());
            }
            fits(&value["while"], &frame, &mut self.names)?;
            if Instant::now() > deadline {
                return Err(format!("still {}", short(&frame)));
            }
        }
        Ok(())
    }

    fn session_file(&mut self, value: &Value) -> Result<(), String> {
        let session = fill(&value["session"], &self.names)?;
        let file = self
            .place
            .session_file(session.as_str().ok_or("session_file has a session")?);
        let done = match (&value["append"], &value["remove"]) {
            (Value::String(text), Value::Null) => std::fs::OpenOptions::new()
                .append(true)
                .open(file)
                .and_then(|mut file| file.write_all(text.as_bytes())),
            (Value::Null, Value::Bool(true)) => std::fs::remove_file(file),
            _ => return Err("session_file either appends or removes".into()),
        };
        done.map_err(|error| error.to_string())
    }
}

impl<W: Watch> Process<W> {
    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.server.close_stdin();
        }
    }

    /// The next frame, held to what is true of every frame; `None` at the end of the output.
    fn frame(&mut self) -> Result<Option<Value>, String> {
        let Some(line) = self.server.recv_line() else {
            return Ok(None);
        };
        if !line.terminated {
            return Err("the output ended inside a frame".into());
        }
        let frame = self.watch.received(&line.bytes).map_err(|why| {
            let text: String = String::from_utf8_lossy(&line.bytes)
                .chars()
                .take(2000)
                .collect();
            format!("{why} in {text}")
        })?;
        if self.seen.len() == SHOWN {
            self.seen.pop_front();
        }
        self.seen.push_back(short(&frame));
        Ok(Some(frame))
    }

    fn must(&mut self) -> Result<Value, String> {
        match self.frame()? {
            Some(frame) => Ok(frame),
            None => {
                let exit = self.server.wait_exit();
                self.ended = true;
                Err(format!(
                    "the output ended, {:?}: {}",
                    exit.status, exit.stderr
                ))
            }
        }
    }

    fn end(&mut self, status: &Value) -> Result<(), String> {
        let exit = self.server.wait_exit();
        self.ended = true;
        if json!(exit.code) != *status {
            return Err(format!("ended with {:?}: {}", exit.status, exit.stderr));
        }
        self.watch.ended()
    }
}
