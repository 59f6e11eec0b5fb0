//! Servers of the Responses API that differ: in how they name items, in what they stream, and in what they refuse.

use super::*;

#[tokio::test]
async fn servers_that_name_items_their_own_way_are_understood() {
    let arguments = |members: Value| {
        let mut members = members;
        members["delta"] = json!("{\"path\":\"1\"}");
        event("function_call_arguments.delta", members)
    };
    let whole = call("a", "{\"path\":\"1\"}", "completed");
    let other = call("b", "{\"path\":\"2\"}", "completed");
    let both = [
        list("a", json!({"path": "1"})),
        list("b", json!({"path": "2"})),
    ];
    for events in [
        // Only whole items; everything in the last event; an index as a text; another id at the end.
        vec![
            done(0, whole.clone()),
            done(1, other.clone()),
            completed(json!({})),
        ],
        vec![completed(json!({"output": [whole, other]}))],
        vec![
            added(0, call("a", "", "in_progress")),
            arguments(json!({"output_index": "0"})),
            done(1, other.clone()),
            completed(json!({"usage": ""})),
        ],
        vec![
            added(0, call("a", "", "in_progress")),
            arguments(json!({"output_index": 0, "item_id": "another"})),
            done(0, {
                let mut item = whole.clone();
                item["id"] = json!("a third");
                item
            }),
            done(1, other.clone()),
            completed(json!({"output": [whole, other]})),
        ],
        // The same index for all.
        vec![
            added(0, call("a", "", "in_progress")),
            arguments(json!({"output_index": 0, "item_id": "fc_a"})),
            done(0, whole.clone()),
            added(0, call("b", "", "in_progress")),
            event(
                "function_call_arguments.done",
                json!({"output_index": 0, "item_id": "fc_b", "arguments": {"path": "2"}}),
            ),
            completed(json!({})),
        ],
        // Without a word of an end but the marker.
        vec![
            done(0, whole.clone()),
            done(1, other.clone()),
            "[DONE]".to_owned(),
        ],
    ] {
        let (chunks, error) = read_of(&events).await;
        assert_eq!((&chunks[..], error), (&both[..], None), "{events:?}");
    }
    // Pieces without anything in them are no call.
    let events = [
        event("function_call_arguments.delta", json!({"delta": null})),
        event("output_item.done", json!({"item": null})),
        delta(0, "Hi"),
        completed(json!({})),
    ];
    assert_eq!(read_of(&events).await, (vec![text("Hi")], None));
    // Text that only its end has, and an item that nobody knows.
    let events = [
        added(0, json!({"type": "web_search_call", "id": "ws"})),
        done(
            0,
            json!({"type": "web_search_call", "id": "ws", "status": "completed"}),
        ),
        event("output_text.done", json!({"text": "Hel"})),
        event(
            "content_part.done",
            json!({"part": {"type": "output_text", "text": "Hello"}}),
        ),
        event("some.new.event", json!({"delta": null})),
        completed(json!({"output": [{"type": "web_search_call"},
            {"type": "message", "content": [{"type": "output_text", "text": "Hello!"}]}]})),
    ];
    let expected = vec![text("Hel"), text("lo"), text("!")];
    assert_eq!(read_of(&events).await, (expected, None));
}

#[tokio::test]
async fn a_whole_answer_is_read_like_a_stream() {
    let whole = json!({"object": "response", "status": "completed", "error": null, "output": [
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "So."}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
        call("a", "{}", "completed"),
    ], "usage": {"input_tokens": "3", "output_tokens": 1.0}});
    let body = whole.to_string();
    let steps = plain(200, "content-type: application/json\r\n", &body);
    let (chunks, error) = answer(Api::OpenaiResponses, prompt(), steps).await;
    let counts = Chunk::Usage(Usage {
        input: 3,
        output: 1,
        ..Usage::default()
    });
    let expected = [summary("So."), text("Hello"), counts, list("a", json!({}))];
    assert_eq!((&chunks[..], error), (&expected[..], None));
    let failed = json!({"object": "response", "status": "failed", "output": [], "usage": {"input_tokens": 3},
        "error": {"message": "boom"}});
    let steps = plain(200, "", &failed.to_string());
    let (_, error) = answer(Api::OpenaiResponses, prompt(), steps).await;
    assert_eq!(error, Some(ErrorKind::Failed));
}

#[tokio::test]
async fn a_member_that_the_server_refuses_is_left_out_from_then_on() {
    let hello = streamed(&[delta(0, "Hello"), completed(json!({}))]);
    let refusal = |param: &str| {
        let error = json!({"error": {"message": "Unsupported parameter", "param": param}});
        plain(400, "", &error.to_string())
    };
    let answers = vec![
        refusal("reasoning.summary"),
        refusal("include"),
        hello.clone(),
        hello,
    ];
    let mut server = Server::start(answers).await;
    let provider = server.provider(Api::OpenaiResponses, quick());
    let mut asked = prompt();
    asked.model = "gpt-5".into();
    asked.thinking = ThinkingLevel::High;
    for _ in 0..2 {
        let response = provider.respond(asked.clone(), CancellationToken::new());
        assert_eq!(read(response).await, (vec![text("Hello")], None));
    }
    let mut bodies = Vec::new();
    for _ in 0..4 {
        bodies.push(server.asked().await.body);
    }
    assert_eq!(bodies[1]["reasoning"], json!({"effort": "high"}));
    assert!(bodies[1].get("include").is_some() && bodies[2].get("include").is_none());
    assert_eq!(bodies[3], bodies[2]);
}

#[tokio::test]
async fn a_call_of_a_tool_whose_input_is_text_is_a_call() {
    let input = r#"{"path":"a"}"#;
    let (begin, rest) = input.split_at(5);
    let item = |input: &str| {
        json!({"type": "custom_tool_call", "id": "ct_a", "call_id": "a", "name": "list",
            "input": input, "status": "completed"})
    };
    let piece = |piece: &str| {
        let members = json!({"output_index": 0, "item_id": "ct_a", "delta": piece});
        event("custom_tool_call_input.delta", members)
    };
    let whole = event(
        "custom_tool_call_input.done",
        json!({"output_index": 0, "item_id": "ct_a", "input": input}),
    );
    for events in [
        vec![
            added(0, item("")),
            piece(begin),
            piece(rest),
            whole,
            done(0, item(input)),
            completed(json!({})),
        ],
        vec![done(0, item(input)), completed(json!({}))],
        vec![completed(json!({"output": [item(input)]}))],
    ] {
        let expected = vec![list("a", json!({"path": "a"}))];
        assert_eq!(read_of(&events).await, (expected, None), "{events:?}");
    }
    // What is no object is refused by the tool, with words to the model.
    let events = [done(0, item("*** Begin Patch")), completed(json!({}))];
    let expected = vec![list("a", json!("*** Begin Patch"))];
    assert_eq!(read_of(&events).await, (expected, None));
}
