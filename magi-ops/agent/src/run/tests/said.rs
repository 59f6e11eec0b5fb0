//! What a run says in several messages is judged as the one text that it is, live and stored.

use super::*;

const KEY: &str = "supersecretkeyvalue0123456789";

fn known() -> Vec<(String, String)> {
    vec![("MY_API_KEY".into(), KEY.into())]
}

fn responses(first: &str, second: Option<&str>) -> Vec<Vec<Chunk>> {
    let read = call("c", "read", json!({"path": "a.txt"}));
    match second {
        Some(second) => vec![vec![text(first), read], vec![text(second)]],
        None => vec![vec![text(first), Chunk::Cut]],
    }
}

/// The deltas, and what counts of the messages.
fn told(played: &Played) -> [String; 2] {
    let mut told = [String::new(), String::new()];
    for event in &played.events {
        match event {
            RunEvent::MayDrop {
                event: MayDrop::Delta { text, .. },
                ..
            } => told[0].push_str(text.as_str()),
            RunEvent::MustArrive(MustArrive::Reconcile { text, .. }) => {
                told[1].push_str(text.as_str());
            }
            _ => {}
        }
    }
    told
}

#[tokio::test]
async fn a_key_that_a_call_cuts_in_two_is_shown_nowhere() {
    for at in [3, 11, 18] {
        let (head, tail) = KEY.split_at(at);
        let said = responses(&format!("key {head}"), Some(&format!("{tail} end")));
        let played = play_with(canned(said), "{}", known()).await;
        assert_eq!(error_code(&played.events), None);
        for shown in told(&played) {
            assert!(!shown.contains(tail), "{at}: {shown}");
            assert!(shown.ends_with(" end"), "{at}: {shown}");
        }
        let [live, _] = told(&played);
        assert_eq!(live.matches("[redacted]").count(), 1, "{at}: {live}");
    }
}

#[tokio::test]
async fn the_half_of_a_key_with_which_an_answer_ends_is_shown_nowhere() {
    let played = play_with(
        canned(responses(&format!("key {}", &KEY[..18]), None)),
        "{}",
        known(),
    );
    let played = played.await;
    assert_eq!(told(&played), ["key [redacted]", "key [redacted]"]);
    let played = play_with(canned(responses("key supers", None)), "{}", known()).await;
    assert_eq!(told(&played), ["key supers", "key supers"]);
}
