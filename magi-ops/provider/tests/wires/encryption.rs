//! Encrypted connections: the system's certificates decide, and nothing is sent to a stranger.
//! The system's certificates come from the environment, so the client is a child of the test.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use provider::{Api, ErrorKind, Patience};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tokio_util::sync::CancellationToken;

use crate::support::{PATIENT, prompt, provider, quick, read, text};

/// Where the child finds the server, and what it must find there.
const BASE: &str = "TEST_MODEL_BASE";
const TRUSTED: &str = "TEST_MODEL_TRUSTED";

/// A certificate of its own for each host, and its key.
fn certificate(host: &str) -> rcgen::CertifiedKey<rcgen::KeyPair> {
    rcgen::generate_simple_self_signed([host.to_owned()]).unwrap()
}

/// Serves one connection; gives what was read after the handshake.
fn serve(listener: &TcpListener, own: &rcgen::CertifiedKey<rcgen::KeyPair>) -> String {
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .unwrap();
    let (socket, _) = listener.accept().unwrap();
    socket.set_read_timeout(Some(PATIENT)).unwrap();
    let connection = ServerConnection::new(Arc::new(config)).unwrap();
    let mut stream = StreamOwned::new(connection, socket);
    let mut asked = Vec::new();
    let mut buffer = [0; 4096];
    // The body's last byte is a brace of the request's JSON.
    while !(asked.ends_with(b"}") && asked.windows(4).any(|part| part == b"\r\n\r\n")) {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return String::from_utf8(asked).unwrap(),
            Ok(read) => asked.extend_from_slice(&buffer[..read]),
        }
    }
    let event = r#"data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{event}\n\n"
    );
    stream.write_all(answer.as_bytes()).unwrap();
    stream.conn.send_close_notify();
    stream.flush().unwrap();
    String::from_utf8(asked).unwrap()
}

#[test]
fn only_a_known_certificate_of_the_same_host_is_talked_to() {
    let folder = tempfile::tempdir().unwrap();
    let known = folder.path().join("known.pem");
    for (host, is_known, expected) in [
        ("127.0.0.1", true, true),
        ("127.0.0.1", false, false),
        ("other.example", true, false),
    ] {
        let own = certificate(host);
        let other = certificate(host);
        let pem = if is_known { &own } else { &other }.cert.pem();
        std::fs::write(&known, pem).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("https://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || serve(&listener, &own));
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "encryption::child", "--ignored"])
            .env("SSL_CERT_FILE", &known)
            .env_remove("SSL_CERT_DIR")
            .env(BASE, base)
            .env(TRUSTED, if expected { "yes" } else { "no" })
            .output()
            .unwrap();
        assert!(child.status.success(), "{host} {is_known}: {child:?}");
        let asked = server.join().unwrap();
        assert_eq!(asked.contains("authorization: Bearer"), expected);
        assert_eq!(asked.is_empty(), !expected, "{asked}");
    }
}

/// Not a test of its own: the client of the one above.
#[tokio::test]
#[ignore = "run by the test above, with a server"]
async fn child() {
    let Ok(base) = std::env::var(BASE) else {
        return;
    };
    let patience = Patience {
        attempts: 1,
        connect: Duration::from_secs(30),
        ..quick()
    };
    let provider = provider(Api::OpenaiChat, &base, patience);
    let (chunks, error) = read(provider.respond(prompt(), CancellationToken::new())).await;
    if std::env::var(TRUSTED).unwrap() == "yes" {
        assert_eq!((chunks, error), (vec![text("ok")], None));
    } else {
        assert_eq!((chunks, error), (vec![], Some(ErrorKind::Network)));
    }
}
