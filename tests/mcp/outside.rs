//! Where programs of servers start: in a workspace that is trusted, else where nothing of it can be found (decisions:
//! "Trust").

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::setting::{approve, magi_code, misbehaving, results, said, settings, steps, untrusted};

#[test]
fn nothing_of_a_workspace_that_is_not_trusted_is_found_by_a_relative_name() {
    let calls = [("mcp__s__where", json!({})), ("mcp__s__ask", json!({}))];
    let servers = json!({"s": misbehaving(&[])});
    let place = untrusted(&servers, &steps(&calls));
    place.write_file("json.py", "open('/tmp/never', 'w')");
    approve(&place);
    let results = results(&place);
    let stands: Value = serde_json::from_str(results[0]["content"].as_str().unwrap()).unwrap();
    let folder = Path::new(stands["cwd"].as_str().unwrap());
    let home = place.mc_home().canonicalize().unwrap();
    assert_eq!(folder.parent(), Some(&*home.join("servers")));
    assert_eq!(stands["pwd"], stands["cwd"]);
    // What it writes itself while it is asked.
    assert_eq!(stands["files"], json!(["heard"]));
    assert_eq!(stands["mode"], 0o700);
    let mode = std::fs::metadata(home.join("servers"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    // It still learns where the work is.
    let work = place.work().canonicalize().unwrap();
    let asked = results[1]["content"].as_str().unwrap();
    assert!(
        asked.contains(&format!("file://{}", work.display())),
        "{asked}"
    );

    place.trust();
    let results = self::results(&place);
    let stands: Value = serde_json::from_str(results[0]["content"].as_str().unwrap()).unwrap();
    assert_eq!(stands["cwd"], json!(work));
}

#[test]
fn an_approved_relative_command_is_nobodys_file_in_another_clone() {
    let place = untrusted(&json!({}), &json!([]));
    let theirs = json!({"mcp_servers": {"s": {"command": "./mcp.sh"}}});
    place.write_file(".magi-code/settings.json", &theirs.to_string());
    place.write_file(
        "mcp.sh",
        "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\nexit 3\n",
    );
    let script = place.work().join("mcp.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(said(&magi_code(&place, &["mcp", "approve", "s"])).0, 0);
    let start = || {
        let mut agent = Agent::spawn(launch().place(&place));
        assert_eq!(
            agent.err("initialize", json!({"required_capabilities": []})),
            "mcp_unavailable"
        );
    };
    start();
    assert!(!place.work().join("ran").exists());
    let (code, doctor) = said(&magi_code(&place, &["doctor"]));
    for word in [
        "`./mcp.sh` is relative",
        "its program `./mcp.sh` can't be started",
        "A start would fail",
    ] {
        assert!(code == 1 && doctor.contains(word), "{word}: {doctor}");
    }
    place.trust();
    start();
    assert!(place.work().join("ran").exists());
    let (code, doctor) = said(&magi_code(&place, &["doctor"]));
    assert!(code == 0 && !doctor.contains("is relative"), "{doctor}");
}

#[test]
fn a_start_that_cannot_succeed_is_a_problem_before_it_is_tried() {
    for (definition, why) in [
        (
            json!({"command": "no-such-program"}),
            "its program `no-such-program` can't be started",
        ),
        (json!({"command": "python3 -m nope"}), "`args`"),
        (
            json!({"command": "/etc/passwd"}),
            "its program `/etc/passwd` can't be started",
        ),
        (
            json!({"url": "localhost:3000/mcp"}),
            "its address or a header of it can't be used",
        ),
        (
            json!({"url": "http://127.0.0.1:9/", "headers": {"a b": "c"}}),
            "its address or a header",
        ),
    ] {
        let servers = json!({"s": definition});
        let place = untrusted(&servers, &json!([]));
        let (code, waiting) = said(&magi_code(&place, &["doctor"]));
        assert_eq!(code, 0, "{waiting}");
        approve(&place);
        let (code, doctor) = said(&magi_code(&place, &["doctor"]));
        assert!(code == 1 && doctor.contains(why), "{doctor}");
        let (code, tried) = said(&magi_code(&place, &["try", "hi"]));
        assert!(
            code == 2 && tried.contains(why) && tried.contains("settings.json:"),
            "{tried}"
        );
    }
}

#[test]
fn what_only_a_start_can_tell_is_said_to_be_untried_and_told_by_a_turn() {
    let servers = json!({"bad": misbehaving(&["--exit"]), "good": misbehaving(&[])});
    let place = untrusted(&servers, &json!([]));
    approve(&place);
    let (code, doctor) = said(&magi_code(&place, &["doctor", "--json"]));
    let told: Value = serde_json::from_str(&doctor).unwrap();
    let helps: Vec<_> = told["notices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|notice| &notice["help"])
        .collect();
    assert_eq!(code, 0);
    for name in ["bad", "good"] {
        let help = json!(format!("run `magi-code mcp test {name}` to try it"));
        assert!(helps.contains(&&help), "{doctor}");
    }
    let (code, tried) = said(&magi_code(&place, &["try", "hi"]));
    assert_eq!(code, 2);
    for word in [
        "the MCP server `bad` does not start",
        "cannot open the frobnicator",
        "settings.json:",
    ] {
        assert!(tried.contains(word), "{word}: {tried}");
    }
    assert!(settings(&place)["mcp_servers"]["bad"]["trust"] == true);
}

#[test]
fn a_relative_script_of_a_project_that_is_not_trusted_is_a_problem() {
    let definition = json!({"command": "python3", "args": ["-u", "server.py"]});
    let place = untrusted(&json!({"s": definition}), &json!([]));
    place.write_file("server.py", "open('ran', 'w')");
    approve(&place);
    let (code, doctor) = said(&magi_code(&place, &["doctor"]));
    assert_eq!(
        (code, doctor.matches("`server.py` is relative").count()),
        (1, 1),
        "{doctor}"
    );
    let (code, tried) = said(&magi_code(&place, &["try", "hi"]));
    assert!(
        code == 2 && tried.contains("`server.py` is relative"),
        "{tried}"
    );
    assert!(!place.work().join("ran").exists());
    place.trust();
    let (code, doctor) = said(&magi_code(&place, &["doctor"]));
    assert!(
        code == 0 && doctor.contains("if these MCP servers start, which was not tried: s:"),
        "{doctor}"
    );
}

#[test]
fn a_refused_start_starts_each_server_once_and_none_where_one_plainly_cannot() {
    let counted = |path: &Path| {
        let script = format!(
            "echo started >> '{}'; echo no frobnicator >&2; exit 3",
            path.display()
        );
        json!({"command": "/bin/sh", "args": ["-c", script]})
    };
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    let starts = |path: &Path| {
        std::fs::read_to_string(path)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let place = untrusted(
        &json!({"one": counted(&one), "other": counted(&other)}),
        &json!([]),
    );
    approve(&place);
    let (code, tried) = said(&magi_code(&place, &["try", "hi"]));
    assert_eq!((code, starts(&one), starts(&other)), (2, 1, 1), "{tried}");
    for word in [
        "the MCP server `one` does not start",
        "the MCP server `other` does not start",
        "exit code 3",
        "settings.json:",
        "magi-code mcp test one",
    ] {
        assert!(tried.contains(word), "{word}: {tried}");
    }
    let place = untrusted(
        &json!({"one": counted(&one), "gone": {"command": "/no/such/program"}}),
        &json!([]),
    );
    approve(&place);
    let (code, tried) = said(&magi_code(&place, &["try", "hi"]));
    assert_eq!((code, starts(&one)), (2, 1), "{tried}");
    assert!(
        tried.contains("`/no/such/program` can't be started"),
        "{tried}"
    );
    let (_, tested) = said(&magi_code(&place, &["mcp", "test", "one"]));
    assert_eq!(starts(&one), 2, "{tested}");
}

#[test]
fn what_a_call_failed_for_is_told_by_try() {
    let calls = [
        (
            "mcp__s__fail",
            json!({"text": "it went wrong\nin the second line"}),
        ),
        (
            "code",
            json!({"source": "console.log('printed'); return tools.nope({})"}),
        ),
        ("code", json!({"source": "const const"})),
    ];
    let place = crate::setting::place(&json!({"s": misbehaving(&[])}), &steps(&calls));
    let (_, tried) = said(&magi_code(&place, &["try", "go"]));
    for word in [
        "TypeError: not a function at line 1",
        "SyntaxError",
        "it went wrong",
    ] {
        assert_eq!(tried.matches(word).count(), 1, "{word}: {tried}");
    }
    assert!(
        !tried.contains("printed") && !tried.contains("second line"),
        "{tried}"
    );
}
