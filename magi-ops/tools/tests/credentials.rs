//! Places that are known to hold credentials: what asks, and what nobody was asked for is not read.
//! Which places those are is tested in the store.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use support::{look, place};
use tokio_util::sync::CancellationToken;
use tools::DefaultPolicy::{Allow, Ask};
use tools::ToolSet;

mod support;

/// A place whose home holds credentials, with a link to them from the workspace.
fn with_credentials() -> (support::Place, ToolSet) {
    let place = place();
    let home = place.outside.join("me");
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::create_dir_all(home.join("real/aws")).unwrap();
    fs::write(home.join(".ssh/id_rsa"), "key-canary\n").unwrap();
    fs::write(home.join("real/aws/credentials"), "key-canary\n").unwrap();
    fs::write(home.join("notes.txt"), "key-words\n").unwrap();
    symlink("real/aws", home.join(".aws")).unwrap();
    symlink(home.join(".ssh/id_rsa"), place.workspace.join("link")).unwrap();
    fs::hard_link(home.join(".ssh/id_rsa"), place.workspace.join("hard")).unwrap();
    let mut context = place.context();
    context.home = Some(home);
    let tools = ToolSet::registered(context).unwrap();
    (place, tools)
}

#[tokio::test]
async fn places_with_credentials_ask_wherever_links_lead() {
    let (place, tools) = with_credentials();
    let home = place.outside.join("me");
    let at = |path: &str| home.join(path).to_str().unwrap().to_owned();
    for path in [
        at(".ssh/id_rsa"),
        at(".aws/credentials"),
        at("real/aws/credentials"),
        at("x/../.ssh/id_rsa").replace("x/../", ""),
        "link".to_owned(),
        "hard".to_owned(),
        "../outside/me/.ssh/id_rsa".to_owned(),
    ] {
        let (default, _, question) = look(&tools, "read", json!({ "path": path })).await;
        assert_eq!(default, Ask, "{path}");
        assert!(
            question.starts_with("read a place that may hold credentials: "),
            "{question}"
        );
        let input = json!({ "path": path, "pattern": "key" });
        assert_eq!(look(&tools, "grep", input).await.0, Ask, "{path}");
    }
    for tool in ["list", "glob"] {
        let input = json!({ "path": at(".ssh"), "pattern": "*" });
        assert_eq!(look(&tools, tool, input).await.0, Ask, "{tool}");
    }
    for path in [at("notes.txt"), at("real"), at("none")] {
        assert_eq!(
            look(&tools, "list", json!({ "path": path })).await.0,
            Allow,
            "{path}"
        );
    }
}

#[tokio::test]
async fn what_a_person_was_not_asked_for_is_not_read() {
    let (place, tools) = with_credentials();
    let cancel = CancellationToken::new;
    let home = place.outside.join("me");
    // A walk that began elsewhere leaves it out, and says so.
    for (tool, found) in [("grep", "key-words"), ("glob", "notes.txt")] {
        let input = json!({ "path": home, "pattern": if tool == "grep" { "key" } else { "*" } });
        let access = tools.access(tool, &input).await;
        assert_eq!(access.default, Allow);
        let outcome = tools
            .run_admitted(tool, &input, &access, None, cancel())
            .await;
        assert!(outcome.content.contains(found), "{}", outcome.content);
        assert!(
            !outcome.content.contains("key-canary") && !outcome.content.contains("id_rsa"),
            "{}",
            outcome.content
        );
        assert!(
            outcome
                .content
                .contains("that may hold credentials left out"),
            "{}",
            outcome.content
        );
    }
    let input = json!({ "pattern": "key" });
    let access = tools.access("grep", &input).await;
    let outcome = tools
        .run_admitted("grep", &input, &access, None, cancel())
        .await;
    assert!(
        !outcome.content.contains("key-canary"),
        "{}",
        outcome.content
    );
    // What stands there when it is read is what was asked for.
    let input = json!({ "path": "a" });
    place.write("a", "words\n");
    let access = tools.access("read", &input).await;
    fs::remove_file(place.workspace.join("a")).unwrap();
    symlink(home.join(".ssh/id_rsa"), place.workspace.join("a")).unwrap();
    let outcome = tools
        .run_admitted("read", &input, &access, None, cancel())
        .await;
    assert_eq!(outcome.summary, "path changed");
    fs::remove_file(place.workspace.join("a")).unwrap();
    fs::hard_link(home.join(".ssh/id_rsa"), place.workspace.join("a")).unwrap();
    let outcome = tools
        .run_admitted("read", &input, &access, None, cancel())
        .await;
    assert_eq!(outcome.summary, "path changed");
    // And what was asked for is read.
    for path in ["link", "hard"] {
        let input = json!({ "path": path });
        let access = tools.access("read", &input).await;
        let outcome = tools
            .run_admitted("read", &input, &access, None, cancel())
            .await;
        assert!(
            outcome.content.contains("key-canary"),
            "{}",
            outcome.content
        );
    }
    let input = json!({ "path": home.join(".ssh"), "pattern": "key" });
    let access = tools.access("grep", &input).await;
    let outcome = tools
        .run_admitted("grep", &input, &access, None, cancel())
        .await;
    assert!(
        outcome.content.contains("key-canary"),
        "{}",
        outcome.content
    );
}
