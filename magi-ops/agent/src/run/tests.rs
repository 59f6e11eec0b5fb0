//! Tests of runs with a provider that does what the offline one never does: several calls and messages in one response.
//! Everything else of runs is tested through the facade in `tests/turns.rs`.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use provider::{Chunk, Provider, ProviderError, Request, Response, ToolCall};
use serde_json::json;
use store::sessions::SessionId;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{Capacity, Engine, Environment};

mod beneath;
mod bounds;
mod chunks;
mod compaction;
#[allow(dead_code)]
pub(crate) mod policy;
mod said;
mod subagents;

use policy::*;

const CAPACITY: Capacity = Capacity {
    sessions: 1,
    runs: 1,
};

/// Plays one list of chunks for each response, and keeps what it was asked.
struct Canned {
    responses: Vec<Vec<Chunk>>,
    asked: Mutex<Vec<Vec<Message>>>,
}

impl Provider for Canned {
    fn id(&self) -> &str {
        "fixture"
    }

    fn respond(&self, request: Request, _: CancellationToken) -> Response {
        let mut asked = self.asked.lock().unwrap();
        let chunks = self.responses.get(asked.len()).cloned().unwrap_or_default();
        asked.push(request.messages.to_vec());
        Response::from_stream(futures_util::stream::iter(
            chunks.into_iter().map(Ok::<_, ProviderError>),
        ))
    }
}

/// Says a little, then fails as code with a fault does.
struct Panicking;

impl Provider for Panicking {
    fn id(&self) -> &str {
        "fixture"
    }

    fn respond(&self, _: Request, _: CancellationToken) -> Response {
        let said = futures_util::stream::iter([Ok(text("Half of it"))]);
        let mut waited = false;
        let fails = futures_util::stream::poll_fn(move |cx| {
            assert!(!std::mem::replace(&mut waited, true), "a fault");
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        });
        Response::from_stream(futures_util::StreamExt::chain(said, fails))
    }
}

fn text(text: &str) -> Chunk {
    Chunk::Text(text.into())
}

fn call(id: impl Into<String>, name: &str, input: serde_json::Value) -> Chunk {
    Chunk::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        input,
    })
}

struct Played {
    events: Vec<RunEvent>,
    asked: Vec<Vec<Message>>,
    stored: String,
    replayed: Vec<Message>,
}

fn canned(responses: Vec<Vec<Chunk>>) -> Arc<Canned> {
    Arc::new(Canned {
        responses,
        asked: Mutex::default(),
    })
}

async fn play(responses: Vec<Vec<Chunk>>) -> Played {
    let provider = canned(responses);
    let mut played = play_with(provider.clone(), "{}", Vec::new()).await;
    played.asked = std::mem::take(&mut *provider.asked.lock().unwrap());
    played
}

/// With settings and environment variables.
async fn play_with(
    provider: Arc<dyn Provider>,
    settings: &str,
    vars: Vec<(String, String)>,
) -> Played {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.txt"), "content of a\n").unwrap();
    std::fs::create_dir(dir.path().join("home")).unwrap();
    std::fs::write(dir.path().join("home/settings.json"), settings).unwrap();
    let environment = Environment {
        vars,
        cwd: dir.path().to_owned(),
        mc_home: Some(dir.path().join("home")),
        ..Environment::default()
    };
    let engine = Engine::new(environment, CAPACITY);
    let (_, workspace) = engine
        .admit(engine.directory(), CancellationToken::new())
        .await;
    let workspace = workspace.unwrap().with_provider(provider);
    let never = CancellationToken::new();
    let opened = engine.open(&workspace, None, None, &never).await.unwrap();
    let session = opened.session_id.parse().unwrap();
    let mut run = engine
        .start(&workspace, &session, reconciled_run("go"))
        .unwrap();
    let mut events = Vec::new();
    while let Some(event) = run.events.recv().await {
        if let RunEvent::MustArrive(MustArrive::ApprovalRequested { approval_id, .. }) = &event {
            let active = engine.run(&run.run_id).unwrap();
            assert!(active.answer(approval_id, false));
        }
        events.push(event);
    }
    let path = dir.path().join(format!("home/sessions/{session}.jsonl"));
    let stored = std::fs::read_to_string(path).unwrap();
    let records: Vec<_> = stored
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    Played {
        events,
        asked: Vec::new(),
        stored,
        replayed: replayed(records),
    }
}

fn replayed(records: Vec<store::sessions::Record>) -> Vec<Message> {
    let mut replay = crate::conversation::Replay::default();
    for record in records {
        replay.take(record).unwrap();
    }
    replay.finish().messages
}

fn error_code(events: &[RunEvent]) -> Option<RunErrorCode> {
    match events.last() {
        Some(RunEvent::MustArrive(MustArrive::Finished { error_code, .. })) => *error_code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_question_follows_the_start_of_its_call_directly() {
    let read = |id: &str| call(id, "read", json!({"path": "a.txt"}));
    let response = (0..6).map(|n| read(&format!("c{n}"))).collect();
    let settings = r#"{"permissions": {"read": "ask"}}"#;
    let provider = canned(vec![response, vec![text("done")]]);
    let played = play_with(provider, settings, Vec::new()).await;
    let shown: Vec<_> = played
        .events
        .iter()
        .filter_map(|event| match event {
            RunEvent::MayDrop {
                event: MayDrop::Activity(Activity::Tool { state, .. }),
                ..
            } => (*state == ActivityState::Started).then_some("started"),
            RunEvent::MustArrive(MustArrive::ApprovalRequested { .. }) => Some("asked"),
            _ => None,
        })
        .collect();
    assert_eq!(shown, ["started", "asked"].repeat(6));
    assert_eq!(error_code(&played.events), None);
}

#[tokio::test]
async fn text_that_is_there_together_is_shown_together() {
    let words = vec![text("one "), text("two "), text("three")];
    let played = play(vec![words]).await;
    let deltas: Vec<_> = played
        .events
        .iter()
        .filter_map(|event| match event {
            RunEvent::MayDrop {
                event: MayDrop::Delta { text, .. },
                ..
            } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, ["one two three"]);
}

#[tokio::test]
async fn calls_of_one_response_run_together_and_answer_in_order() {
    let read = |path: &str| json!({ "path": path });
    let played = play(vec![
        vec![
            text("one "),
            call("c1", "read", read("absent")),
            text("two"),
            call("c2", "read", read("a.txt")),
            call("c3", "nonsense", json!({})),
        ],
        vec![text("done")],
    ])
    .await;
    assert_eq!(error_code(&played.events), None);
    let second = &played.asked[1];
    assert_eq!(second.len(), 5);
    let Message::Assistant {
        text, tool_calls, ..
    } = &second[1]
    else {
        panic!("{second:?}");
    };
    assert_eq!((text.as_str(), tool_calls.len()), ("one two", 3));
    let results: Vec<_> = second[2..]
        .iter()
        .map(|message| match message {
            Message::ToolResult {
                call_id,
                content,
                is_error,
                ..
            } => (
                call_id.as_str(),
                *is_error,
                content.contains("content of a"),
            ),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        results,
        [
            ("c1", true, false),
            ("c2", false, true),
            ("c3", true, false)
        ]
    );
    // All began before the first was over.
    let states: Vec<_> = played
        .events
        .iter()
        .filter_map(|event| match event {
            RunEvent::MayDrop {
                event: MayDrop::Activity(Activity::Tool { state, .. }),
                ..
            } => Some(*state),
            _ => None,
        })
        .collect();
    assert_eq!(states[..3], [ActivityState::Started; 3]);
    // What is stored replays as what the provider was told, and its last answer.
    let mut want = second.clone();
    want.push(Message::Assistant {
        state: provider::ProviderState {
            provider: "fixture".into(),
            items: Vec::new(),
        },
        text: "done".into(),
        tool_calls: Vec::new(),
    });
    assert_eq!(played.replayed, want);
}

/// Says one word after the other, as models do.
struct Steady(u32);

impl Provider for Steady {
    fn id(&self) -> &str {
        "fixture"
    }

    fn respond(&self, _: Request, _: CancellationToken) -> Response {
        let words = futures_util::stream::iter(0..self.0);
        Response::from_stream(futures_util::StreamExt::then(words, |n| async move {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            Ok(text(&format!("{n} ")))
        }))
    }
}

/// A session may have 100,000 lines, and a replay shows 2 MiB: a line for each word would spend both.
#[tokio::test(start_paused = true)]
async fn a_steady_stream_is_stored_in_few_records() {
    let played = play_with(Arc::new(Steady(2000)), "{}", Vec::new()).await;
    let pieces = played.stored.matches("\"assistant_text\"").count();
    // The first 400 as they come, in 8 s; 32 s more, at most four times a second.
    assert!((400..=400 + 4 * 32 + 1).contains(&pieces), "{pieces}");
    let Some(Message::Assistant { text, .. }) = played.replayed.last() else {
        panic!("{:?}", played.replayed);
    };
    let expected: String = (0..2000).map(|n| format!("{n} ")).collect();
    assert_eq!(*text, expected);
}

/// An input that a wire can read, one level short of its parser's limit, must not make a record that nobody
/// can read: the session would be lost.
#[tokio::test]
async fn an_input_of_any_depth_leaves_the_session_readable() {
    for (depth, kept) in [(63, true), (64, false), (126, false)] {
        let mut nested = json!(1);
        for _ in 0..depth {
            nested = json!([nested]);
        }
        let input = json!({ "path": nested });
        let played = play(vec![
            vec![call("c", "read", input.clone())],
            vec![text("done")],
        ])
        .await;
        assert_eq!(error_code(&played.events), None);
        let Some(Message::Assistant { tool_calls, .. }) = played.replayed.get(1) else {
            panic!("{:?}", played.replayed);
        };
        assert_eq!(tool_calls[0].input == input, kept, "{depth}");
        assert_eq!(played.asked[1], played.replayed[..3]);
    }
}

#[tokio::test]
async fn a_worker_that_breaks_off_still_ends_its_run() {
    let played = play_with(Arc::new(Panicking), "{}", Vec::new()).await;
    assert_eq!(
        error_code(&played.events),
        Some(RunErrorCode::ExecutionFailed)
    );
    let told = played.events.iter().any(|event| {
        matches!(event, RunEvent::MustArrive(MustArrive::Diagnostic { summary, .. }) if summary.as_str().contains("unexpectedly"))
    });
    assert!(told, "{:?}", played.events);
    // The end is in the file, and what was said before the fault.
    assert!(played.stored.contains("turn_finished"), "{}", played.stored);
    assert!(played.stored.contains("Half of it"), "{}", played.stored);
}

/// The variable that settings name as a key need not be called one; and a value is known within
/// JSON too, as approval summaries hold it.
#[tokio::test]
async fn keys_named_by_settings_are_hidden_everywhere() {
    let secret = "plain \"quoted\" and \\ more";
    let played = play_with(
        canned(vec![
            vec![
                text("it is plain \"quo"),
                text("ted\" and \\ more, so"),
                call("c1", "grep", json!({ "path": "a", "pattern": format!("echo {secret}") })),
                call(
                    "c2",
                    "grep",
                    json!({ "path": "b", "pattern": json!({ "key": secret }).to_string() }),
                ),
            ],
            vec![text("done")],
        ]),
        r#"{"permissions":{"grep":"ask"},"providers":{"custom":{"api":"openai-chat","base_url":"http://127.0.0.1:9/","api_key_env":"CUSTOM"}}}"#,
        vec![("CUSTOM".to_owned(), secret.to_owned())],
    )
    .await;
    let mut asked = 0;
    let mut shown = String::new();
    for event in &played.events {
        if let RunEvent::MustArrive(MustArrive::ApprovalRequested { summary, .. }) = event {
            asked += 1;
            assert!(summary.as_str().contains("[redacted"), "{summary}");
        }
        shown += &format!("{event:?}");
    }
    assert_eq!(asked, 2);
    assert!(shown.contains("it is [redacted], so"), "{shown}");
    for part in ["plain", "quoted", "more"] {
        assert!(!shown.contains(part), "{shown}");
    }
}

/// A session is whatever its store keeps: nothing of a run, an attachment or a history takes it for a file.
#[tokio::test]
async fn a_run_works_on_any_store_of_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let environment = Environment {
        cwd: dir.path().to_owned(),
        mc_home: Some(dir.path().join("home")),
        ..Environment::default()
    };
    let sessions = crate::memory::MemorySessions::default();
    let engine = Engine::new(environment, CAPACITY).with_sessions(Arc::new(sessions.clone()));
    let never = CancellationToken::new();
    let (_, workspace) = engine.admit(engine.directory(), never.clone()).await;
    let workspace = workspace
        .unwrap()
        .with_provider(canned(vec![vec![text("Yes.")], vec![text("Again.")]]));
    let opened = engine.open(&workspace, None, None, &never).await.unwrap();
    let session: SessionId = opened.session_id.parse().unwrap();
    let start = |prompt| {
        engine
            .start(&workspace, &session, reconciled_run(prompt))
            .unwrap()
    };
    let ended = |events: &[RunEvent]| match events.last() {
        Some(RunEvent::MustArrive(MustArrive::Finished {
            persistence,
            revision,
            ..
        })) => {
            assert_eq!(*persistence, Persistence::Durable);
            revision.clone().unwrap()
        }
        other => panic!("{other:?}"),
    };
    let revision = ended(&events_of(start("go")).await);
    let page = engine.page(&workspace, &session, &revision, None);
    let page = page.await.unwrap();
    let texts: Vec<_> = page
        .entries
        .iter()
        .map(|entry| entry.text.as_str())
        .collect();
    assert_eq!(texts, ["go", "Yes."]);
    let again = engine.open(&workspace, Some(session.clone()), Some(&session), &never);
    let opened = again.await.unwrap();
    assert!(opened.durable && opened.notices.is_empty());
    ended(&events_of(start("more")).await);
    // A change by someone else is noticed, and what they wrote is not written over.
    sessions.edit(&session, |records| records.truncate(2));
    let run = events_of(start("lost")).await;
    let end = run.last();
    assert!(
        matches!(
            end,
            Some(RunEvent::MustArrive(MustArrive::Finished {
                persistence: Persistence::NotStarted,
                ..
            }))
        ),
        "{end:?}"
    );
    let names = std::fs::read_dir(dir.path().join("home/sessions")).unwrap();
    assert_eq!(names.count(), 0, "nothing on the disk");
}

async fn events_of(mut run: Run) -> Vec<RunEvent> {
    let mut events = Vec::new();
    while let Some(event) = run.events.recv().await {
        events.push(event);
    }
    events
}
