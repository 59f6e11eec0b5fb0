//! `cargo bench -p mcp --bench calls`: a call of a server's tool, looked at and run as a turn does it, beside the SDK's
//! bare client and beside one line written and one read. All three talk with the same program, which only answers.
//! Medians of rounds in turns. Prints figures; judges none.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp::{Servers, Setting};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use serde_json::{Value, json};
use store::settings::{Launch, McpServer, ServerState};
use store::{LocalHome, Reason};
use tokio_util::sync::CancellationToken;
use tools::guard::{self, Guard};
use tools::{Context, ToolSet};

const SERVER: &str = "__server";
const ROUNDS: usize = 40;
const CALLS: usize = 50;
/// The last round of the three begins anew with the answers of these many bytes.
const ANSWERS: [usize; 2] = [5, 64 * 1024];

/// A server that knows one tool, whose answer is as long as it is asked to be.
fn serve() {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let result = match request["method"].as_str().unwrap() {
            "initialize" => json!({
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "bench", "version": "1"}
            }),
            "tools/list" => {
                json!({"tools": [{"name": "say", "description": "Says it.", "inputSchema": {
                    "type": "object", "properties": {"bytes": {"type": "integer"}}, "required": ["bytes"]}}]})
            }
            "tools/call" => {
                let bytes = request["params"]["arguments"]["bytes"].as_u64().unwrap();
                let text = "x".repeat(usize::try_from(bytes).unwrap());
                json!({"content": [{"type": "text", "text": text}]})
            }
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        output.write_all(format!("{answer}\n").as_bytes()).unwrap();
        output.flush().unwrap();
    }
}

/// The program of another server of this bench.
fn program() -> String {
    std::env::current_exe().unwrap().display().to_string()
}

/// One line there and one back: what the server and the pipe between take.
struct Line {
    server: Child,
    input: std::process::ChildStdin,
    output: BufReader<std::process::ChildStdout>,
}

impl Line {
    fn start() -> Self {
        let mut server = Command::new(program())
            .arg(SERVER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: server.stdin.take().unwrap(),
            output: BufReader::new(server.stdout.take().unwrap()),
            server,
        }
    }

    fn call(&mut self, bytes: usize) {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "say", "arguments": {"bytes": bytes}}});
        self.input
            .write_all(format!("{request}\n").as_bytes())
            .unwrap();
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > bytes);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The servers of a workspace with this one, and the set of its tool.
async fn ours(home: &std::path::Path) -> (Servers, ToolSet) {
    let definition = McpServer {
        name: "bench".to_owned(),
        launch: Some(Launch::Command {
            command: program(),
            args: vec![SERVER.to_owned()],
            env: Default::default(),
        }),
        state: ServerState::Approved,
        trust: true,
        digest: String::new(),
        is_other_approved: false,
        is_trust_said: true,
        named: Reason::default(),
    };
    let setting = Setting {
        cwd: home.to_owned(),
        guard: Guard::this_program(),
        trusted: true,
        home: Arc::new(LocalHome::prepare(home).unwrap()),
        redactor: redact::Redactor::default(),
    };
    let servers = Servers::new(&[definition], &setting);
    assert!(servers.connect().await.unwrap().is_empty());
    let set = servers.tools(Context::new(home.to_owned(), Vec::new()));
    (servers, set)
}

async fn call(set: &ToolSet, bytes: usize) {
    let (name, input) = ("mcp__bench__say", json!({"bytes": bytes}));
    let access = set.access(name, &input).await;
    let cancel = CancellationToken::new();
    let outcome = set.run_admitted(name, &input, &access, None, cancel).await;
    assert_eq!(outcome.content.len(), bytes);
}

async fn bench() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let (servers, set) = ours(&home).await;
    let mut child = tokio::process::Command::new(program())
        .arg(SERVER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let streams = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let bare = ().serve(streams).await.unwrap();
    let mut line = Line::start();
    for bytes in ANSWERS {
        let mut times: [Vec<Duration>; 3] = Default::default();
        for _ in 0..ROUNDS {
            for (of, times) in times.iter_mut().enumerate() {
                for _ in 0..CALLS {
                    let begun = Instant::now();
                    match of {
                        0 => line.call(bytes),
                        1 => {
                            let arguments = json!({"bytes": bytes}).as_object().cloned().unwrap();
                            let params =
                                CallToolRequestParams::new("say").with_arguments(arguments);
                            bare.call_tool(params).await.unwrap();
                        }
                        _ => call(&set, bytes).await,
                    }
                    times.push(begun.elapsed());
                }
            }
        }
        let [line, sdk, ours] = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        });
        println!(
            "a call answered by {bytes:>5} B: ours {ours:.2?}, the SDK's bare client {sdk:.2?}: {:.2}x; a line there and back {line:.2?}",
            ours.as_secs_f64() / sdk.as_secs_f64()
        );
    }
    servers.close().await;
    bare.cancel().await.unwrap();
}

fn main() {
    let role = std::env::args().nth(1);
    if role.as_deref() == Some(guard::SUBCOMMAND) {
        let control = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
        let output = std::io::stdout().as_fd().try_clone_to_owned().unwrap();
        std::process::exit(guard::run(control, output));
    }
    if role.as_deref() == Some(SERVER) {
        return serve();
    }
    // As the product's.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(bench());
}
