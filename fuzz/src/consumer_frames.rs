//! The strict client of both magi dialects against a server that may say anything: bounded, the same
//! verdict in any chunking, nothing said twice, nothing after the end, nothing that steers a terminal.

use std::collections::HashSet;

use consumer::application_service::messages::{
    CallbackPayload, CancelPayload, ConfigPayload, LoginPayload, LogoutPayload, ModelsPayload,
    PagePayload, ProviderPayload, ProvidersPayload, Transient,
};
use consumer::application_service::words::{Scope, Thinking};
use consumer::application_service::{self as service, Envelope, Requirements};
use consumer::decode::{self, Bounds, compact_len};
use consumer::display::{one_line, plain};
use consumer::local_agent::frames::{BOUNDS, Body, Frame};
use consumer::local_agent::words::{is_id, is_session_id, is_uuid};
use consumer::local_agent::{
    self as local, AnswerParams, CancelParams, Event, History, OpenParams, PageParams, StartParams,
};
use consumer::{Violation, fields};
use tokio::io::sink;

use crate::input::expand;
use crate::line_stream::{self, Chopped, block, chopped, violation};
use crate::naive;

/// The identities that the requests of a session below name, for a server to answer to.
pub const SESSION: &str = "s1";
pub const REVISION: &str = "v1";
pub const RUN: &str = "0e7a0e0c-54b5-4a53-8f3c-3c8d2a1b9a10";

/// Checks a whole input: its lines one by one, then as a session of each dialect. Gives what each
/// session came to: the names of what was taken, and last the violation that ended it, if any.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> [Vec<String>; 2] {
    let input = expand(data);
    for line in input.split(|byte| *byte == b'\n') {
        bounds(line);
        frame(line);
        envelope(line);
    }
    for line_bytes in [1, 40, BOUNDS.record_bytes] {
        line_stream::check(&input, line_bytes);
    }
    let local = chopped(&input, |read| block(local_session(read)));
    let service = chopped(&input, |read| block(service_session(read)));
    [local, service].map(|said| {
        let name = |said: String| said.split(['(', ' ', '{']).next().unwrap_or("").to_owned();
        said.into_iter().map(name).collect()
    })
}

/// The decoder's bounds against the slow measure.
fn bounds(line: &[u8]) {
    let tight = Bounds {
        record_bytes: 2048,
        depth: 4,
        array_items: 8,
        object_fields: 8,
        string_bytes: 64,
    };
    for bounds in [BOUNDS, service::limits::LOCAL, tight] {
        let verdict = decode::check(line, &bounds);
        let object = decode::object(line, &bounds);
        assert_eq!(
            object.is_ok() || object == Err(Violation::NotJsonObject),
            verdict.is_ok() || verdict == Err(Violation::NotJsonObject)
        );
        if line.len() >= bounds.record_bytes {
            assert_eq!(verdict, Err(Violation::FrameTooLarge));
            continue;
        }
        let Ok(text) = std::str::from_utf8(line) else {
            assert_eq!(verdict, Err(Violation::NotUtf8));
            continue;
        };
        let found = naive::measure(text);
        let duplicate = found.duplicate_top || found.duplicate_nested;
        let fits = found.depth <= bounds.depth
            && found.items <= bounds.array_items
            && found.fields <= bounds.object_fields
            && found.string <= bounds.string_bytes
            && !duplicate;
        let reason = match verdict {
            Ok(()) => found.ok() && fits,
            Err(Violation::TooDeep) => found.depth > bounds.depth,
            Err(Violation::TooManyItems) => found.items > bounds.array_items,
            Err(Violation::TooManyFields) => found.fields > bounds.object_fields,
            Err(Violation::StringTooLong) => found.string > bounds.string_bytes,
            Err(Violation::DuplicateKey) => duplicate,
            Err(Violation::NotJsonObject) => !found.ok() || found.extreme_number,
            Err(_) => false,
        };
        assert!(reason, "{verdict:?} for {text:?}");
        let Ok(map) = object else { continue };
        assert!(found.is_object && map.len() == found.members.len());
        assert!(
            found
                .members
                .iter()
                .all(|member| map.contains_key(&member.key))
        );
        if found.plain_numbers {
            assert_eq!(
                compact_len(&map),
                found.compact,
                "what was checked is what is built: {text:?}"
            );
        }
    }
}

fn frame(line: &[u8]) {
    let decoded = Frame::decode(line);
    assert_eq!(Frame::decode(line), decoded);
    let Ok(frame) = decoded else { return };
    assert!(line.len() < BOUNDS.record_bytes);
    assert!(is_uuid(&frame.instance_id) && frame.seq <= fields::MAX_COUNT);
    match frame.body {
        Body::Result { id, result } => assert!(is_id(&id) && result.is_object()),
        Body::Refused { id, .. } => assert!(id.is_none_or(|id| is_id(&id))),
        Body::Event(event) => assert!(is_session_id(event.session_id()) && is_uuid(event.run_id())),
    }
}

fn envelope(line: &[u8]) {
    let local = service::decode::OutputBounds::LOCAL;
    // Version 1's own bounds, as they hold once they are negotiated.
    let agreed = service::decode::OutputBounds {
        json: Bounds {
            record_bytes: 65_536,
            depth: 32,
            array_items: 64,
            object_fields: 64,
            string_bytes: 16_384,
        },
        payload_bytes: 32_768,
        message_bytes: 512,
        id_bytes: 128,
        name_bytes: 64,
    };
    let decoded = Envelope::decode(line, &local);
    assert_eq!(Envelope::decode(line, &local), decoded);
    let strict = Envelope::decode(line, &agreed);
    if strict.is_ok() {
        assert_eq!(
            strict, decoded,
            "tighter bounds refuse more and change nothing"
        );
    }
    match strict {
        Ok(Envelope::Response {
            request_id,
            session_id,
            outcome,
            ..
        }) => {
            assert!(request_id.is_none_or(|id| (1..=128).contains(&id.len())));
            assert!(session_id.is_none_or(|id| (1..=128).contains(&id.len())));
            match outcome {
                Ok(payload) => assert!(compact_len(&payload) <= 32_768),
                Err(error) => assert!(error.message.len() <= 512 && !error.word().is_empty()),
            }
        }
        Ok(Envelope::Event { payload, .. }) => assert!(compact_len(&payload) <= 32_768),
        Err(_) => {}
    }
}

/// Everything a local-agent child says to a client that asks for all nine operations.
async fn local_session(output: Chopped<'_>) -> Vec<String> {
    let mut client = local::Client::new(output, sink());
    let mut said = Vec::new();
    let mut waiting = HashSet::new();
    let mut ended: HashSet<String> = HashSet::new();
    let initialize = local::Request::initialize(local::REQUIRED_FOR_TURNS);
    waiting.extend(client.send(initialize));
    loop {
        let incoming = match client.next().await {
            Ok(Some(incoming)) => incoming,
            Ok(None) => break,
            Err(error) => {
                let violation = violation(error);
                said.push(format!("{violation:?}"));
                assert_eq!(
                    client.next().await.map_err(line_stream::violation),
                    Err(violation)
                );
                let refused = client
                    .send(local::Request::Status)
                    .map_err(line_stream::violation);
                assert_eq!(refused, Err(violation), "a broken connection sends nothing");
                break;
            }
        };
        match &incoming {
            local::Incoming::Answered { id, answer } => {
                assert!(waiting.remove(id), "an answer to a request that waits");
                match answer {
                    local::Answer::Initialized(_) => {
                        waiting.extend(
                            local_requests()
                                .into_iter()
                                .filter_map(|r| client.send(r).ok()),
                        );
                    }
                    local::Answer::HistoryPage(page) => {
                        let mut history = History::new(SESSION.to_owned(), REVISION.to_owned());
                        let taken = history.accept(page.clone());
                        said.extend(taken.err().map(|violation| format!("{violation:?}")));
                    }
                    _ => {}
                }
            }
            local::Incoming::Refused { id, .. } => {
                assert!(id.as_ref().is_none_or(|id| waiting.remove(id)));
            }
            local::Incoming::Event(event) => {
                assert!(!ended.contains(event.run_id()), "nothing after the end");
                if matches!(event, Event::RunFinished(_)) {
                    ended.insert(event.run_id().to_owned());
                }
                let transcript = client.transcript().expect("an event has its run");
                assert_eq!(
                    (transcript.run_id(), transcript.session_id()),
                    (event.run_id(), SESSION)
                );
                for segment in transcript.segments() {
                    assert!(
                        segment.is_settled() || segment.streamed().starts_with(segment.prefix())
                    );
                }
                shown(&transcript.text());
            }
        }
        assert_eq!(client.in_flight(), waiting.len(), "what waits is known");
        said.push(match incoming {
            local::Incoming::Answered { id, answer } => format!("{answer:?} {id}"),
            local::Incoming::Event(event) => format!("{event:?}"),
            refused => format!("{refused:?}"),
        });
    }
    said
}

fn local_requests() -> Vec<local::Request> {
    let session_id = SESSION.to_owned();
    let run_id = RUN.to_owned();
    vec![
        local::Request::Status,
        local::Request::SessionCreate,
        local::Request::SessionOpen(OpenParams {
            session_id: session_id.clone(),
        }),
        local::Request::HistoryPage(PageParams {
            session_id: session_id.clone(),
            revision: REVISION.to_owned(),
            cursor: None,
        }),
        local::Request::TurnStart(StartParams {
            session_id: session_id.clone(),
            prompt: "hi".to_owned(),
        }),
        local::Request::TurnCancel(CancelParams {
            session_id: session_id.clone(),
            run_id: run_id.clone(),
        }),
        local::Request::ApprovalAnswer(AnswerParams {
            session_id,
            approval_id: run_id.clone(),
            run_id,
            allow: true,
        }),
        local::Request::TurnStart(StartParams {
            session_id: SESSION.to_owned(),
            prompt: "again".to_owned(),
        }),
        local::Request::Shutdown,
    ]
}

/// Everything an application service says to a client that asks for all twenty operations.
async fn service_session(output: Chopped<'_>) -> Vec<String> {
    let mut client = service::Client::new(output, sink(), Requirements::default());
    let mut said = Vec::new();
    let mut waiting = HashSet::new();
    let mut ended = HashSet::new();
    waiting.extend(client.send(service::Request::initialize(Vec::new())));
    loop {
        let incoming = match client.next().await {
            Ok(Some(incoming)) => incoming,
            Ok(None) => break,
            Err(error) => {
                let violation = violation(error);
                said.push(format!("{violation:?}"));
                assert_eq!(
                    client.next().await.map_err(line_stream::violation),
                    Err(violation)
                );
                let refused = client
                    .send(service::Request::Status)
                    .map_err(line_stream::violation);
                assert_eq!(refused, Err(violation), "a broken connection sends nothing");
                break;
            }
        };
        match &incoming {
            service::Incoming::Answered { request_id, answer } => {
                assert!(
                    waiting.remove(request_id),
                    "an answer to a request that waits"
                );
                if matches!(answer, service::Answer::Initialized(_)) {
                    waiting.extend(
                        service_requests()
                            .into_iter()
                            .filter_map(|r| client.send(r).ok()),
                    );
                }
            }
            service::Incoming::Failed { request_id, error } => {
                assert!(request_id.as_ref().is_none_or(|id| waiting.remove(id)));
                shown(&error.message);
            }
            service::Incoming::Event { request_id, event } => {
                assert!(!ended.contains(request_id), "nothing after the end");
                match event {
                    service::Event::TurnTerminal(settlement) => {
                        ended.insert(request_id.clone());
                        shown(&settlement.assistant_text);
                    }
                    service::Event::LoginTerminal(_) => {
                        ended.insert(request_id.clone());
                    }
                    service::Event::AssistantDelta(delta) => shown(&delta.text),
                    _ => {}
                }
            }
        }
        assert_eq!(
            client.tracker().in_flight(),
            waiting.len(),
            "what waits is known"
        );
        said.push(match incoming {
            service::Incoming::Answered { request_id, answer } => {
                format!("{answer:?} {request_id}")
            }
            service::Incoming::Event { request_id, event } => format!("{event:?} {request_id}"),
            failed => format!("{failed:?}"),
        });
    }
    said
}

fn service_requests() -> Vec<service::Request> {
    use service::Request as R;
    let session_id = SESSION.to_owned();
    let provider = |id: &str| ProviderPayload {
        provider_id: id.to_owned(),
    };
    let page = || PagePayload {
        after: None,
        limit: 32,
    };
    vec![
        R::Status,
        R::Capabilities,
        R::SessionList(page()),
        R::SessionCreate,
        R::SessionOpen {
            session_id: session_id.clone(),
        },
        R::SessionReplay {
            session_id: session_id.clone(),
            page: page(),
        },
        R::SessionClose {
            session_id: session_id.clone(),
        },
        R::turn(Some(session_id), "hi".to_owned()),
        R::TurnCancel(CancelPayload {
            turn_id: "t1".to_owned(),
        }),
        R::AuthStatus,
        R::AuthLoginStart(provider("openai-codex")),
        R::AuthLoginCallback(CallbackPayload {
            login_id: "l1".to_owned(),
            input: Transient::new("code".to_owned()),
        }),
        R::AuthLoginCancel(LoginPayload {
            login_id: "l1".to_owned(),
        }),
        R::AuthLogout(LogoutPayload {
            provider_id: "anthropic".to_owned(),
            confirmed: true,
        }),
        R::CatalogProviders(ProvidersPayload {
            offset: 0,
            limit: 32,
        }),
        R::CatalogModels(ModelsPayload {
            provider_id: "anthropic".to_owned(),
            offset: 0,
            limit: 32,
        }),
        R::CatalogRefresh(provider("anthropic")),
        R::ConfigGet,
        R::ConfigSet(ConfigPayload {
            scope: Some(Scope::Global),
            selection: None,
            thinking_level: Some(Thinking::High),
            fast: None,
        }),
        R::turn(None, "new".to_owned()),
    ]
}

/// What a terminal would be given.
fn shown(text: &str) {
    let safe = plain(text);
    assert!(
        !safe
            .chars()
            .any(|c| c.is_control() && c != '\n' && c != '\t')
    );
    assert_eq!(plain(&safe), safe, "safe text is left alone");
    let line = one_line(text, 80);
    assert!(line.chars().count() <= 80 && !line.contains(['\n', '\t']));
}
