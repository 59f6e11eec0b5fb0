//! Chat at a terminal: what a person sees, and what their keys do.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::children;
use crate::person::{Person, turn};
use crate::tmux::Tmux;

#[test]
fn an_answer_is_shown_as_it_comes_above_a_status_that_goes_again() {
    let person = Person::with(&turn(&json!([
        {"text": "# Title\n\nSome **bold** words and `code` that go on for more than one row of sixty.\n\n- an item\n", "chunks": 20},
        {"usage": {"input": 1500, "output": 20}},
        {"tool": "read", "input": {"path": "README.md"}},
        {"wait_ms": 2500},
        {"text": "```rust\nfn main() {}\n```\nDone."},
    ])));
    let Some(tmux) = Tmux::chat(&person, "", "") else {
        return;
    };
    tmux.shows("/help says what may be typed");
    tmux.waits();
    tmux.say("hi");
    let both = |screen: &str| screen.contains("Ctrl-C cancels") && screen.contains("Title");
    tmux.until("words and a status", both);
    let end = tmux.shows("Done.");
    tmux.waits();
    let end_again = tmux.text();
    assert!(end_again.contains("tokens 1.5k in, 20 out"), "{end_again}");
    assert!(!end_again.contains("Ctrl-C cancels"), "{end_again}");
    for part in [
        "\nTitle\n\nSome bold words and code that go on for more than one row\nof sixty.\n\n• an item\n",
        "✓ read README.md",
        "\nfn main() {}\nDone.\n",
    ] {
        assert!(end_again.contains(part), "{part:?}: {end_again}");
    }
    assert!(!end.contains("```") && !end.contains("**"), "{end}");
    let looks = tmux.looks();
    for part in ["\u{1b}[1mbold", "\u{1b}[36mcode"] {
        assert!(looks.contains(part), "{part:?}: {looks:?}");
    }
    let title = looks.lines().find(|line| line.contains("Title")).unwrap();
    assert!(title.contains("\u{1b}[1"), "{title:?}");
    let code = looks.lines().find(|line| line.contains("fn main"));
    assert!(code.unwrap().contains("\u{1b}[36m"), "{code:?}");
    tmux.keys(&["C-d"]);
    let left = tmux.shows("ended 0");
    assert!(left.contains("chat --session"), "{left}");
    tmux.shows("its keys are shown");
}

#[test]
fn without_colours_nothing_has_a_look() {
    let person = Person::told("# Title\n\n**bold** `code`");
    let Some(tmux) = Tmux::chat(&person, "NO_COLOR=1", "") else {
        return;
    };
    tmux.waits();
    tmux.say("hi");
    tmux.shows("**bold** `code`");
    tmux.waits();
    assert!(!tmux.looks().contains("\u{1b}["), "{:?}", tmux.looks());
}

fn rules(person: &Person) -> Value {
    let text = std::fs::read_to_string(person.at("mc/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    let work = person.at("work").canonicalize().unwrap();
    settings["projects"][work.to_str().unwrap()]["permissions"]["bash"]["allow"].clone()
}

#[test]
fn a_question_is_answered_by_a_key_and_may_be_remembered() {
    let bash = |command: &str| json!({"tool": "bash", "input": {"command": command}});
    let person = Person::with(&json!({"turns": [
        {"steps": [bash("touch no"), bash("touch yes"), {"text": "One."}]},
        {"steps": [bash("git init -q here"), bash("git init -q there"), {"text": "Two."}]},
        {"steps": [bash("git init -q again"), {"text": "Three."}]},
    ]}));
    let Some(tmux) = Tmux::chat(&person, "", "") else {
        return;
    };
    tmux.waits();
    tmux.say("a");
    tmux.shows("Allow this?  bash: touch no");
    // An arrow is no answer, and what is not offered neither.
    tmux.keys(&["Up"]);
    tmux.keys(&["n"]);
    tmux.shows("denied");
    tmux.shows("Allow this?  bash: touch yes");
    tmux.keys(&["y"]);
    tmux.shows("One.");
    tmux.waits();
    assert!(!person.at("work/no").exists() && person.at("work/yes").exists());
    assert_eq!(rules(&person), Value::Null);
    tmux.say("b");
    tmux.shows("git init -q here");
    tmux.shows("in your settings: `git init`");
    tmux.keys(&["a"]);
    let done = tmux.shows("Two.");
    assert!(done.contains("allowed, and remembered"), "{done}");
    assert!(
        !done.contains("Allow this?  bash: git init -q there"),
        "{done}"
    );
    assert_eq!(rules(&person), json!(["git init"]));
    tmux.waits();
    tmux.say("c");
    tmux.shows("Three.");
    assert!(person.at("work/there/.git").exists() && person.at("work/again/.git").exists());
    tmux.waits();
    // A chat that begins later knows it from the settings.
    tmux.keys(&["C-d"]);
    tmux.shows("ended 0");
}

#[test]
fn an_interrupt_cancels_the_turn_and_twice_leaves() {
    let person = Person::with(&turn(&json!([{"text": "Begun"}, {"wait_ms": 600_000}])));
    let Some(tmux) = Tmux::chat(&person, "", "") else {
        return;
    };
    tmux.waits();
    tmux.say("a");
    tmux.shows("Begun");
    tmux.keys(&["C-c"]);
    tmux.shows("turn cancelled");
    tmux.waits();
    tmux.keys(&["C-c"]);
    tmux.shows("Ctrl-C again leaves");
    tmux.keys(&["C-c"]);
    tmux.shows("ended 130");
    tmux.shows("its keys are shown");
}

#[test]
fn lines_are_edited_remembered_and_their_secrets_are_not() {
    let person = Person::with(&turn(&json!([{"text": "Answer."}])));
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let vars = format!("ANTHROPIC_API_KEY={secret}");
    let Some(tmux) = Tmux::chat(&person, &vars, "") else {
        return;
    };
    tmux.waits();
    tmux.say("first \\");
    tmux.say(&format!("second {secret}"));
    tmux.shows("Answer.");
    tmux.waits();
    tmux.keys(&["x", "M-Enter", "y", "Enter"]);
    tmux.until("two answers", |screen| {
        screen.matches("Answer.").count() == 2
    });
    tmux.waits();
    // A name of a file, completed and told.
    tmux.keys(&["-l", "see @REA"]);
    tmux.keys(&["Tab"]);
    tmux.shows("see @README.md");
    tmux.keys(&["Enter"]);
    tmux.until("three answers", |screen| {
        screen.matches("Answer.").count() == 3
    });
    tmux.waits();
    tmux.keys(&["C-d"]);
    tmux.shows("ended 0");
    let session = person.sessions().pop().unwrap();
    let stored =
        std::fs::read_to_string(person.at(&format!("mc/sessions/{session}.jsonl"))).unwrap();
    for part in [
        r"first \nsecond ",
        r"x\ny",
        r"see @README.md",
        "(Files that are meant by @: README.md)",
    ] {
        assert!(stored.contains(part), "{part}: {stored}");
    }
    let file = person.at("mc/chat-history");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let history = std::fs::read_to_string(file).unwrap();
    assert!(history.contains("see @README.md"), "{history}");
    assert!(history.contains("second [redacted"), "{history}");
    assert!(!history.contains("abcdefghij"), "{history}");
}

#[test]
fn a_server_that_dies_is_told_and_replaced() {
    let person = Person::with(&json!({"turns": [
        {"steps": [{"text": "Begun"}, {"wait_ms": 600_000}]},
        {"steps": [{"text": "Again."}]},
    ]}));
    let Some(tmux) = Tmux::chat(&person, "", "") else {
        return;
    };
    tmux.waits();
    tmux.say("a");
    tmux.shows("Begun");
    let home = format!("MC_HOME={}", person.at("mc").display());
    let is_server = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let vars = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let vars = String::from_utf8_lossy(&vars).into_owned();
        String::from_utf8_lossy(&line).contains("serve\0--stdio") && vars.contains(&home)
    };
    let all = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let servers: Vec<u32> = all.filter(is_server).collect();
    assert_eq!(servers.len(), 1);
    assert!(children(servers[0]).len() < 10);
    crate::kill(servers[0]);
    let told = tmux.shows("go on.").replace('\n', " ");
    assert!(told.contains("A new server has opened session "), "{told}");
    assert!(told.contains("what this turn did is not known"), "{told}");
    tmux.waits();
    tmux.say("b");
    tmux.shows("Again.");
}

#[test]
fn a_terminal_that_changes_its_size_is_still_written_within() {
    let steps = json!([{"repeat": 60, "text": "word ", "delay_ms": 50}, {"text": "\n\nThe end."}]);
    let person = Person::with(&turn(&steps));
    let Some(tmux) = Tmux::chat(&person, "", "") else {
        return;
    };
    tmux.waits();
    tmux.say("a");
    tmux.shows("word word");
    tmux.resize(30, 20);
    tmux.until("rows of words", |screen| {
        screen.matches("word").count() > 20
    });
    tmux.resize(50, 24);
    let end = tmux.shows("The end.");
    let end = if end.trim_end().ends_with('›') {
        end
    } else {
        tmux.waits()
    };
    assert!(!end.contains("Ctrl-C cancels"), "{end}");
    assert!(end.lines().all(|line| line.chars().count() <= 50), "{end}");
    assert_eq!(end.matches("word").count(), 60, "{end}");
}
