//! Subagents where a provider of the tests answers: bounds that no script reaches, and what a session is told.

use std::collections::HashMap;

use store::sessions::Body;

use super::*;

/// Plays lists of chunks by the first prompt of a conversation, and keeps what it was asked.
struct ByPrompt {
    responses: HashMap<&'static str, Vec<Vec<Chunk>>>,
    asked: Mutex<Vec<Request>>,
}

impl Provider for ByPrompt {
    fn id(&self) -> &str {
        "fixture"
    }

    fn respond(&self, request: Request, _: CancellationToken) -> Response {
        let Some(Message::User { text: prompt }) = request.messages.first() else {
            panic!("no prompt");
        };
        let given = request.messages.iter();
        let given = given.filter(|message| matches!(message, Message::Assistant { .. }));
        let responses = &self.responses[prompt.as_str()];
        let chunks = responses.get(given.count()).cloned().unwrap_or_default();
        self.asked.lock().unwrap().push(request);
        let chunks = chunks.into_iter().map(Ok::<_, ProviderError>);
        Response::from_stream(futures_util::stream::iter(chunks))
    }
}

async fn tasks(
    responses: impl IntoIterator<Item = (&'static str, Vec<Vec<Chunk>>)>,
) -> (Played, Vec<Request>) {
    let provider = Arc::new(ByPrompt {
        responses: responses.into_iter().collect(),
        asked: Mutex::default(),
    });
    let played = play_with(provider.clone(), "{}", Vec::new()).await;
    let asked = std::mem::take(&mut *provider.asked.lock().unwrap());
    (played, asked)
}

fn task(id: &str, prompt: &str) -> Chunk {
    call(id, "task", json!({ "prompt": prompt }))
}

/// What tools brought, in the order of the records.
fn brought(played: &Played) -> Vec<(String, bool)> {
    let records = played
        .stored
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    records
        .filter_map(|record: store::sessions::Record| match record.body {
            Body::ToolFinished {
                content, is_error, ..
            } => Some((content, is_error)),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_subagent_has_a_conversation_of_its_own() {
    let (played, asked) = tasks([
        (
            "go",
            vec![vec![text("Asking."), task("c1", "sub")], vec![text("done")]],
        ),
        (
            "sub",
            vec![
                vec![call("c1", "read", json!({"path": "a.txt"}))],
                vec![text("found it")],
            ],
        ),
    ])
    .await;
    assert_eq!(error_code(&played.events), None);
    assert_eq!(brought(&played), [("found it".to_owned(), false)]);
    let own: Vec<_> = asked
        .iter()
        .filter(|request| request.messages[0] == Message::User { text: "sub".into() })
        .collect();
    assert_eq!(own.len(), 2);
    assert_eq!(own[0].messages.len(), 1, "nothing of its parent's");
    assert_ne!(own[0].session, asked[0].session);
    assert!(
        own[0].system.contains("You are a subagent")
            && !asked[0].system.contains("You are a subagent")
    );
    let offers = |request: &Request| request.tools.iter().any(|tool| tool.name == "task");
    assert!(offers(&asked[0]) && offers(own[0]));
    assert_eq!(played.replayed.len(), 4, "no message of the subagent");
}

#[tokio::test]
async fn the_deepest_is_not_offered_to_give_tasks() {
    let (_, asked) = tasks([
        ("go", vec![vec![task("c", "one")], vec![text("done")]]),
        ("one", vec![vec![task("c", "two")], vec![text("1")]]),
        ("two", vec![vec![text("2")]]),
    ])
    .await;
    let offered = |prompt: &str| {
        let first = Message::User {
            text: prompt.into(),
        };
        let request = asked
            .iter()
            .find(|request| request.messages[0] == first)
            .unwrap();
        request.tools.iter().any(|tool| tool.name == "task")
    };
    assert!(offered("go") && offered("one") && !offered("two"));
}

#[tokio::test]
async fn what_subagents_do_counts_for_their_run() {
    // Three calls of the run and sixty of theirs, where all may have fifty.
    assert_eq!(RECONCILED.max_activities, 50);
    let read = |at| call(format!("r{at}"), "read", json!({"path": "a.txt"}));
    let many = || vec![(0..20).map(read).collect(), vec![text("read them")]];
    let gives = [("c1", "a"), ("c2", "b"), ("c3", "c")].map(|(id, prompt)| vec![task(id, prompt)]);
    let (played, _) = tasks([
        (
            "go",
            gives.into_iter().chain([vec![text("done")]]).collect(),
        ),
        ("a", many()),
        ("b", many()),
        ("c", many()),
    ])
    .await;
    let brought = brought(&played);
    assert!(!brought[0].1 && !brought[1].1, "{brought:?}");
    let (content, is_error) = &brought[2];
    assert!(
        *is_error && content.contains("too many activities"),
        "{content}"
    );
    assert_eq!(error_code(&played.events), None, "the run itself has not");
}

#[tokio::test]
async fn a_subagent_without_a_word_says_so_and_one_that_panics_fails_alone() {
    let (played, _) = tasks([
        ("go", vec![vec![task("c1", "silent")], vec![text("done")]]),
        ("silent", vec![vec![]]),
    ])
    .await;
    assert_eq!(
        brought(&played),
        [("[the subagent ended without a word]".to_owned(), false)]
    );

    // A prompt that the provider has nothing for is a fault of its code.
    let (played, _) = tasks([("go", vec![vec![task("c1", "unknown")], vec![text("done")]])]).await;
    let (content, is_error) = &brought(&played)[0];
    assert!(
        *is_error && content.contains("stopped unexpectedly"),
        "{content}"
    );
    assert_eq!(error_code(&played.events), None);
}

/// Answers the person, and nobody else ever.
struct Hanging(Canned);

impl Provider for Hanging {
    fn id(&self) -> &str {
        "fixture"
    }

    fn respond(&self, request: Request, cancel: CancellationToken) -> Response {
        if request.messages[0] == (Message::User { text: "go".into() }) {
            return self.0.respond(request, cancel);
        }
        Response::from_stream(futures_util::stream::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_subagent_that_takes_too_long_is_ended_and_its_run_goes_on() {
    let provider = Arc::new(Hanging(Canned {
        responses: vec![vec![task("c1", "sub")], vec![text("done")]],
        asked: Mutex::default(),
    }));
    let begun = tokio::time::Instant::now();
    let played = play_with(provider, "{}", Vec::new()).await;
    let minutes = begun.elapsed().as_secs() / 60;
    assert!((30..32).contains(&minutes), "{minutes}");
    let (content, is_error) = &brought(&played)[0];
    assert!(*is_error && content.contains("took too long"), "{content}");
    let timed_out = played.events.iter().any(|event| {
        matches!(
            event,
            RunEvent::MayDrop {
                event: MayDrop::Activity(Activity::Tool {
                    timed_out: Some(true),
                    ..
                }),
                ..
            }
        )
    });
    assert!(timed_out);
    assert_eq!(error_code(&played.events), None);
}
