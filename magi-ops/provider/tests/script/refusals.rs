//! Scripts that are refused, and with which place and reason.

use super::*;

fn refused(script: Value) -> (String, String) {
    match load(script.to_string().as_bytes()) {
        Err(ScriptError::Invalid { at, reason }) => (at, reason),
        other => panic!("{script}: {other:?}"),
    }
}

#[test]
fn wrong_tasks_are_refused_with_the_place() {
    let task = |task: Value| refused(json!({ "turns": [{ "steps": [] }], "tasks": [task] }));
    for (wrong, at, why) in [
        (json!({ "prompt": "p" }), "tasks[0]", "missing field"),
        (
            json!({ "prompt": "p", "turns": [] }),
            "tasks[0].turns",
            "at least one turn",
        ),
        (
            json!({ "prompt": "p", "turns": [{ "steps": [{ "text": "a", "together": true }] }] }),
            "tasks[0].turns[0].steps[0].together",
            "belongs to a tool step",
        ),
    ] {
        let (place, reason) = task(wrong);
        assert_eq!(place, at);
        assert!(reason.contains(why), "{reason}");
    }
}

#[test]
fn wrong_scripts_are_refused_with_the_place() {
    let step = |step: Value| refused(json!({ "turns": [{ "steps": [{ "text": "ok" }, step] }] }));
    let cases = [
        (json!({}), "turns[0].steps[1]", "a step is one of"),
        (
            json!({ "txt": "a" }),
            "turns[0].steps[1].txt",
            "unknown field `txt`",
        ),
        (
            json!({ "text": 5 }),
            "turns[0].steps[1].text",
            "expected a string",
        ),
        (
            json!({ "text": "a", "tool": "b" }),
            "turns[0].steps[1].tool",
            "cannot have",
        ),
        (
            json!({ "text": "a", "chunks": 0 }),
            "turns[0].steps[1].chunks",
            "from 1 to 1000000",
        ),
        (
            json!({ "text": "a", "chunks": -1 }),
            "turns[0].steps[1].chunks",
            "expected u64",
        ),
        (
            json!({ "text": "a", "repeat": 1_000_001 }),
            "turns[0].steps[1].repeat",
            "from 1 to",
        ),
        (
            json!({ "text": "a".repeat(100), "repeat": 1_000_000 }),
            "turns[0].steps[1].repeat",
            "longer",
        ),
        (
            json!({ "text": "a", "repeat": 2, "chunks": 2 }),
            "turns[0].steps[1].repeat",
            "exclude",
        ),
        (
            json!({ "text": "a", "input": {} }),
            "turns[0].steps[1].input",
            "belongs to a tool step",
        ),
        (
            json!({ "repeat": 3 }),
            "turns[0].steps[1]",
            "a step is one of",
        ),
        (
            json!({ "wait_ms": 3_600_001_u64 }),
            "turns[0].steps[1].wait_ms",
            "from 0 to",
        ),
        (
            json!({ "wait_ms": 1, "delay_ms": 1 }),
            "turns[0].steps[1].delay_ms",
            "belongs to a text",
        ),
        (
            json!({ "error": "tired" }),
            "turns[0].steps[1].error",
            "unknown variant",
        ),
        (
            json!({ "usage": { "input": 1 } }),
            "turns[0].steps[1].usage",
            "missing field `output`",
        ),
        (
            json!({ "tool": "" }),
            "turns[0].steps[1].tool",
            "needs a name",
        ),
    ];
    for (wrong, place, words) in cases {
        let (at, reason) = step(wrong.clone());
        assert_eq!(at, place, "{wrong}");
        assert!(reason.contains(words), "{wrong}: {reason}");
    }
    assert_eq!(refused(json!({ "turns": [] })).0, "turns");
    assert!(refused(json!({})).1.contains("missing field `turns`"));
    assert!(
        refused(json!({ "turns": [{ "steps": [] }], "x": 1 }))
            .1
            .contains("unknown field")
    );
    // An array is no object, though serde would read a struct from one by position.
    for (script, place) in [
        (json!([[{ "steps": [] }]]), "."),
        (json!({ "turns": [[[]]] }), "turns[0]"),
        (
            json!({ "turns": [{ "steps": [["thinking", true]] }] }),
            "turns[0].steps[0]",
        ),
        (
            json!({ "turns": [{ "steps": [{ "usage": [1, 2] }] }] }),
            "turns[0].steps[0].usage",
        ),
    ] {
        let (at, reason) = refused(script);
        assert_eq!(at, place);
        assert!(reason.contains("expected an object"), "{reason}");
    }
    // Nor is an object a word.
    let (at, reason) =
        refused(json!({ "turns": [{ "steps": [{ "error": { "network": null } }] }] }));
    assert_eq!(at, "turns[0].steps[0].error");
    assert!(reason.contains("expected a string"), "{reason}");
    assert!(load(br#"{"turns":[{"steps":[]}]} {}"#).is_err());
    assert!(load(b"\xff").is_err());
    assert!(load("[".repeat(100_000).as_bytes()).is_err());
}

#[test]
fn a_script_that_is_no_readable_file_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let missing = Fixture::from_script(home.path().join("none.json"));
    assert!(matches!(missing, Err(ScriptError::Io { .. })));
    let directory = Fixture::from_script(home.path());
    assert!(matches!(directory, Err(ScriptError::NotAFile { .. })));
    let long = home.path().join("long.json");
    std::fs::write(&long, vec![b' '; MAX_SCRIPT_BYTES as usize + 1]).unwrap();
    let error = Fixture::from_script(&long).unwrap_err();
    assert!(matches!(error, ScriptError::TooLong { .. }));
    assert_eq!(ProviderError::from(error), ErrorKind::ScriptInvalid);
}
