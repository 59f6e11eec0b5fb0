//! Tests of conversations that are made shorter: when that is, what the model is told then, and what is stored of it.

use provider::{ErrorKind, Purpose, Usage};
use store::sessions::{Record, SessionStore as _};

use super::super::event::CompactionState;
use super::*;
use crate::memory::MemorySessions;

mod failures;
mod parts;
mod properties;

type Answer = Vec<Result<Chunk, ProviderError>>;
type Script = dyn FnMut(&Request) -> Answer + Send;

/// Answers as a function says, and keeps what it was asked.
struct Model {
    window: Option<u64>,
    script: Mutex<Box<Script>>,
    asked: Mutex<Vec<(Purpose, Vec<Message>)>>,
}

impl Provider for Model {
    fn id(&self) -> &str {
        "fixture"
    }

    fn context_window(&self, _: &str) -> Option<u64> {
        self.window
    }

    fn is_scripted(&self) -> bool {
        true
    }

    fn respond(&self, request: Request, cancel: CancellationToken) -> Response {
        let answer = self.script.lock().unwrap()(&request);
        let asked = (request.purpose, request.messages.to_vec());
        self.asked.lock().unwrap().push(asked);
        let waits = answer.is_empty();
        let rest = futures_util::stream::poll_fn(move |_| std::task::Poll::Ready(None));
        let rest = futures_util::StreamExt::take_until(rest, async move {
            if waits {
                cancel.cancelled().await;
            }
        });
        if waits {
            return Response::from_stream(futures_util::stream::pending());
        }
        Response::from_stream(futures_util::StreamExt::chain(
            futures_util::stream::iter(answer),
            rest,
        ))
    }
}

/// A session in memory with a model.
struct Talk {
    _dir: tempfile::TempDir,
    engine: Arc<Engine>,
    workspace: Arc<crate::Workspace>,
    session: SessionId,
    sessions: MemorySessions,
    model: Arc<Model>,
}

impl Talk {
    async fn new(
        window: Option<u64>,
        script: impl FnMut(&Request) -> Answer + Send + 'static,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.txt"), "content of a\n").unwrap();
        let environment = Environment {
            cwd: dir.path().to_owned(),
            mc_home: Some(dir.path().join("home")),
            ..Environment::default()
        };
        let sessions = MemorySessions::default();
        let engine = Engine::new(environment, CAPACITY).with_sessions(Arc::new(sessions.clone()));
        let never = CancellationToken::new();
        let (_, workspace) = engine.admit(engine.directory(), never.clone()).await;
        let model = Arc::new(Model {
            window,
            script: Mutex::new(Box::new(script)),
            asked: Mutex::default(),
        });
        let workspace = workspace.unwrap().with_provider(model.clone());
        let opened = engine.open(&workspace, None, None, &never).await.unwrap();
        Self {
            _dir: dir,
            session: opened.session_id.parse().unwrap(),
            engine,
            workspace,
            sessions,
            model,
        }
    }

    fn start(&self, prompt: &str) -> Run {
        self.engine
            .start(&self.workspace, &self.session, reconciled_run(prompt))
            .unwrap()
    }

    async fn turn(&self, prompt: &str) -> Vec<RunEvent> {
        events_of(self.start(prompt)).await
    }

    async fn reopen(&self) {
        let (session, never) = (self.session.clone(), CancellationToken::new());
        self.engine
            .open(
                &self.workspace,
                Some(session.clone()),
                Some(&session),
                &never,
            )
            .await
            .unwrap();
    }

    /// What was asked since the last look.
    fn asked(&self) -> Vec<(Purpose, Vec<Message>)> {
        std::mem::take(&mut *self.model.asked.lock().unwrap())
    }

    fn records(&self) -> Vec<Record> {
        let window = self.sessions.window(&self.session, None).unwrap();
        window.unwrap().records
    }

    fn checkpoints(&self) -> Vec<Body> {
        let bodies = self.records().into_iter().map(|record| record.body);
        bodies
            .filter(|body| matches!(body, Body::Checkpoint { .. }))
            .collect()
    }
}

/// A text, and what it cost.
fn said(words: &str, input: u64) -> Answer {
    vec![
        Ok(text(words)),
        Ok(Chunk::Usage(Usage {
            input,
            output: 1,
            ..Usage::default()
        })),
    ]
}

fn read_a(id: &str) -> Chunk {
    call(id, "read", json!({"path": "a.txt"}))
}

fn refused() -> Answer {
    vec![Err(ErrorKind::ContextLength.into())]
}

fn states(events: &[RunEvent]) -> Vec<(CompactionState, bool)> {
    events
        .iter()
        .filter_map(|event| match event {
            RunEvent::MayDrop {
                event: MayDrop::Activity(Activity::Compaction { state, tokens, .. }),
                ..
            } => Some((*state, tokens.is_some())),
            _ => None,
        })
        .collect()
}

const WHOLE: [(CompactionState, bool); 3] = [
    (CompactionState::Triggered, true),
    (CompactionState::Running, false),
    (CompactionState::Completed, true),
];
const FAILED: [(CompactionState, bool); 3] = [
    (CompactionState::Triggered, true),
    (CompactionState::Running, false),
    (CompactionState::Failed, false),
];

fn outcome(events: &[RunEvent]) -> (Outcome, Option<RunErrorCode>) {
    match events.last() {
        Some(RunEvent::MustArrive(MustArrive::Finished {
            outcome,
            error_code,
            persistence,
            ..
        })) => {
            assert_eq!(*persistence, Persistence::Durable);
            (*outcome, *error_code)
        }
        other => panic!("{other:?}"),
    }
}

const COMPLETED: (Outcome, Option<RunErrorCode>) = (Outcome::Completed, None);
const REQUIRED: (Outcome, Option<RunErrorCode>) =
    (Outcome::Failed, Some(RunErrorCode::CompactionRequired));

/// The user messages of a request, in short.
fn users(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| match message {
            Message::Summary {
                text,
                users,
                responses,
            } => {
                let summary = text.rsplit_once("\n\n").unwrap().1;
                format!("{summary} of {users}, {responses}")
            }
            Message::User { text } => text.clone(),
            Message::Assistant {
                text, tool_calls, ..
            } => format!("{text}+{}", tool_calls.len()),
            Message::ToolResult { call_id, .. } => format!("result of {call_id}"),
        })
        .collect()
}

#[tokio::test]
async fn a_conversation_that_would_fill_its_window_is_summarized_before_the_next_request() {
    let talk = Talk::new(Some(10_000), |request| match request.purpose {
        Purpose::Summary => said("In short.", 7),
        Purpose::Answer if request.messages.len() == 3 => said("Two.", 8005),
        Purpose::Answer => said("Answer.", 7000),
    })
    .await;
    for prompt in ["one", "two"] {
        let events = talk.turn(prompt).await;
        assert_eq!((outcome(&events), states(&events).len()), (COMPLETED, 0));
    }
    talk.asked();
    let events = talk.turn("three").await;
    assert_eq!(outcome(&events), COMPLETED);
    assert_eq!(states(&events), WHOLE);
    let sources: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::MayDrop {
                event:
                    MayDrop::Activity(Activity::Context {
                        source, request, ..
                    }),
                ..
            } => Some((*source, *request)),
            _ => None,
        })
        .collect();
    use ContextSource::{FallbackProjection, LastProviderUsage};
    assert_eq!(
        sources,
        [
            (FallbackProjection, 1),
            (FallbackProjection, 2),
            (LastProviderUsage, 2)
        ]
    );
    let asked = talk.asked();
    let purposes: Vec<_> = asked.iter().map(|(purpose, _)| *purpose).collect();
    assert_eq!(purposes, [Purpose::Summary, Purpose::Answer]);
    let [Message::User { text }] = &asked[0].1[..] else {
        panic!("{asked:?}");
    };
    assert!(
        text.contains("[person]\none") && !text.contains("three"),
        "{text}"
    );
    assert_eq!(users(&asked[1].1), ["In short. of 2, 0", "three"]);
    let checkpoints = talk.checkpoints();
    let [Body::Checkpoint { tokens_before, .. }] = &checkpoints[..] else {
        panic!("{checkpoints:?}");
    };
    assert_eq!(
        *tokens_before, 8012,
        "8,006 that the provider told, and the input"
    );
    // Nothing of what it stands for is gone from the session.
    let inputs = talk.records();
    let inputs = inputs
        .iter()
        .filter(|record| matches!(record.body, Body::UserInput { .. }));
    assert_eq!(inputs.count(), 3);
    talk.reopen().await;
    talk.turn("four").await;
    let last = talk.asked().pop().unwrap().1;
    assert_eq!(
        users(&last),
        ["In short. of 2, 0", "three", "Answer.+0", "four"]
    );
}

#[tokio::test]
async fn within_a_turn_calls_keep_their_results_and_what_is_signed() {
    let mut calls = 0;
    let talk = Talk::new(Some(1000), move |request| {
        if request.purpose == Purpose::Summary {
            return said("In short.", 7);
        }
        calls += 1;
        if calls > 4 {
            return said("Done.", 100);
        }
        let mut answer = vec![
            Ok(Chunk::State(json!({ "signed": calls }))),
            Ok(read_a(&format!("call {calls}"))),
        ];
        answer.extend(said("Look.", if calls == 4 { 900 } else { 100 }));
        answer
    })
    .await;
    let events = talk.turn("go").await;
    assert_eq!(
        (outcome(&events), &states(&events)[..]),
        (COMPLETED, &WHOLE[..])
    );
    let last = talk.asked().pop().unwrap().1;
    assert_eq!(
        users(&last),
        ["In short. of 0, 3", "go", "Look.+1", "result of call 4"]
    );
    let Message::Assistant { state, .. } = &last[2] else {
        panic!();
    };
    assert_eq!(state.items, [json!({"signed": 4})]);
}

#[tokio::test]
async fn a_refusal_for_length_is_answered_by_a_summary_and_the_same_request_once() {
    let mut refusals = 1;
    let talk = Talk::new(None, move |request| {
        if request.purpose == Purpose::Summary {
            return said("In short.", 7);
        }
        let is_short = matches!(request.messages[0], Message::Summary { .. });
        if request.messages.len() > 1 && refusals > 0 {
            refusals -= u32::from(is_short);
            return refused();
        }
        said("Answer.", 5)
    })
    .await;
    talk.turn("one").await;
    // Once more it is refused: then the turn can't go on.
    let events = talk.turn("two").await;
    assert_eq!(
        (outcome(&events), &states(&events)[..]),
        (REQUIRED, &WHOLE[..])
    );
    // The few words that it stands for were shorter: nobody is told of numbers that grew.
    let ended = events.iter().find_map(|event| match event {
        RunEvent::MayDrop {
            event:
                MayDrop::Activity(Activity::Compaction {
                    state: CompactionState::Completed,
                    summary,
                    ..
                }),
            ..
        } => Some(summary.as_str()),
        _ => None,
    });
    let ended = ended.unwrap();
    assert!(ended.starts_with("a summary stands in place"), "{ended}");
    assert_eq!(talk.asked().len(), 4);
    let Some(Body::TurnFinished { error_code, .. }) = talk.records().pop().map(|it| it.body) else {
        panic!();
    };
    assert_eq!(error_code.as_deref(), Some("compaction_required"));
    let events = talk.turn("three").await;
    assert_eq!((outcome(&events), states(&events).len()), (COMPLETED, 0));
    let last = talk.asked().pop().unwrap().1;
    assert_eq!(users(&last), ["In short. of 1, 0", "two", "three"]);
}

#[tokio::test]
async fn a_first_prompt_that_is_refused_for_its_length_ends_the_turn() {
    let talk = Talk::new(None, |_| refused()).await;
    let events = talk.turn("one").await;
    assert_eq!((outcome(&events), states(&events).len()), (REQUIRED, 0));
    assert_eq!(talk.asked().len(), 1);
}
