//! Asking servers for their models: each wire's address, headers, pages and details; bounds; what is no answer.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::BoxFuture;
use provider::{
    Api, Credential, CredentialError, CredentialSource, Discovered, DiscoveredModel, ErrorKind,
    FixedCredential, ProviderError, Secret, discovery,
};
use serde_json::json;

use crate::support::{KEY, Server, Step, config, plain};

fn key() -> FixedCredential {
    FixedCredential::new(Some(Secret::new(KEY)))
}

async fn ask(api: Api, base: &str, etag: Option<&str>) -> Result<Discovered, ProviderError> {
    let server = discovery(&config(api, base)).unwrap();
    server.ask(&key(), etag).await
}

fn models(said: Discovered) -> (Vec<DiscoveredModel>, Option<String>) {
    match said {
        Discovered::Models { models, etag } => (models, etag),
        Discovered::Unchanged => panic!("unchanged"),
    }
}

fn ids(said: Discovered) -> Vec<String> {
    models(said).0.into_iter().map(|model| model.id).collect()
}

fn answer(body: &serde_json::Value) -> Vec<Step> {
    plain(200, "content-type: application/json\r\n", &body.to_string())
}

#[tokio::test]
async fn anthropic_is_asked_page_by_page() {
    let mut server = Server::start(vec![
        answer(&json!({"data": [{"id": "a", "display_name": "A"}, {"id": "b"}], "has_more": true, "last_id": "b"})),
        answer(&json!({"data": [{"id": "c"}], "has_more": false, "last_id": "c"})),
    ])
    .await;
    let said = ask(Api::Anthropic, &server.base, None).await.unwrap();
    let (models, etag) = models(said);
    assert_eq!(models.len(), 3);
    assert_eq!((models[0].label.as_deref(), etag), (Some("A"), None));
    let first = server.asked().await;
    assert_eq!(first.line(), "GET /v1/models?limit=1000 HTTP/1.1");
    assert_eq!(first.header("x-api-key"), Some(KEY));
    assert_eq!(first.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(first.header("content-type"), None);
    let second = server.asked().await;
    assert_eq!(
        second.line(),
        "GET /v1/models?limit=1000&after_id=b HTTP/1.1"
    );
    server.saw_nothing_more();
}

#[tokio::test]
async fn a_list_that_has_not_changed_is_not_sent_again() {
    let two = json!({"object": "list", "data": [{"id": "b"}, {"id": "a", "context_length": 7}]});
    let mut server = Server::start(vec![
        plain(200, "etag: W/\"7\"\r\n", &two.to_string()),
        plain(304, "", ""),
    ])
    .await;
    let base = format!("{}/v1", server.base);
    let (models, etag) = models(ask(Api::OpenaiChat, &base, None).await.unwrap());
    assert_eq!(
        (models[1].context_window, etag.as_deref()),
        (Some(7), Some("W/\"7\""))
    );
    let again = ask(Api::OpenaiChat, &base, etag.as_deref()).await.unwrap();
    assert_eq!(again, Discovered::Unchanged);
    let first = server.asked().await;
    assert_eq!(first.line(), "GET /v1/models HTTP/1.1");
    assert_eq!(
        first.header("authorization"),
        Some(&*format!("Bearer {KEY}"))
    );
    assert_eq!(first.header("if-none-match"), None);
    assert_eq!(
        server.asked().await.header("if-none-match"),
        Some("W/\"7\"")
    );
}

#[tokio::test]
async fn the_place_of_a_request_leads_to_the_list() {
    for (api, end, line) in [
        (
            Api::OpenaiChat,
            "/v1/chat/completions",
            "GET /v1/models HTTP/1.1",
        ),
        (
            Api::OpenaiResponses,
            "/v1/responses",
            "GET /v1/models HTTP/1.1",
        ),
        (Api::OpenaiResponses, "/x?a=b", "GET /x/models?a=b HTTP/1.1"),
        (
            Api::Anthropic,
            "/v1/messages",
            "GET /v1/models?limit=1000 HTTP/1.1",
        ),
        (
            Api::Gemini,
            "/v1beta/models/m:generateContent",
            "GET /v1beta/models?pageSize=1000 HTTP/1.1",
        ),
    ] {
        let two = json!({"data": [{"id": "a", "name": "a"}, {"id": "b", "name": "b"}]});
        let mut server = Server::start(vec![answer(&two)]).await;
        let base = format!("{}{end}", server.base);
        assert_eq!(ids(ask(api, &base, None).await.unwrap()), ["a", "b"]);
        assert_eq!(server.asked().await.line(), line);
    }
}

#[tokio::test]
async fn llama_cpp_tells_its_window_at_the_root() {
    let one = json!({"data": [{"id": "local.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072}}]});
    let mut server = Server::start(vec![
        answer(&one),
        answer(&json!({"default_generation_settings": {"n_ctx": 8_192}, "modalities": {"vision": true}})),
        answer(&one),
        plain(404, "", "{}"),
    ])
    .await;
    let base = format!("{}/v1", server.base);
    let (told, _) = models(ask(Api::OpenaiChat, &base, None).await.unwrap());
    assert_eq!(
        (told[0].context_window, told[0].images),
        (Some(8_192), Some(true))
    );
    server.asked().await;
    assert_eq!(server.asked().await.line(), "GET /props HTTP/1.1");
    // Other servers have no such place.
    let (told, _) = models(ask(Api::OpenaiChat, &base, None).await.unwrap());
    assert_eq!((told.len(), told[0].context_window), (1, None));
}

#[tokio::test]
async fn ollama_tells_more_of_each_model() {
    let tags = json!({"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}, {"name": "embed"}, {"name": "odd"}]});
    let show = json!({"capabilities": ["completion", "thinking"],
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960}});
    for end in ["", "/", "/v1", "/api"] {
        let mut server = Server::start(vec![
            answer(&tags),
            answer(&show),
            answer(&show),
            plain(500, "", "{}"),
        ])
        .await;
        let base = format!("{}{end}", server.base);
        let (told, _) = models(ask(Api::Ollama, &base, None).await.unwrap());
        assert_eq!(server.asked().await.line(), "GET /api/tags HTTP/1.1");
        let mut asked = Vec::new();
        for _ in 0..3 {
            let show = server.asked().await;
            assert_eq!(show.line(), "POST /api/show HTTP/1.1");
            asked.push(show.body["model"].as_str().unwrap().to_owned());
        }
        asked.sort();
        assert_eq!(asked, ["embed", "odd", "qwen3:8b"]);
        // Which of the three met the failure is the server's matter.
        assert_eq!(told.len(), 3);
        let windows = told
            .iter()
            .filter(|model| model.context_window == Some(40_960));
        assert_eq!(windows.count(), 2);
    }
}

#[tokio::test]
async fn gemini_is_asked_page_by_page() {
    let mut server = Server::start(vec![
        answer(&json!({"models": [{"name": "models/gemini-x", "inputTokenLimit": 9}], "nextPageToken": "t/1"})),
        answer(&json!({"models": [{"name": "models/e", "supportedGenerationMethods": ["embedContent"]}, {"name": "models/y"}]})),
    ])
    .await;
    let base = format!("{}/v1beta", server.base);
    assert_eq!(
        ids(ask(Api::Gemini, &base, None).await.unwrap()),
        ["gemini-x", "y"]
    );
    let first = server.asked().await;
    assert_eq!(first.line(), "GET /v1beta/models?pageSize=1000 HTTP/1.1");
    assert_eq!(first.header("x-goog-api-key"), Some(KEY));
    let second = server.asked().await;
    assert_eq!(
        second.line(),
        "GET /v1beta/models?pageSize=1000&pageToken=t%2F1 HTTP/1.1"
    );
}

/// Hands out a new key when the first is refused.
#[derive(Default)]
struct Renewing(Mutex<u32>);

impl CredentialSource for Renewing {
    fn get(&self) -> BoxFuture<'_, Result<Option<Credential>, CredentialError>> {
        let count = *self.0.lock().unwrap();
        Box::pin(async move {
            Ok(Some(Credential {
                secret: Secret::new(&format!("token-{count}")),
                account: Some(Secret::new("account-7")),
            }))
        })
    }

    fn rejected<'a>(&'a self, _: &'a Secret) -> BoxFuture<'a, Result<bool, CredentialError>> {
        *self.0.lock().unwrap() += 1;
        Box::pin(async { Ok(true) })
    }
}

#[tokio::test]
async fn codex_is_asked_for_an_account_and_a_refused_token_is_replaced_once() {
    let one = json!({"models": [{"slug": "gpt-c", "supported_reasoning_levels": [{"effort": "low"}], "visibility": "list"}]});
    let mut server = Server::start(vec![
        plain(401, "", "{}"),
        answer(&one),
        plain(401, "", "{}"),
        plain(401, "", "{}"),
    ])
    .await;
    let mut config = config(Api::OpenaiResponses, &server.base);
    config.id = "openai-codex".to_owned();
    let codex = discovery(&config).unwrap();
    let source = Renewing::default();
    assert_eq!(ids(codex.ask(&source, None).await.unwrap()), ["gpt-c"]);
    let first = server.asked().await;
    assert!(
        first.line().starts_with("GET /models?client_version="),
        "{}",
        first.line()
    );
    assert_eq!(first.header("chatgpt-account-id"), Some("account-7"));
    assert_eq!(first.header("authorization"), Some("Bearer token-0"));
    assert_eq!(
        server.asked().await.header("authorization"),
        Some("Bearer token-1")
    );
    let refused = codex.ask(&source, None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unauthorized);
}

#[tokio::test]
async fn what_is_no_list_is_a_failure_that_shows_no_key() {
    let said = format!("key {KEY} is wrong");
    let message = json!({"error": {"message": said, "type": "x"}}).to_string();
    let long = "x".repeat(17 * 1024 * 1024);
    for (steps, kind) in [
        (plain(401, "", &message), ErrorKind::Unauthorized),
        (plain(500, "", &message), ErrorKind::Overloaded),
        (
            plain(302, "location: http://127.0.0.1:1/\r\n", ""),
            ErrorKind::Redirected,
        ),
        (plain(304, "", ""), ErrorKind::Redirected),
        (plain(404, "", "not found"), ErrorKind::NotFound),
        (plain(200, "", "<html></html>"), ErrorKind::Malformed),
        (plain(200, "", "{}"), ErrorKind::Malformed),
        (
            plain(200, "content-encoding: gzip\r\n", "[]"),
            ErrorKind::Malformed,
        ),
        (plain(200, "", &long), ErrorKind::Malformed),
        (vec![Step::Close], ErrorKind::Interrupted),
        (
            vec![
                Step::Write(b"HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\n{\"da".to_vec()),
                Step::Close,
            ],
            ErrorKind::Interrupted,
        ),
    ] {
        let server = Server::start(vec![steps.clone(), steps]).await;
        let error = ask(Api::OpenaiResponses, &server.base, None)
            .await
            .unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains(KEY), "{text}");
        assert_eq!(error.kind(), kind, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_given_up() {
    let server = Server::start(vec![vec![Step::Hang]]).await;
    let asked = tokio::time::timeout(
        Duration::from_secs(31),
        ask(Api::OpenaiChat, &server.base, None),
    );
    let error = asked.await.unwrap().unwrap_err();
    // Where no time passes by itself, even a connection may be too late.
    let late = [ErrorKind::Stalled, ErrorKind::Network];
    assert!(late.contains(&error.kind()), "{error}");
}

#[tokio::test]
async fn pages_without_end_come_to_one() {
    let page =
        answer(&json!({"data": [{"id": "a"}, {"id": "b"}], "has_more": true, "last_id": "b"}));
    let server = Server::start(vec![page.clone(), page]).await;
    let said = ask(Api::Anthropic, &server.base, None).await.unwrap();
    assert_eq!(ids(said).len(), 4, "the same page again is the last");
}

#[tokio::test]
async fn five_thousand_models_are_taken() {
    let all: Vec<_> = (0..5_000)
        .map(|n| json!({"id": format!("family/model-{n}"), "name": format!("Model {n}"), "context_length": 131_072,
            "description": "d".repeat(500)}))
        .collect();
    let server = Server::start(vec![answer(&json!({ "data": all }))]).await;
    let (models, _) = models(ask(Api::OpenaiChat, &server.base, None).await.unwrap());
    assert_eq!(models.len(), 5_000);
    assert_eq!(models[4_999].id, "family/model-4999");
}
