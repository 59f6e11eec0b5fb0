//! The runner of the scenario kits in tests/fixtures: reads a scenario and plays each of its cases.
//! What a step means to a process is in server.rs, to a client in consumer.rs; the wires are the crates'.
#![allow(clippy::unwrap_used)]

pub(crate) mod consumer;
mod http;
mod pattern;
mod server;

use std::path::PathBuf;

use serde_json::Value;

use pattern::{Names, fill, patch};

/// The version of the scenario format that this runner reads.
const SCHEMA: u64 = 1;

/// What a dialect adds to the runner.
pub(crate) trait Dialect {
    /// The kit's folder under tests/fixtures.
    const KIT: &'static str;
    /// The arguments that launch the server.
    const ARGS: &'static [&'static str];
    type Watch: Watch;
    type Client: consumer::Client;
    /// A `request` step's frame, the envelope's constant members added.
    fn frame(request: &Value) -> Value;
}

/// Looks at one process's frames in both directions and holds them to what is true of every frame.
pub(crate) trait Watch: Default {
    fn sent(&mut self, frame: &Value);
    /// Takes one line without its LF.
    fn received(&mut self, line: &[u8]) -> Result<Value, String>;
    /// The operations of the last successful `initialize`.
    fn advertised(&self) -> Option<&[String]>;
    /// The output has ended in an orderly way: what must have come by now?
    fn ended(&self) -> Result<(), String>;
}

fn kit(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

fn read(path: &PathBuf) -> Value {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One scenario file.
pub(crate) struct Scenario {
    pub(crate) id: String,
    pub(crate) json: Value,
    /// The kit's named records, for patches.
    pub(crate) records: Value,
}

impl Scenario {
    fn load(kit_name: &str, id: &str) -> Self {
        let json = read(&kit(kit_name).join(format!("{id}.json")));
        for (key, _) in json.as_object().expect("a scenario is an object") {
            let known = [
                "fixture_schema_version",
                "id",
                "title",
                "spec",
                "drives",
                "needs",
                "client_requires",
                "setup",
                "before",
                "steps",
                "cases",
            ];
            assert!(known.contains(&key.as_str()), "{id}: unknown member {key}");
        }
        assert_eq!(json["fixture_schema_version"], SCHEMA, "{id}: schema");
        assert_eq!(json["id"], id, "the id is the file's name");
        for text in ["title", "spec"] {
            let text = json[text].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{id}: a title and a section of the spec");
        }
        Self {
            id: id.to_owned(),
            json,
            records: read(&kit(kit_name).join("records.json")),
        }
    }

    /// Names and steps of each case: the common steps, then the case's own.
    fn cases(&self) -> Vec<(String, Vec<Value>)> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let before = list(&self.json["before"]);
        match (self.json.get("steps"), self.json.get("cases")) {
            (Some(steps), None) => {
                vec![("".to_owned(), [before, list(steps)].concat())]
            }
            (None, Some(cases)) => list(cases)
                .iter()
                .map(|case| {
                    let name = case["case"].as_str().expect("a case has a name");
                    (
                        name.to_owned(),
                        [before.clone(), list(&case["steps"])].concat(),
                    )
                })
                .collect(),
            _ => panic!("{}: either steps or cases", self.id),
        }
    }
}

/// Plays a scenario of `D`'s kit; the first step that does not hold fails the test.
pub(crate) fn play<D: Dialect>(id: &str) {
    let scenario = Scenario::load(D::KIT, id);
    let cases = scenario.cases();
    assert!(!cases.is_empty(), "{id}: no case");
    for (case, steps) in cases {
        assert!(!steps.is_empty(), "{id} {case}: no step");
        let played = match scenario.json["drives"].as_str() {
            Some("server") => server::play::<D>(&scenario, &steps),
            Some("consumer") => consumer::play::<D>(&scenario, &steps),
            other => panic!("{id}: drives {other:?}"),
        };
        if let Err(why) = played {
            panic!("scenario {}/{id}, case {case:?}: {why}", D::KIT);
        }
    }
}

/// Every scenario of the kit has its test in `source` and its row in the README, and nothing else has.
pub(crate) fn assert_listed(kit_name: &str, source: &str) {
    let readme = readme(kit_name);
    let mut expected = Vec::new();
    for entry in std::fs::read_dir(kit(kit_name)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if stem == "records" {
            continue;
        }
        let test = format!("fn {stem}() {{\n    play(\"{stem}\");");
        assert!(source.contains(&test), "no test plays {stem}");
        let json = read(&path);
        let cases = json["cases"].as_array().map_or(1, Vec::len);
        let (drives, title) = (&json["drives"], &json["title"]);
        let (drives, title) = (drives.as_str().unwrap(), title.as_str().unwrap());
        expected.push(format!("| `{stem}` | {drives} | {cases} | {title} |"));
    }
    let listed = readme.split_once("## The scenarios").unwrap().1;
    let mut listed: Vec<_> = listed
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    expected.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, expected, "the README's list of scenarios");
    assert!(!listed.is_empty());
    // Each README stands alone, so the format is written down twice, in the same words.
    let format = |text: &str| {
        let from = text.find("## The format").unwrap();
        text[from..text.find("## This protocol's share").unwrap()].to_owned()
    };
    for other in ["local_agent", "application_service"] {
        assert_eq!(format(&readme), format(&self::readme(other)), "{other}");
    }
}

fn readme(kit_name: &str) -> String {
    std::fs::read_to_string(kit(kit_name).join("README.md")).unwrap()
}
