//! A conversation in mty-agent: a check that finds something, its fix, an explanation, the end.

use serde_json::Value;

use crate::MTY;
use crate::stage::{Dialect, Stage};
use crate::support::{Launch, Place};

fn shape(line: &Value) -> &'static str {
    match line["kind"].as_str() {
        Some("result") => "response",
        Some("error") => "refusal",
        Some("done") => "done",
        _ => "event",
    }
}

fn done(line: &Value) -> bool {
    line["kind"] == "done"
}

#[test]
fn mty_agent_transcript_is_what_happens() {
    let place = Place::new();
    place.write_file("a.mty", "fn main() {\n  let n = 10_\n  log(n)\n}\n");
    let dialect = Dialect {
        name: "mty-agent",
        title: "mty-agent 1.0",
        opaque: &[],
        numbers: &[],
        shape,
        schema: (MTY, &["schema"]),
    };
    let mut stage = Stage::new(dialect, Launch::new(MTY, &["agent"]).place(&place));

    stage.section(
        "A check",
        "There is nothing to initialize. One `envelope` line for each diagnostic, then the `result`, then `done`: exit code 1, \
         since something was found.",
    );
    stage.exchange(
        r#"{"op":"check","path":"a.mty","include_source":true}"#,
        done,
    );
    stage.section(
        "Its fix",
        "The connection remembers the path. The `patch` line holds the diff; with `write` it is applied, and the whole new \
         text comes along.",
    );
    stage.exchange(r#"{"op":"fix","code":"MT0006","write":true}"#, done);
    stage.section("The check again", "Nothing is left: exit code 0.");
    stage.exchange(r#"{"op":"check","path":"a.mty"}"#, done);
    stage.section("An explanation", "The long text of a code, for people.");
    stage.exchange(r#"{"op":"explain","code":"MT0006"}"#, done);
    stage.section(
        "A mistake",
        "An `error` line says why; there is no `result`, and the exit code is 2. The connection goes on.",
    );
    stage.exchange(r#"{"op":"initialize"}"#, done);
    stage.section(
        "The end",
        "`halt` is answered, and the process ends with the highest exit code that any request had.",
    );
    stage.exchange(r#"{"op":"halt"}"#, done);
    stage.end(false);
    let fixed = std::fs::read_to_string(place.work().join("a.mty")).unwrap();
    assert_eq!(fixed, "fn main() {\n  let n = 10\n  log(n)\n}\n");
}
