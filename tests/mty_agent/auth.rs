//! Who may drive the HTTP server: the token, `Origin`, `Host` (spec: "HTTP"; CSRF and DNS rebinding).

use crate::client::{Request, Response};
use crate::http::assert_error_shape;
use crate::server::HttpServer;
use crate::wire::*;

const TOKEN: &str = "s3cret-Token";

fn routes() -> [Request<'static>; 3] {
    [
        Request::post("/v1/agent", EXPLAIN.as_bytes()),
        Request::post("/v1/agent/batch", EXPLAIN.as_bytes()),
        Request::new("GET", "/v1/agent/version"),
    ]
}

fn assert_unauthorized(response: &Response) {
    assert_eq!(response.status, 401);
    assert_eq!(response.header("www-authenticate"), Some("Bearer"));
    assert_eq!(
        response.text().trim_end_matches('\n'),
        r#"{"kind":"error","message":"unauthorized"}"#
    );
    assert!(response.closed);
}

fn with(authorization: &str) -> Request<'static> {
    Request::post("/v1/agent", EXPLAIN.as_bytes()).header("Authorization", authorization)
}

#[test]
fn unauthorized_is_401_with_the_documented_body_and_header() {
    let http = HttpServer::start(&["--auth-token", TOKEN]);
    assert_unauthorized(&Request::post("/v1/agent", EXPLAIN.as_bytes()).send(http.address));
}

#[test]
fn every_route_needs_the_token() {
    let http = HttpServer::start(&["--auth-token", TOKEN]);
    for route in routes() {
        assert_unauthorized(&route.send(http.address));
    }
    for route in routes() {
        let response = route
            .header("Authorization", format!("Bearer {TOKEN}"))
            .send(http.address);
        assert_eq!(response.status, 200);
    }
    // Nothing about the routes is told without the token.
    assert_unauthorized(&Request::new("GET", "/nothing").send(http.address));
    assert_unauthorized(&Request::new("GET", "/v1/agent").send(http.address));
}

#[test]
fn bearer_scheme_is_case_insensitive() {
    let http = HttpServer::start(&["--auth-token", TOKEN]);
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
        assert_eq!(
            with(&format!("{scheme} {TOKEN}")).send(http.address).status,
            200,
            "{scheme}"
        );
    }
}

#[test]
fn token_is_compared_exactly() {
    let http = HttpServer::start(&["--auth-token", TOKEN]);
    for wrong in [
        "Bearer s3cret-token".to_owned(),
        "Bearer S3CRET-TOKEN".to_owned(),
        format!("Bearer {TOKEN}x"),
        format!("Bearer {}", &TOKEN[1..]),
        format!("Bearer {TOKEN} {TOKEN}"),
        format!("Bearer{TOKEN}"),
        format!("Basic {TOKEN}"),
        format!("Token {TOKEN}"),
        TOKEN.to_owned(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        String::new(),
        format!("Bearer {}", "x".repeat(8_000)),
    ] {
        assert_unauthorized(&with(&wrong).send(http.address));
    }
}

#[test]
fn two_authorization_headers_are_not_enough() {
    let http = HttpServer::start(&["--auth-token", TOKEN]);
    let response = with("Bearer wrong")
        .header("Authorization", "Bearer wrong-too")
        .send(http.address);
    assert_unauthorized(&response);
}

#[test]
fn token_elsewhere_does_not_count() {
    let http = HttpServer::start(&["--auth-token", TOKEN]);
    let response = Request::post("/v1/agent?token=s3cret-Token", EXPLAIN.as_bytes())
        .header("X-Auth-Token", TOKEN)
        .send(http.address);
    assert_unauthorized(&response);
}

#[test]
fn origin_without_token_is_403() {
    let http = HttpServer::start(&[]);
    for origin in [
        "https://example.org",
        "null",
        "http://127.0.0.1",
        "http://localhost:9090",
        "",
    ] {
        for route in routes() {
            let response = route.header("Origin", origin).send(http.address);
            assert_eq!(response.status, 403, "{origin:?}");
            assert_error_shape(&response);
            assert!(response.header("access-control-allow-origin").is_none());
        }
    }
}

#[test]
fn foreign_host_without_token_is_403() {
    let http = HttpServer::start(&[]);
    let port = http.address.port();
    for host in [
        format!("example.org:{port}"),
        "example.org".to_owned(),
        format!("127.0.0.1.example.org:{port}"),
        format!("localhost.example.org:{port}"),
        format!("10.1.2.3:{port}"),
        format!("127.0.0.1@example.org:{port}"),
        format!("128.0.0.1:{port}"),
        "localhost..".to_owned(),
        "localhost:http".to_owned(),
        "localhost:65536".to_owned(),
        "[localhost]".to_owned(),
        "[::2]".to_owned(),
        "::1".to_owned(),
        String::new(),
    ] {
        for route in routes() {
            let response = route.host(host.clone()).send(http.address);
            assert_eq!(response.status, 403, "{host}");
            assert_error_shape(&response);
        }
    }
}

#[test]
fn refused_host_is_named_with_the_remedy() {
    let http = HttpServer::start(&[]);
    let [post, ..] = routes();
    let long = format!("{}.example.org", "x".repeat(5_000));
    for (host, shown) in [
        ("evil.example.org:80", "`evil.example.org:80`"),
        (&long, ".example.org`"),
    ] {
        let response = Request::post("/v1/agent", EXPLAIN.as_bytes())
            .host(host)
            .send(http.address);
        let message = json(response.text())["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.contains(shown), "{message}");
        assert!(message.contains("--auth-token"), "{message}");
        assert!(message.chars().count() <= 200, "{message}");
    }
    let response = post
        .header("Origin", "https://example.org")
        .send(http.address);
    assert!(response.text().contains("Origin"), "{}", response.text());
    assert!(
        response.text().contains("--auth-token"),
        "{}",
        response.text()
    );
}

#[test]
fn address_that_is_listened_on_is_served() {
    let port = crate::client::free_address().port();
    let listen = format!("0.0.0.0:{port}");
    let dialled = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let launch = launch(&["--transport", "http", "--listen", &listen]);
    let http = HttpServer::wait(launch, dialled).expect("it listens");
    for host in ["0.0.0.0", "[::]", "0.0.0.0:1"] {
        for route in routes() {
            assert_eq!(route.host(host).send(http.address).status, 200, "{host}");
        }
    }
    let [route, ..] = routes();
    assert_eq!(route.host("10.1.2.3").send(http.address).status, 403);
    // Where one address is listened on, "every address" is another.
    let http = HttpServer::start(&[]);
    let [route, ..] = routes();
    assert_eq!(route.host("0.0.0.0").send(http.address).status, 403);
}

#[test]
fn loopback_hosts_are_served() {
    let http = HttpServer::start(&[]);
    let port = http.address.port();
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        // A tunnel or a container's map has another port on the client's side.
        "localhost:1".to_owned(),
        "127.0.0.1:65535".to_owned(),
        "[::1]:1".to_owned(),
        "[::1]".to_owned(),
        "127.9.8.7".to_owned(),
        "[::ffff:127.0.0.1]:80".to_owned(),
        "localhost.".to_owned(),
        format!("localhost.:{port}"),
        "127.0.0.1.".to_owned(),
    ] {
        for route in routes() {
            assert_eq!(
                route.host(host.clone()).send(http.address).status,
                200,
                "{host}"
            );
        }
    }
}

#[test]
fn origin_with_the_token_is_served() {
    let http = HttpServer::start(&["--auth-token", TOKEN]);
    let response = with(&format!("Bearer {TOKEN}"))
        .header("Origin", "https://example.org")
        .host("example.org")
        .send(http.address);
    assert_eq!(response.status, 200);
}

#[test]
fn refusal_comes_before_the_operation() {
    let place = crate::support::Place::new();
    let record = place.root().join("trace.ndjson");
    let http = HttpServer::start_in(&place, &["--record", record.to_str().unwrap()]);
    let response = Request::post("/v1/agent", EXPLAIN.as_bytes())
        .header("Origin", "https://example.org")
        .send(http.address);
    assert_eq!(response.status, 403);
    let recorded = std::fs::read_to_string(&record).unwrap_or_default();
    assert_eq!(recorded, "", "a refused request was run and recorded");
}
