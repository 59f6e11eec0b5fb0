//! Servers of others: those that `tests/real/install-mcp` installs. Without them these tests say so and pass, but not
//! where `CI` is `true`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::setting::{magi_code, place, results, steps};
use crate::support::installed;

fn node(folder: &Path, name: &str) -> Value {
    json!(folder.join("node/node_modules/.bin").join(name))
}

fn text(result: &Value) -> &str {
    assert_eq!(result["is_error"], false, "{result}");
    result["content"].as_str().unwrap()
}

#[test]
fn everything_over_standard_streams() {
    let Some(folder) = installed("mcp") else {
        return;
    };
    let server = json!({"command": node(&folder, "mcp-server-everything"), "args": ["stdio"]});
    let calls = [
        ("mcp__everything__echo", json!({"message": "hello"})),
        ("mcp__everything__get-sum", json!({"a": 2, "b": 40})),
        ("mcp__everything__get-tiny-image", json!({})),
        (
            "mcp__everything__get-structured-content",
            json!({"location": "New York"}),
        ),
        (
            "mcp__everything__trigger-long-running-operation",
            json!({"duration": 1, "steps": 5}),
        ),
    ];
    let place = place(&json!({"everything": server}), &steps(&calls));
    let listed = magi_code(&place, &["mcp", "test", "everything"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    for (name, _) in &calls {
        assert!(listed.lines().any(|line| line == *name), "{name}: {listed}");
    }
    let results = results(&place);
    assert!(text(&results[0]).contains("hello"));
    assert!(text(&results[1]).contains("42"));
    assert!(
        text(&results[2]).contains("[an image: image/png, about "),
        "{}",
        results[2]
    );
    assert!(text(&results[3]).contains("temperature"), "{}", results[3]);
    assert!(text(&results[4]).contains("ompleted"), "{}", results[4]);
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn everything_over_streamable_http() {
    let Some(folder) = installed("mcp") else {
        return;
    };
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut server = Command::new(node(&folder, "mcp-server-everything").as_str().unwrap())
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let errors = BufReader::new(server.stderr.take().unwrap());
    let _ended = Ended(server);
    let mut lines = errors.lines();
    let is_up = lines.any(|line| line.unwrap().contains(&port.to_string()));
    assert!(is_up, "the server does not listen");
    std::thread::spawn(move || lines.for_each(drop));
    let definition = json!({"url": format!("http://127.0.0.1:{port}/mcp")});
    let calls = [
        ("mcp__web__echo", json!({"message": "hello"})),
        (
            "mcp__web__trigger-long-running-operation",
            json!({"duration": 1, "steps": 5}),
        ),
    ];
    let place = place(&json!({"web": definition}), &steps(&calls));
    let results = results(&place);
    assert!(text(&results[0]).contains("hello"));
    assert!(text(&results[1]).contains("ompleted"), "{}", results[1]);
}

#[test]
fn files_time_and_git_side_by_side() {
    let Some(folder) = installed("mcp") else {
        return;
    };
    let python = |name: &str| json!(folder.join("venv/bin").join(name));
    let servers = json!({
        "files": {"command": node(&folder, "mcp-server-filesystem"), "args": ["."]},
        "time": {"command": python("mcp-server-time"), "args": ["--local-timezone", "UTC"]},
        "git": {"command": python("mcp-server-git")},
    });
    let calls = [
        (
            "mcp__files__write_file",
            json!({"path": "made.txt", "content": "by a server\n"}),
        ),
        ("mcp__files__read_text_file", json!({"path": "made.txt"})),
        (
            "mcp__time__get_current_time",
            json!({"timezone": "Europe/Berlin"}),
        ),
        ("mcp__git__git_status", json!({"repo_path": "."})),
        (
            "mcp__files__read_text_file",
            json!({"path": "/etc/hostname"}),
        ),
    ];
    let place = place(&servers, &steps(&calls));
    for arguments in [&["init", "-q"][..], &["config", "user.name", "x"]] {
        assert!(
            Command::new("git")
                .args(arguments)
                .current_dir(place.work())
                .status()
                .unwrap()
                .success()
        );
    }
    let results = results(&place);
    assert_eq!(
        std::fs::read_to_string(place.work().join("made.txt")).unwrap(),
        "by a server\n"
    );
    assert!(text(&results[1]).contains("by a server"));
    assert!(text(&results[2]).contains("Europe/Berlin"));
    assert!(text(&results[3]).contains("made.txt"), "{}", results[3]);
    // Its roots are the workspace: what lies elsewhere it refuses itself.
    assert_eq!(results[4]["is_error"], true, "{}", results[4]);
}
