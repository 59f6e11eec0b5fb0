//! Servers over streamable HTTP: headers, streams, refusals, and logins that are renewed without a question.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Agent, BIN, launch};
use crate::setting::{finished, log, magi_code, place, results, said, settings, steps};
use crate::support::{Place, wait_for};

/// A server of this test that is ended with it.
struct HttpServer {
    process: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl HttpServer {
    fn start(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp/http_server.py");
        let mut process = Command::new("python3")
            .arg(script)
            .args(flags)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self {
            process,
            port: line.trim().parse().unwrap(),
            folder,
        }
    }

    fn definition(&self) -> Value {
        json!({"url": format!("http://127.0.0.1:{}/mcp", self.port)})
    }

    /// Method, path, headers and body of each request.
    fn asked(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("asked")).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Starts a child there and gives the code of `initialize`, and the log.
fn refused(place: &Arc<Place>) -> (String, String) {
    let mut agent = Agent::spawn(launch().place(place).env("MC_LOG", "info"));
    let code = agent.err("initialize", json!({"required_capabilities": []}));
    agent.end();
    (code, log(place))
}

#[test]
fn tools_are_called_and_the_session_ends_with_the_process() {
    for flags in [&["--key"][..], &["--key", "--stream"]] {
        let server = HttpServer::start(flags);
        let mut definition = server.definition();
        definition["headers"] = json!({"X-Key": "header-canary-1"});
        let calls = [
            ("mcp__web__echo", json!({})),
            ("mcp__web__flood", json!({})),
            ("mcp__web__echo", json!({})),
        ];
        let place = place(&json!({"web": definition}), &steps(&calls));
        let results = results(&place);
        assert_eq!(results[0]["content"], "xxxxx");
        assert_eq!(results[1]["is_error"], true, "{flags:?}");
        assert_eq!(results[2]["content"], "xxxxx");
        let last = server.asked();
        assert_eq!(last.last().unwrap()[0], "DELETE", "{flags:?}");
    }
}

#[test]
fn the_session_of_a_server_that_floods_ends_with_the_process_too() {
    let server = HttpServer::start(&["--flood"]);
    let calls = steps(&[("mcp__web__echo", json!({}))]);
    let place = place(&json!({"web": server.definition()}), &calls);
    assert_eq!(results(&place)[0]["content"], "xxxxx");
    let asked = server.asked();
    let is_told = asked.iter().any(|asked| asked[0] == "DELETE");
    assert!(is_told, "{asked:?}");
}

#[test]
fn a_refusal_names_the_server_and_its_status_and_hides_what_is_secret() {
    let server = HttpServer::start(&["--error"]);
    let mut definition = server.definition();
    definition["headers"] = json!({"Authorization": "Bearer header-canary-2"});
    let place = place(&json!({"web": definition}), &json!([]));
    let (code, log) = refused(&place);
    assert_eq!(code, "mcp_unavailable");
    assert!(
        log.contains("503") && log.contains("the MCP server `web`"),
        "{log}"
    );
    assert!(!log.contains("header-canary"), "{log}");
    let gone = server.definition();
    drop(server);
    let address = gone["url"].as_str().unwrap().replace("http://", "");
    let address = address.split('/').next().unwrap().to_owned();
    let place = crate::setting::place(&json!({"gone": gone}), &json!([]));
    let (code, log) = refused(&place);
    assert_eq!(code, "mcp_unavailable");
    assert!(log.contains("refused") && log.contains(&address), "{log}");
    // A doctor that starts servers tells it too, and one that does not can't.
    let (code, text) = said(&magi_code(&place, &["doctor"]));
    assert_eq!(code, 0, "{text}");
    let (code, text) = said(&magi_code(&place, &["doctor", "--servers"]));
    assert!(code == 1 && text.contains(&address), "{text}");
    assert!(
        text.contains("the MCP server `gone` does not start"),
        "{text}"
    );
}

/// Logs in with a browser that goes where it is sent, and before it one that knows no state. What it was sent to is
/// kept in the file `visited`.
fn log_in(place: &Place) -> Output {
    let browser = place.root().join("browser");
    let visit = "#!/usr/bin/env python3\nimport sys, urllib.request, urllib.parse\n\
        open(sys.argv[0] + '-visited', 'w').write(sys.argv[1])\n\
        back = urllib.parse.parse_qs(urllib.parse.urlparse(sys.argv[1]).query)['redirect_uri'][0]\n\
        try: urllib.request.urlopen(back + '?code=stolen&state=wrong')\n\
        except urllib.error.HTTPError as error: assert error.code == 400\n\
        print(urllib.request.urlopen(sys.argv[1]).read())\n";
    std::fs::write(&browser, visit).unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    Command::new(BIN)
        .args(["mcp", "login", "web"])
        .current_dir(place.work())
        .env("HOME", place.home())
        .env("MC_HOME", place.mc_home())
        .env("BROWSER", &browser)
        .output()
        .unwrap()
}

#[test]
fn a_login_sends_nobody_but_to_a_web_address() {
    let server = HttpServer::start(&["--login", "--file"]);
    let place = place(&json!({"web": server.definition()}), &json!([]));
    let done = log_in(&place);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("neither https nor http"), "{said}");
    assert!(!said.contains("To log in, visit"), "{said}");
    assert!(!place.root().join("browser-visited").exists());
}

#[test]
fn a_login_sends_nothing_secret_by_plain_http_to_another_machine() {
    let server = HttpServer::start(&["--login", "--plain"]);
    let place = place(&json!({"web": server.definition()}), &json!([]));
    let done = log_in(&place);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        said.contains("plain http to another machine: http://192.0.2.1/token"),
        "{said}"
    );
    assert!(!place.root().join("browser-visited").exists());
}

#[test]
fn a_login_that_could_not_be_stored_sends_nobody_anywhere() {
    let server = HttpServer::start(&["--login"]);
    let place = place(&json!({"web": server.definition()}), &json!([]));
    std::fs::write(place.mc_home().join("auth.json"), "no JSON").unwrap();
    let done = log_in(&place);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert!(!place.root().join("browser-visited").exists());
}

#[test]
fn a_token_counts_whatever_form_its_time_has_and_no_token_of_another_kind_does() {
    for (flag, status, words) in [
        ("--odd", 0, "the login with web is stored"),
        ("--mac", 1, "of the kind `mac`"),
    ] {
        let server = HttpServer::start(&["--login", flag]);
        let place = place(&json!({"web": server.definition()}), &json!([]));
        let (code, said) = said(&log_in(&place));
        assert_eq!(code, status, "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!said.contains("access-canary"), "{said}");
    }
}

#[test]
fn a_token_that_a_server_repeats_is_not_shown() {
    let server = HttpServer::start(&["--login", "--lasting", "--tell"]);
    let place = place(&json!({"web": server.definition()}), &json!([]));
    assert!(log_in(&place).status.success());
    // That of the login, and that which is received meanwhile in its place.
    for _ in 0..2 {
        let (code, said) = said(&magi_code(&place, &["mcp", "test", "web"]));
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("no tools for [redacted]"), "{said}");
        let (code, log) = refused(&place);
        assert_eq!(code, "mcp_unavailable");
        assert!(
            log.contains("no tools for") && !log.contains("access-canary"),
            "{log}"
        );
        std::thread::sleep(Duration::from_millis(1_100));
    }
}

#[test]
fn a_login_that_is_refused_says_why() {
    let server = HttpServer::start(&["--login", "--deny"]);
    let place = place(&json!({"web": server.definition()}), &json!([]));
    let done = log_in(&place);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("access_denied: not you"), "{said}");
}

#[test]
fn a_renewal_that_fails_says_why() {
    let server = HttpServer::start(&["--login", "--no-refresh"]);
    let place = place(&json!({"web": server.definition()}), &json!([]));
    assert!(log_in(&place).status.success());
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let (code, log) = refused(&place);
    assert_eq!(code, "mcp_unavailable");
    assert!(log.contains("HTTP status 500"), "{log}");
}

#[test]
fn what_one_process_has_renewed_no_other_one_renews() {
    let server = HttpServer::start(&["--login", "--lasting"]);
    let place = place(&json!({"web": server.definition()}), &json!([]));
    assert!(log_in(&place).status.success());
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    std::thread::scope(|scope| {
        let start = || magi_code(&place, &["mcp", "test", "web"]);
        let all: Vec<_> = (0..5).map(|_| scope.spawn(start)).collect();
        for one in all {
            let done = one.join().unwrap();
            assert!(done.status.success(), "{done:?}");
        }
    });
    let asked = server.asked();
    let renewals = asked.iter().filter(|asked| {
        let body = asked[3].as_str().unwrap();
        asked[1] == "/token" && body.contains("grant_type=refresh_token")
    });
    assert_eq!(renewals.count(), 1);
}

#[test]
fn a_call_that_a_server_refuses_tells_the_status_and_none_of_our_types() {
    let server = HttpServer::start(&["--bad-calls"]);
    let calls = steps(&[("mcp__web__echo", json!({}))]);
    let place = place(&json!({"web": server.definition()}), &calls);
    let results = results(&place);
    let content = results[0]["content"].as_str().unwrap();
    assert!(content.contains("500"), "{content}");
    assert!(!content.contains("::"), "{content}");
    assert!(
        !results[0]["summary"]
            .as_str()
            .unwrap()
            .contains("connection was lost")
    );
}

#[test]
fn one_that_never_answers_costs_ten_seconds() {
    let server = HttpServer::start(&["--hang"]);
    let place = place(&json!({"web": server.definition()}), &json!([]));
    let began = Instant::now();
    let (code, log) = refused(&place);
    assert_eq!(code, "mcp_unavailable");
    assert!(
        (9..16).contains(&began.elapsed().as_secs()),
        "{:?}",
        began.elapsed()
    );
    assert!(log.contains("the MCP server `web`"), "{log}");
}

#[test]
fn a_cancelled_call_is_told_and_the_next_one_is_answered() {
    let server = HttpServer::start(&[]);
    let place = place(&json!({"web": server.definition()}), &json!([]));
    let turn = |tool: &str| json!({"steps": steps(&[(tool, json!({}))])});
    let script = json!({"turns": [turn("mcp__web__hang"), turn("mcp__web__echo")]});
    std::fs::write(place.root().join("script.json"), script.to_string()).unwrap();
    let heard = |method: &str| {
        let bodies = server
            .asked()
            .into_iter()
            .filter(|asked| asked[0] == "POST");
        let mut messages = bodies
            .filter_map(|asked| serde_json::from_str::<Value>(asked[3].as_str().unwrap()).ok());
        messages.find(|message| message["method"] == method)
    };
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    wait_for("the call", || heard("tools/call").is_some());
    let began = Instant::now();
    agent.ok(
        "turn.cancel",
        json!({"session_id": session, "run_id": run_id}),
    );
    assert_eq!(agent.finish(run_id).outcome(), "cancelled");
    assert!(began.elapsed() < Duration::from_secs(2));
    wait_for("the word of it", || {
        heard("notifications/cancelled").is_some()
    });
    let (call, told) = (
        heard("tools/call").unwrap(),
        heard("notifications/cancelled").unwrap(),
    );
    assert_eq!(told["params"]["requestId"], call["id"]);
    assert_eq!(agent.turn(&session, "again").outcome(), "completed");
    agent.end();
    let last = finished(&place, &session).pop().unwrap();
    assert_eq!(
        (&last["content"], &last["is_error"]),
        (&json!("xxxxx"), &json!(false))
    );
}

#[test]
fn a_missing_login_is_told_and_one_is_renewed_without_a_question() {
    let server = HttpServer::start(&["--login"]);
    let place = place(
        &json!({"web": server.definition()}),
        &steps(&[("mcp__web__echo", json!({}))]),
    );
    let (code, log) = refused(&place);
    assert_eq!(code, "mcp_unavailable");
    assert!(
        log.contains("wants a login") && log.contains("magi-code mcp login web"),
        "{log}"
    );

    let done = log_in(&place);
    assert!(done.status.success(), "{done:?}");
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        said.lines()
            .any(|line| line.starts_with("http://127.0.0.1:") && line.contains("code_challenge")),
        "{said}"
    );
    let path = place.mc_home().join("auth.json");
    let account: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let account = &account["mcp_servers"]["web"];
    assert_eq!(account["url"], server.definition()["url"]);
    assert_eq!(
        account["oauth"]["token_response"]["access_token"],
        "access-canary-1"
    );
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );

    // The token has run out meanwhile.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let results = results(&place);
    assert_eq!(results[0]["content"], "xxxxx");
    let account: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let account = &account["mcp_servers"]["web"];
    assert_ne!(
        account["oauth"]["token_response"]["access_token"],
        "access-canary-1"
    );

    // It belongs to the address that it was obtained for.
    let other = HttpServer::start(&["--login"]);
    let mut moved = settings(&place);
    moved["mcp_servers"]["web"]["url"] = other.definition()["url"].clone();
    place.write_settings(&moved);
    assert!(
        magi_code(&place, &["mcp", "approve", "web"])
            .status
            .success()
    );
    let (code, _) = refused(&place);
    assert_eq!(code, "mcp_unavailable");
    assert!(!json!(other.asked()).to_string().contains("canary"));
}

#[test]
fn a_login_is_asked_of_approved_servers_alone() {
    let server = HttpServer::start(&["--login"]);
    let place = crate::setting::unapproved(&json!({"web": server.definition()}), &json!([]));
    let (code, text) = crate::setting::said(&magi_code(&place, &["mcp", "login", "web"]));
    assert!(
        code == 1 && text.contains("magi-code mcp approve web"),
        "{text}"
    );
    assert_eq!(server.asked(), Vec::<Value>::new());
}

#[test]
fn a_login_with_a_server_that_asks_for_none_registers_nobody() {
    let server = HttpServer::start(&[]);
    let place = place(
        &json!({"web": server.definition(), "s": {"command": "true"}}),
        &json!([]),
    );
    let (code, text) = crate::setting::said(&magi_code(&place, &["mcp", "login", "web"]));
    assert!(
        code == 1
            && text.contains("this server asks for no login")
            && text.contains("`magi-code mcp test web` tries it without"),
        "{text}"
    );
    assert!(
        server
            .asked()
            .iter()
            .all(|request| request["method"] != "POST"),
        "{:?}",
        server.asked()
    );
    let (code, text) = crate::setting::said(&magi_code(&place, &["mcp", "login", "s"]));
    assert!(
        code == 1 && text.contains("only a server over HTTP") && text.contains("by `env`"),
        "{text}"
    );
}
