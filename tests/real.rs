//! Turns over model servers of others, which `tests/real/install-models` installs: `magi-code serve --stdio` against each, on
//! every wire that it speaks. What was seen to work stands in docs/providers.md.
#![cfg(all(
    feature = "local-agent",
    feature = "lifecycle",
    feature = "session",
    feature = "history",
    feature = "turn",
    feature = "approval",
    feature = "providers",
    unix
))]
#![allow(clippy::unwrap_used)]

mod support;

#[path = "local_agent/client.rs"]
#[allow(dead_code)] // the other tests of this client use the rest
mod client;
#[path = "local_agent/run.rs"]
#[allow(dead_code)]
mod run;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use client::{Agent, launch};
use serde_json::json;
use support::{Place, installed};

/// For a server to start: some read hundreds of modules first, on a machine that is busy.
const START: Duration = Duration::from_secs(240);

fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/real")
        .join(name)
}

/// A server that runs as long as this stands.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts what `command` makes of a free port, and waits until `GET path` is answered.
    fn start(command: impl Fn(u16) -> Command, path: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let mut command = command(free.port());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut server = Self {
            child: command.spawn().unwrap(),
            address: free,
        };
        let begun = Instant::now();
        while !server.answers(path) {
            let ended = server.child.try_wait().unwrap();
            assert!(ended.is_none(), "{command:?} ended: {ended:?}");
            assert!(begun.elapsed() < START, "{command:?} does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        server
    }

    fn answers(&self, path: &str) -> bool {
        let ask = || -> std::io::Result<[u8; 12]> {
            let mut stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(1))?;
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            write!(
                stream,
                "GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n",
                self.address
            )?;
            let mut head = [0; 12];
            stream.read_exact(&mut head)?;
            Ok(head)
        };
        ask().is_ok_and(|head| head.ends_with(b" 200"))
    }

    fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// llama.cpp's own server with the model of `tests/real/tiny_model.py`.
fn llama(folder: &Path) -> Server {
    let command = |port: u16| {
        let mut command = Command::new(folder.join("venv/bin/python"));
        command
            .arg(own("serve_tiny.py"))
            .arg(folder.join("tiny.gguf"));
        command.arg(port.to_string());
        command
    };
    Server::start(command, "/health")
}

/// Two turns of one session with a call of `read` and an answer each, over the wire `api`.
fn turns(api: &str, base: &str, model: &str) {
    let place = Place::with_settings(&json!({
        "provider": "mine",
        "model": model,
        "providers": {"mine": {
            "api": api, "base_url": base, "api_key_env": "MINE_KEY", "models": [model],
        }},
    }));
    place.write_file("notes.txt", "first line\nsecond line\n");
    let mut agent = Agent::spawn(launch().place(&place).env("MINE_KEY", "sk-1234567890"));
    agent.initialize();
    let session = agent.create();
    for turn in 0..2 {
        let run = agent.turn(&session, "What do the notes say?");
        let about = format!("{api} {base}, turn {turn}: {run:?}");
        assert_eq!(run.outcome(), "completed", "{about}");
        assert!(run.reconciled().concat().ends_with("Two lines."), "{about}");
        assert!(run.named("diagnostic").is_empty(), "{about}");
        let activities = run.named("activity");
        let read = |state: &str| {
            let summary =
                |data: &&&serde_json::Value| data["state"] == state && data["name"] == "read";
            activities.iter().filter(summary).count()
        };
        assert_eq!((read("started"), read("completed")), (1, 1), "{about}");
    }
    agent.end();
}

#[test]
fn llama_cpp() {
    let Some(folder) = installed("models") else {
        return;
    };
    let server = llama(&folder);
    let base = server.base();
    turns("openai-chat", &format!("{base}/v1"), "tiny");
    turns("anthropic", &base, "tiny");
    turns("openai-responses", &format!("{base}/v1"), "tiny");
}

#[test]
fn the_proxy_litellm_before_llama_cpp() {
    let Some(folder) = installed("models") else {
        return;
    };
    let behind = llama(&folder);
    let root = tempfile::tempdir().unwrap();
    let config = root.path().join("config.yaml");
    // No key of its own, which it warns of: nothing beyond this machine reaches it.
    let general = json!({"dangerously_permit_weak_or_unset_master_key": true});
    let text = json!({"general_settings": general, "model_list": [{"model_name": "tiny", "litellm_params": {
        "model": "openai/tiny", "api_base": format!("{}/v1", behind.base()), "api_key": "none",
    }}]});
    // JSON is YAML.
    std::fs::write(&config, text.to_string()).unwrap();
    let command = |port: u16| {
        let mut command = Command::new(folder.join("venv/bin/litellm"));
        command
            .arg("--config")
            .arg(&config)
            .args(["--host", "127.0.0.1", "--port"]);
        command.arg(port.to_string()).current_dir(root.path());
        // Without a look at the network.
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
        command
    };
    let server = Server::start(command, "/health/liveliness");
    turns("openai-chat", &format!("{}/v1", server.base()), "tiny");
    turns("anthropic", &server.base(), "tiny");
    turns("openai-responses", &format!("{}/v1", server.base()), "tiny");
}

#[test]
fn the_mock_server_aimock() {
    let Some(folder) = installed("models") else {
        return;
    };
    let command = |port: u16| {
        let mut command = Command::new("node");
        command.arg(folder.join("node/node_modules/@copilotkit/aimock/dist/cli.js"));
        command
            .arg("-f")
            .arg(own("aimock.json"))
            .arg("-p")
            .arg(port.to_string());
        command
    };
    let server = Server::start(command, "/health");
    let base = server.base();
    turns("openai-chat", &format!("{base}/v1"), "gpt-4o");
    turns("anthropic", &base, "claude-haiku-4-5");
    turns("openai-responses", &format!("{base}/v1"), "gpt-5");
    turns("gemini", &format!("{base}/v1beta"), "gemini-2.5-flash");
}

#[test]
fn the_mock_server_stubllm() {
    let Some(folder) = installed("models") else {
        return;
    };
    let command = |port: u16| {
        let mut command = Command::new(folder.join("venv/bin/stubllm"));
        command
            .args(["serve", "--fixture-file"])
            .arg(own("stubllm.yaml"));
        command.arg("--port").arg(port.to_string());
        command
    };
    let server = Server::start(command, "/health");
    turns("openai-chat", &format!("{}/v1", server.base()), "gpt-4o");
}
