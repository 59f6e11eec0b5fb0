//! From configuration to a provider: what is refused, and that no key is ever shown.
//! No request is made here but to see its headers.

use std::sync::Arc;

use provider::{
    Api, BuildError, FixedCredential, ModelLimits, Provider, ProviderConfig, Secret, build,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{KEY, Server, plain, prompt, read_whole, streamed};

fn config(api: Api, base_url: Option<&str>) -> ProviderConfig {
    ProviderConfig {
        id: "mine".into(),
        api,
        base_url: base_url.map(str::to_owned),
        models: ModelLimits::default(),
    }
}

fn built(config: &ProviderConfig, key: Option<&str>) -> Result<Arc<dyn Provider>, BuildError> {
    build(
        config,
        Arc::new(FixedCredential::new(key.map(Secret::new))),
        None,
    )
}

fn refusal(config: &ProviderConfig) -> BuildError {
    match built(config, None) {
        Ok(_) => panic!("built: {config:?}"),
        Err(error) => error,
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let refused = |api, base| refusal(&config(api, base));
    assert!(matches!(
        refused(Api::OpenaiChat, None),
        BuildError::BaseUrlMissing
    ));
    assert!(matches!(
        refused(Api::OpenaiResponses, None),
        BuildError::BaseUrlMissing
    ));
    for base in [
        "127.0.0.1:1",
        "ftp://127.0.0.1",
        "http://me:pw@127.0.0.1",
        "",
    ] {
        for api in [
            Api::Anthropic,
            Api::OpenaiChat,
            Api::OpenaiResponses,
            Api::Ollama,
            Api::Gemini,
        ] {
            assert!(matches!(
                refused(api, Some(base)),
                BuildError::BaseUrlInvalid
            ));
        }
    }
    for (api, base, other) in [
        (
            Api::OpenaiChat,
            "http://127.0.0.1:1/v1/messages",
            "anthropic",
        ),
        (Api::OpenaiChat, "http://127.0.0.1:1/api/chat", "ollama"),
        (
            Api::OpenaiChat,
            "http://127.0.0.1:1/v1/responses",
            "openai-responses",
        ),
        (Api::Ollama, "http://127.0.0.1:1/v1/messages/", "anthropic"),
        (
            Api::Ollama,
            "http://127.0.0.1:1/chat/completions",
            "openai-chat",
        ),
        (
            Api::Anthropic,
            "http://127.0.0.1:1/v1/chat/completions",
            "openai-chat",
        ),
        (Api::Anthropic, "http://127.0.0.1:1/api/generate", "ollama"),
        (
            Api::OpenaiResponses,
            "http://127.0.0.1:1/v1/chat/completions",
            "openai-chat",
        ),
        (
            Api::OpenaiChat,
            "http://127.0.0.1:1/v1beta/models/m:streamGenerateContent",
            "gemini",
        ),
        (
            Api::Gemini,
            "http://127.0.0.1:1/v1/responses",
            "openai-responses",
        ),
    ] {
        let error = refused(api, Some(base));
        let words = format!("the provider's base URL is an endpoint of the api `{other}`");
        assert_eq!(error.to_string(), words);
    }
    for (key, sendable) in [
        ("k-1 ü", false),
        ("two\nlines", false),
        ("", false),
        (" k\n", true),
    ] {
        assert_eq!(Secret::new(key).can_be_sent(), sendable, "{key}");
    }
}

#[test]
fn every_wire_is_built_under_its_id() {
    for (api, base) in [
        (Api::Anthropic, Some("http://127.0.0.1:1")),
        (Api::OpenaiChat, Some("http://127.0.0.1:1/v1")),
        (
            Api::OpenaiResponses,
            Some("http://127.0.0.1:1/v1/responses"),
        ),
        (Api::Ollama, None),
        (Api::Gemini, None),
    ] {
        assert_eq!(built(&config(api, base), Some(KEY)).unwrap().id(), "mine");
    }
    // That one has no server.
    let fixture = built(&config(Api::Fixture, None), None);
    assert!(matches!(fixture, Err(BuildError::NotLinked)));
    let claude = built(&config(Api::Anthropic, Some("http://127.0.0.1:1")), None).unwrap();
    assert_eq!(claude.context_window("claude-opus-4-5"), Some(200_000));
    assert_eq!(claude.context_window("other"), None);
    // The subscription's servers take less than the same models elsewhere.
    for (id, window) in [("openai-codex", 272_000), ("mine", 400_000)] {
        let mut config = config(Api::OpenaiResponses, Some("http://127.0.0.1:1"));
        config.id = id.into();
        let built = built(&config, None).unwrap();
        assert_eq!(built.context_window("gpt-5-codex"), Some(window), "{id}");
    }
}

#[tokio::test]
async fn keys_are_sent_and_never_shown() {
    let shown = [
        format!("{:?}", Secret::new(KEY)),
        format!("{:?}", config(Api::Anthropic, Some(KEY))),
        refusal(&config(Api::Anthropic, Some(KEY))).to_string(),
        format!("{:?}", FixedCredential::new(Some(Secret::new(KEY)))),
    ];
    for shown in &shown {
        assert!(!shown.contains("canary"), "{shown}");
    }
    // A server that repeats what it was sent.
    let echo = format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#);
    let done = streamed(&[r#"{"choices":[{"finish_reason":"stop"}]}"#, "[DONE]"]);
    let mut server = Server::start(vec![plain(401, "", &echo), done.clone(), done]).await;
    let base = server.base.clone();
    let ask = async |key: Option<&str>| {
        let provider = built(&config(Api::OpenaiChat, Some(&base)), key).unwrap();
        let response = provider.respond(prompt(), CancellationToken::new());
        let (_, error) = read_whole(response).await;
        error.map(|error| format!("{error} {error:?}"))
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
