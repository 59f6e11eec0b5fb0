//! Chat without a terminal: one prompt a line, plain answers, nobody is asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};

use serde_json::json;

use crate::person::{Person, turn};
use crate::{children, kill};

/// A chat that goes on while the test looks.
struct Chat {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Chat {
    fn of(person: &Person, args: &[&str]) -> Self {
        let mut process = person.command(args).spawn().unwrap();
        Self {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
        }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Kills the server.
    fn crash(&self) {
        let [server] = children(self.process.id())[..] else {
            panic!("{:?}", children(self.process.id()));
        };
        kill(server);
    }

    /// Ends the input: the exit status, the rest of the output, and what was said beside it.
    fn end(mut self) -> (i32, String, String) {
        drop(self.input);
        let (mut rest, mut said) = (String::new(), String::new());
        self.output.read_to_string(&mut rest).unwrap();
        self.process
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        (self.process.wait().unwrap().code().unwrap(), rest, said)
    }
}

#[test]
fn each_line_is_a_prompt_of_one_session() {
    let person = Person::with(&json!({"turns": [
        {"steps": [{"text": "# One\n\n**bold**", "chunks": 4}]},
        {"steps": [{"text": "Look."}, {"tool": "read", "input": {"path": "README.md"}}, {"text": "Two"}]},
    ]}));
    let ran = person.run(&["chat"], "first\n\n  \nsecond");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "# One\n\n**bold**\nLook.\nTwo\n");
    assert_eq!(person.sessions().len(), 1);
}

#[test]
fn what_would_ask_is_denied() {
    let person = Person::with(&turn(&json!([
        {"tool": "bash", "input": {"command": "touch made"}}, {"text": "Done"},
    ])));
    let ran = person.run(&["chat"], "go\ny\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done\nDone\n"));
    assert!(
        ran.err
            .contains("denied, since there is no terminal to ask at: bash: touch made"),
        "{}",
        ran.err
    );
    assert!(!person.at("work/made").exists());
}

#[test]
fn a_prompt_that_is_too_long_is_refused_with_its_length_before_a_session_is_made() {
    let person = Person::told("x");
    for length in [16_385, 65_537, 200_000] {
        let ran = person.run(&["chat"], &format!("{}\n", "x".repeat(length)));
        let said = format!("the prompt has {length} bytes; at most 16,384 are taken\n");
        assert_eq!(
            (ran.code, ran.out.as_str(), ran.err.as_str()),
            (0, "", &*said)
        );
    }
    assert!(person.sessions().is_empty());
    let ran = person.run(&["chat"], &format!("{}\n", "x".repeat(16_384)));
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (0, "x\n", "")
    );
}

#[test]
fn a_turn_that_fails_ends_nothing() {
    let person = Person::with(&json!({"turns": [
        {"steps": [{"error": "overloaded"}]},
        {"steps": [{"text": "Better"}]},
    ]}));
    let ran = person.run(&["chat"], "a\nb\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Better\n"));
    assert!(ran.err.contains("turn failed ("), "{}", ran.err);
}

#[test]
fn without_anybody_to_talk_with_it_says_why() {
    let person = Person::told("x");
    std::fs::write(person.at("mc/settings.json"), "{").unwrap();
    let ran = person.run(&["chat"], "a\n");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.contains("configuration_invalid") && ran.err.contains("settings.json"),
        "{}",
        ran.err
    );
    let person = Person::told("x");
    let ran = person.run(&["chat", "--continue"], "a\n");
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("no session of this directory"),
        "{}",
        ran.err
    );
    let ran = person.run(&["chat", "--session", "nothing"], "a\n");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("session_missing"), "{}", ran.err);
}

#[test]
fn a_session_goes_on_later() {
    let script = json!({"turns": [
        {"steps": [{"text": "one"}]}, {"steps": [{"text": "two"}]}, {"steps": [{"text": "three"}]},
    ]});
    let person = Person::with(&script);
    assert_eq!(person.run(&["chat"], "a\n").out, "one\n");
    assert_eq!(person.run(&["chat", "--continue"], "b\n").out, "two\n");
    let session = person.sessions().pop().unwrap();
    assert_eq!(
        person.run(&["chat", "--session", &session], "c\n").out,
        "three\n"
    );
    assert_eq!(person.sessions(), [session]);
    // That of another directory is not gone on with.
    std::fs::create_dir(person.at("other")).unwrap();
    let other = person.at("other");
    let ran = person.run(
        &["chat", "--cwd", other.to_str().unwrap(), "--continue"],
        "d\n",
    );
    assert_eq!(ran.code, 1, "{}", ran.out);
}

#[test]
fn the_chat_itself_is_spoken_to_behind_a_slash() {
    let person = Person::with(&turn(
        &json!([{"text": "x"}, {"usage": {"input": 1200, "output": 7}}]),
    ));
    let lines = "/help\n/status\nhi\n/status\n/modle\n/export notes.md\n/export notes.md\n/model nothing\nhi\n";
    let ran = person.run(&["chat"], lines);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in [
        "/model [PROVIDER/]MODEL",
        "model    fixture/fixture-model\nsession  none yet\ntokens   0 in, 0 out\n",
        "tokens   1.2k in, 7 out\n",
        "are in notes.md.\n",
        "notes.md cannot be written: File exists",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(ran.out.ends_with("x\n"), "{}", ran.out);
    assert!(
        ran.err
            .contains("there is no `/modle`; did you mean `/model`?"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("The model stays as it was."),
        "{}",
        ran.err
    );
    let notes = std::fs::read_to_string(person.at("work/notes.md")).unwrap();
    assert!(
        notes.contains("## You\n\nhi\n") && notes.contains("## Assistant\n\nx\n"),
        "{notes}"
    );
    assert_eq!(person.sessions().len(), 1);
}

#[test]
fn a_server_that_dies_between_turns_is_not_missed() {
    let person = Person::with(
        &json!({"turns": [{"steps": [{"text": "one"}]}, {"steps": [{"text": "two"}]}]}),
    );
    let mut chat = Chat::of(&person, &["chat"]);
    chat.say("a");
    assert_eq!(chat.line(), "one\n");
    chat.crash();
    chat.say("b");
    assert_eq!(chat.line(), "two\n");
    let (code, rest, said) = chat.end();
    assert_eq!((code, rest.as_str()), (0, ""), "{said}");
    assert!(said.contains("A new server has opened session "), "{said}");
    assert_eq!(person.sessions().len(), 1);
}

#[test]
fn a_server_that_dies_in_a_turn_is_told_and_nothing_is_sent_twice() {
    let person = Person::with(&json!({"turns": [
        {"steps": [{"text": "Begun\n"}, {"wait_ms": 600_000}]},
        {"steps": [{"text": "two"}]},
        {"steps": [{"text": "three"}]},
    ]}));
    let mut chat = Chat::of(&person, &["chat"]);
    chat.say("a");
    assert_eq!(chat.line(), "Begun\n");
    chat.crash();
    chat.say("b");
    assert_eq!(chat.line(), "two\n");
    let (code, rest, said) = chat.end();
    assert_eq!((code, rest.as_str()), (0, ""), "{said}");
    assert!(said.contains("what this turn did is not known"), "{said}");
    assert!(said.contains("A new server has opened session "), "{said}");
}

#[test]
fn an_interrupt_cancels_a_turn_and_ends_a_chat_that_waits() {
    let person = Person::with(&json!({"turns": [
        {"steps": [{"text": "Begun\n"}, {"wait_ms": 600_000}]},
        {"steps": [{"text": "two"}]},
    ]}));
    let mut chat = Chat::of(&person, &["chat"]);
    let interrupt = |chat: &Chat| {
        let pid = rustix::process::Pid::from_child(&chat.process);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    };
    chat.say("a");
    assert_eq!(chat.line(), "Begun\n");
    interrupt(&chat);
    chat.say("b");
    assert_eq!(chat.line(), "two\n");
    // Until it waits for a line, an interrupt is for the turn.
    let mut tries = 0;
    let status = loop {
        interrupt(&chat);
        std::thread::sleep(std::time::Duration::from_millis(50));
        match chat.process.try_wait().unwrap() {
            Some(status) => break status,
            None if tries < 200 => tries += 1,
            None => panic!("it does not end"),
        }
    };
    assert_eq!(status.code(), Some(130));
}
