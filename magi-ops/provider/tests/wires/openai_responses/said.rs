//! What a server says of a call, a message or an event beside it, and what that makes of it.
//! How a response ends as a whole is tested above.

use super::*;

/// What the server itself says of a call or a message counts, also where the response is completed.
#[tokio::test]
async fn a_call_that_its_server_calls_failed_or_unfinished_does_not_run() {
    let own = "{\"path\":\"x\"}";
    for (said, given) in [
        ("completed", Some(json!({"path": "x"}))),
        ("", Some(json!({"path": "x"}))),
        ("incomplete", Some(json!(own))),
        ("in_progress", Some(json!(own))),
        ("failed", None),
        ("cancelled", None),
    ] {
        let item = call("a", own, said);
        let streamed = [
            added(0, call("a", "", "in_progress")),
            done(0, item.clone()),
        ];
        let last = completed(json!({"output": [item]}));
        for events in [
            [&streamed[..], &[completed(json!({}))]].concat(),
            [&streamed[..], std::slice::from_ref(&last)].concat(),
            vec![last.clone()],
        ] {
            let (chunks, error) = read_of(&events).await;
            let Some(given) = &given else {
                assert_eq!((chunks, error), (vec![], Some(ErrorKind::Failed)), "{said}");
                continue;
            };
            let mut expected = vec![list("a", given.clone())];
            expected.extend(given.is_string().then_some(Chunk::Cut));
            assert_eq!((chunks, error), (expected, None), "{said}");
        }
    }
    // The last word counts, and what a tool at the provider failed at fails nothing.
    let events = [
        done(0, call("a", own, "in_progress")),
        done(
            1,
            json!({"type": "web_search_call", "id": "ws", "status": "failed"}),
        ),
        completed(json!({"output": [call("a", own, "completed")]})),
    ];
    let whole = vec![list("a", json!({"path": "x"}))];
    assert_eq!(read_of(&events).await, (whole, None));
    let message = json!({"type": "message", "status": "incomplete", "content": [{"type": "output_text", "text": "Half"}]});
    let events = [
        done(0, message.clone()),
        completed(json!({"output": [message]})),
    ];
    assert_eq!(
        read_of(&events).await,
        (vec![text("Half"), Chunk::Cut], None)
    );
}

#[tokio::test]
async fn an_event_s_name_says_what_its_data_leave_out() {
    let named = |kind: &str, data: Value| format!("event: response.{kind}\ndata: {data}\n\n");
    let stream = named(
        "output_text.delta",
        json!({"output_index": 0, "delta": "Hi"}),
    ) + &named(
        "output_item.done",
        json!({"output_index": 1, "item": call("a", "{}", "completed")}),
    ) + &named("completed", json!({"response": {"status": "completed"}}));
    let steps = plain(200, "content-type: text/event-stream\r\n", &stream);
    let read = answer(Api::OpenaiResponses, prompt(), steps).await;
    assert_eq!(read, (vec![text("Hi"), list("a", json!({}))], None));
}
