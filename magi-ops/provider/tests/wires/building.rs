//! From configuration to a provider: what is refused, and that no key is ever shown.
//! No request is made here but to see its headers.

use provider::{Api, BuildError, ProviderConfig, Secret, build};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{KEY, Server, plain, prompt, read, streamed};

fn config(api: Api, base_url: Option<&str>, key: Option<&str>) -> ProviderConfig {
    ProviderConfig {
        id: "mine".into(),
        api,
        base_url: base_url.map(str::to_owned),
        key: key.map(Secret::new),
        script: None,
    }
}

fn refusal(config: &ProviderConfig) -> BuildError {
    match build(config) {
        Ok(_) => panic!("built: {config:?}"),
        Err(error) => error,
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let refused = |api, base, key| refusal(&config(api, base, key));
    let local = Some("http://127.0.0.1:1");
    assert!(matches!(
        refused(Api::OpenaiChat, None, None),
        BuildError::BaseUrlMissing
    ));
    assert!(matches!(
        refused(Api::OpenaiResponses, local, None),
        BuildError::NotLinked
    ));
    for base in [
        "127.0.0.1:1",
        "ftp://127.0.0.1",
        "http://me:pw@127.0.0.1",
        "",
    ] {
        for api in [Api::Anthropic, Api::OpenaiChat, Api::Ollama] {
            assert!(matches!(
                refused(api, Some(base), None),
                BuildError::BaseUrlInvalid
            ));
        }
    }
    for api in [Api::Anthropic, Api::OpenaiChat] {
        assert!(matches!(
            refused(api, local, Some("two\nlines")),
            BuildError::KeyInvalid
        ));
    }
}

#[test]
fn every_wire_is_built_under_its_id() {
    for (api, base) in [
        (Api::Anthropic, Some("http://127.0.0.1:1")),
        (Api::OpenaiChat, Some("http://127.0.0.1:1/v1")),
        (Api::Ollama, None),
    ] {
        assert_eq!(build(&config(api, base, Some(KEY))).unwrap().id(), "mine");
    }
    let fixture = config(Api::Fixture, None, None);
    assert_eq!(build(&fixture).unwrap().id(), "fixture");
    let claude = build(&config(Api::Anthropic, Some("http://127.0.0.1:1"), None)).unwrap();
    assert_eq!(claude.context_window("claude-opus-4-5"), Some(200_000));
    assert_eq!(claude.context_window("other"), None);
}

#[tokio::test]
async fn keys_are_sent_and_never_shown() {
    let shown = [
        format!("{:?}", Secret::new(KEY)),
        format!("{:?}", config(Api::Anthropic, Some(KEY), Some(KEY))),
        refusal(&config(Api::Anthropic, Some(KEY), Some(KEY))).to_string(),
        format!(
            "{:?}",
            refusal(&config(
                Api::Anthropic,
                None,
                Some(&format!("{KEY}\n{KEY}"))
            ))
        ),
    ];
    for shown in &shown {
        assert!(!shown.contains("canary"), "{shown}");
    }
    // A server that repeats what it was sent.
    let echo = format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#);
    let done = streamed(&["[DONE]"]);
    let mut server = Server::start(vec![plain(401, "", &echo), done.clone(), done]).await;
    let base = server.base.clone();
    let ask = async |key: Option<&str>| {
        let provider = build(&config(Api::OpenaiChat, Some(&base), key)).unwrap();
        let response = provider.respond(prompt(), CancellationToken::new());
        read(response)
            .await
            .1
            .map(|error| format!("{error} {error:?}"))
    };
    let error = ask(Some(KEY)).await.unwrap();
    assert!(!error.contains("canary"), "{error}");
    // White space around a key is no part of it, and no key sends no header.
    assert_eq!(ask(Some(" key\n")).await, None);
    assert_eq!(ask(None).await, None);
    server.asked().await;
    assert_eq!(
        server.asked().await.header("authorization"),
        Some("Bearer key")
    );
    let asked = server.asked().await;
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(
        asked.body["messages"],
        json!([{"role": "user", "content": "hi"}])
    );
}
