//! Images that `read` meets, as each wire gives them to a model: in their place, for those that take them, within bounds.
//! How a wire writes everything else is tested in `differences` and beside the wires.

use super::*;

/// A PNG as far as anybody looks here, of `length` bytes.
fn png(length: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.resize(length, 7);
    bytes
}

/// [`png`] of 19 bytes in base64.
const ENCODED: &str = "iVBORw0KGgoAAAANSUhEUgcHBw==";

fn calls(paths: &[&str]) -> Answer {
    let calls: Vec<_> = (0..)
        .zip(paths)
        .map(|(at, path)| {
            let arguments = json!({ "path": path }).to_string();
            json!({"index": at, "id": format!("call_{at}"),
                   "function": {"name": "read", "arguments": arguments}})
        })
        .collect();
    differences::completion(&[json!({ "tool_calls": calls })], "tool_calls")
}

fn done() -> Answer {
    differences::completion(&[json!({"content": "ok"})], "stop")
}

fn settings(base: &str, images: bool) -> Value {
    let models = json!([{"id": "m", "images": images}]);
    differences::chat(base, &json!({ "models": models }))
}

/// A request's messages behind the prompt of the system.
fn messages(model: &Model) -> Vec<Value> {
    model.asked().body["messages"].as_array().unwrap()[1..].to_vec()
}

#[test]
fn chat_completions_get_images_behind_all_results() {
    let model = Model::answering(vec![
        calls(&["a.png", "notes.txt", "b.gif"]),
        done(),
        done(),
        done(),
    ]);
    let place = Place::with_settings(&settings(&model.base(), true));
    std::fs::write(place.work().join("a.png"), png(19)).unwrap();
    std::fs::write(place.work().join("b.gif"), b"GIF89a").unwrap();
    place.write_file("notes.txt", "a line\n");
    let mut agent = ready(&place);
    let session = agent.create();
    for _ in 0..2 {
        assert_eq!(agent.turn(&session, "look").outcome(), "completed");
    }
    agent.end();
    messages(&model);
    let second = messages(&model);
    let roles: Vec<_> = second.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "tool", "user"]);
    assert_eq!(second[2]["content"], "[a.png: image/png, 19 bytes]\n");
    let url = |kind: &str, data: &str| json!({"type": "image_url", "image_url": {"url": format!("data:image/{kind};base64,{data}")}});
    let words = |call: &str| json!({"type": "text", "text": format!("[Shown by the call {call} of read:]")});
    let shown = [
        words("call_0"),
        url("png", ENCODED),
        words("call_2"),
        url("gif", "R0lGODlh"),
    ];
    assert_eq!(second[5], json!({ "role": "user", "content": shown }));
    // The next request repeats it as it was.
    assert_eq!(messages(&model)[..6], second);
    // A session's file keeps words, which the model reads after a restart.
    let mut agent = ready(&place);
    agent.ok("session.open", json!({ "session_id": session }));
    agent.turn(&session, "on");
    agent.end();
    let third = messages(&model);
    assert_eq!(
        third[2]["content"],
        "[a.png: image/png, 19 bytes]\n\
         [image: image/png, 19 bytes; it is not kept, make the call again to see it]\n"
    );
    assert_eq!(third[5]["role"], "assistant");
    let stored = std::fs::read_to_string(place.session_file(&session)).unwrap();
    assert!(!stored.contains(&ENCODED[..12]));
}

#[test]
fn the_messages_api_gets_images_within_their_results() {
    let [mut first, second] = anthropic("A picture.");
    for event in &mut first {
        *event = event.replace("tes.txt", "tes.png");
    }
    let model = Model::start(vec![first, second]);
    let place = Place::with_settings(&json!({
        "provider": "anthropic",
        "model": "claude-haiku-4-5",
        "providers": {"anthropic": {"base_url": model.base()}},
    }));
    std::fs::write(place.work().join("notes.png"), png(19)).unwrap();
    let mut agent = ready(&place);
    let session = agent.create();
    assert_eq!(agent.turn(&session, "look").outcome(), "completed");
    agent.end();
    model.asked();
    let result = &model.asked().body["messages"][2]["content"][0];
    assert_eq!(
        result["content"],
        json!([
            {"type": "text", "text": "[notes.png: image/png, 19 bytes]\n"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
        ])
    );
    assert_eq!(result["cache_control"], json!({"type": "ephemeral"}));
}

#[test]
fn a_model_that_takes_no_images_reads_words() {
    for refusal in [
        None,
        Some((
            400,
            r#"{"error":{"message":"m does not support image input"}}"#,
        )),
        Some((
            422,
            r#"{"detail":[{"loc":["body","messages",3],"msg":"unknown variant `image_url`"}]}"#,
        )),
        Some((
            500,
            r#"{"error":{"message":"image input is not supported - you may need the mmproj"}}"#,
        )),
        Some((
            400,
            r#"{"message":"Unexpected role 'user' after role 'tool'"}"#,
        )),
    ] {
        let refusals = refusal.map(|(status, body)| Answer::refusal(status, body));
        let refused = refusals.is_some();
        let answers = [calls(&["a.png"])].into_iter().chain(refusals);
        let model = Model::answering(answers.chain([done(), done()]).collect());
        let place = Place::with_settings(&settings(&model.base(), refused));
        std::fs::write(place.work().join("a.png"), png(19)).unwrap();
        let mut agent = ready(&place);
        let session = agent.create();
        for _ in 0..2 {
            assert_eq!(agent.turn(&session, "look").outcome(), "completed");
        }
        agent.end();
        messages(&model);
        if refused {
            assert_eq!(messages(&model)[3]["role"], "user");
        }
        let read =
            "[a.png: image/png, 19 bytes]\n[image: image/png, 19 bytes; the model takes none]\n";
        for _ in 0..2 {
            let asked = messages(&model);
            assert_eq!(asked[2]["content"], read, "{refusal:?}");
            assert!(
                !asked.iter().any(|m| m["content"].is_array()),
                "{refusal:?}"
            );
        }
    }
}

#[test]
fn an_image_that_is_too_long_for_a_server_becomes_words_and_shorter_ones_stay() {
    const MIB: usize = 1024 * 1024;
    let words = r#"{"error":{"message":"messages.5: image exceeds 5 MB maximum: 5592408 bytes > 5242880 bytes"}}"#;
    for (status, refusal) in [(400, words), (413, "")] {
        let model = Model::answering(vec![
            calls(&["long.png", "short.png"]),
            Answer::refusal(status, refusal),
            done(),
        ]);
        let place = Place::with_settings(&settings(&model.base(), true));
        std::fs::write(place.work().join("long.png"), png(4 * MIB)).unwrap();
        std::fs::write(place.work().join("short.png"), png(2 * MIB)).unwrap();
        let mut agent = ready(&place);
        let session = agent.create();
        assert_eq!(agent.turn(&session, "look").outcome(), "completed");
        agent.end();
        messages(&model);
        let images = |messages: &[Value]| {
            messages.last().unwrap()["content"]
                .as_array()
                .unwrap()
                .len()
        };
        assert_eq!(images(&messages(&model)), 4);
        let repeated = messages(&model);
        assert_eq!(images(&repeated), 2);
        let words = repeated[2]["content"].as_str().unwrap();
        assert!(
            words.ends_with("4194304 bytes; the server takes none so long]\n"),
            "{words}"
        );
    }
}

#[test]
fn an_image_that_a_server_refuses_is_left_out_and_the_next_one_stays() {
    let words = "messages.5.content.1.image_url: Could not process image";
    for (named, words) in [
        (true, words),
        (
            false,
            "The image data you provided does not represent a valid image.",
        ),
    ] {
        let refusal = json!({"error": {"message": words, "type": "invalid_request_error"}});
        let model = Model::answering(vec![
            calls(&["broken.png", "other.gif"]),
            Answer::refusal(400, &refusal.to_string()),
            calls(&["good.gif"]),
            done(),
        ]);
        let place = Place::with_settings(&settings(&model.base(), true));
        std::fs::write(place.work().join("broken.png"), png(19)).unwrap();
        std::fs::write(place.work().join("other.gif"), b"GIF87a").unwrap();
        std::fs::write(place.work().join("good.gif"), b"GIF89a").unwrap();
        let mut agent = ready(&place);
        let session = agent.create();
        assert_eq!(agent.turn(&session, "look").outcome(), "completed");
        agent.end();
        messages(&model);
        let shown = |messages: &[Value]| {
            let contents = messages.iter().filter_map(|m| m["content"].as_array());
            let parts = contents.flatten().filter(|p| p["type"] == "image_url");
            let urls = parts.map(|part| part["image_url"]["url"].as_str().unwrap().to_owned());
            urls.collect::<Vec<_>>()
        };
        let url = |bytes| format!("data:image/gif;base64,{bytes}");
        assert_eq!(shown(&messages(&model)).len(), 2);
        // Where the server says which one it was, the other one stays.
        let other = named.then(|| url("R0lGODdh"));
        let again = messages(&model);
        assert_eq!(shown(&again), Vec::from_iter(other.clone()));
        assert_eq!(
            again[2]["content"],
            "[broken.png: image/png, 19 bytes]\n\
             [image: image/png, 19 bytes; the server refused a request with it]\n"
        );
        let expected: Vec<_> = other.into_iter().chain([url("R0lGODlh")]).collect();
        assert_eq!(shown(&messages(&model)), expected);
    }
}
