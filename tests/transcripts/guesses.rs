//! Each frame that a page warns of gets the answer that the page says.

use std::process::Command;

use serde_json::Value;

use crate::support::{Launch, Server};
use crate::{MAGI_CODE, MTY};

fn guesses(program: &str, schema: &[&str]) -> Vec<(String, String)> {
    let out = Command::new(program).args(schema).output().unwrap();
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    let text = |guess: &Value, member: &str| guess[member].as_str().unwrap().to_owned();
    let guesses = document["guesses"].as_array().unwrap();
    assert!(guesses.len() > 3);
    guesses
        .iter()
        .map(|guess| (text(guess, "sent"), text(guess, "answered")))
        .collect()
}

#[test]
fn guesses_get_the_answer_that_the_page_says() {
    for (schema, serve) in [
        (["schema", "local-agent"], ["serve", "--stdio"]),
        (["schema", "application-service"], ["--app", "service"]),
    ] {
        let mut server = Server::spawn(Launch::new(MAGI_CODE, &serve));
        for (sent, answered) in guesses(MAGI_CODE, &schema) {
            server.send(format!("{sent}\n"));
            assert_eq!(server.recv()["error"]["code"], *answered, "{sent}");
        }
    }
    let mut server = Server::spawn(Launch::new(MTY, &["agent"]));
    for (sent, answered) in guesses(MTY, &["schema"]) {
        server.send(format!("{sent}\n"));
        let lines = server.recv_until(|line| line["kind"] == "done");
        assert_eq!(lines[0]["message"], *answered, "{sent}");
    }
}
