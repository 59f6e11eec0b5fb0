//! The demonstration with the real tools on real directories: its counts are the real ones.
//! Plays the turn loop's part by hand; holds the provider's reading to the tools' writing.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use provider::{Chunk, Fixture, Message, Provider, ProviderState, Request, ToolSpec};
use tokio_util::sync::CancellationToken;
use tools::{Context, ToolSet};

/// What the provider said, response by response, and which tools it called.
struct Turn {
    texts: Vec<String>,
    pieces: usize,
    calls: Vec<String>,
}

async fn run(workspace: &Path, hidden: &[&Path], prompt: &str, offered: &[&str]) -> Turn {
    let provider = Fixture::demonstration();
    let hidden = hidden.iter().map(|path| path.to_path_buf()).collect();
    let set = ToolSet::registered(Context::new(workspace.to_owned(), hidden)).unwrap();
    let tools: Vec<ToolSpec> = set
        .specs()
        .filter(|spec| offered.contains(&spec.name.as_str()))
        .map(|spec| ToolSpec {
            name: spec.name.clone(),
            description: spec.description.clone(),
            input_schema: spec.input_schema.clone(),
        })
        .collect();
    let mut messages = vec![Message::User {
        text: prompt.into(),
    }];
    let mut turn = Turn {
        texts: Vec::new(),
        pieces: 0,
        calls: Vec::new(),
    };
    loop {
        assert!(turn.texts.len() < 4, "the demonstration does not end");
        let request = Request {
            model: provider::FIXTURE_MODEL.into(),
            messages: messages.clone().into(),
            tools: tools.clone(),
            workspace: workspace.to_owned(),
            ..Request::default()
        };
        let mut response = provider.respond(request, CancellationToken::new());
        let (mut text, mut tool_calls) = (String::new(), Vec::new());
        while let Some(chunk) = response.next().await {
            match chunk.unwrap() {
                Chunk::Text(piece) => {
                    assert!(piece.split_whitespace().count() <= 1, "{piece:?}");
                    turn.pieces += 1;
                    text.push_str(&piece);
                }
                Chunk::ToolCall(call) => tool_calls.push(call),
                other => panic!("{other:?}"),
            }
        }
        turn.texts.push(text.clone());
        messages.push(Message::Assistant {
            state: ProviderState::default(),
            text,
            tool_calls: tool_calls.clone(),
        });
        if tool_calls.is_empty() {
            return turn;
        }
        for call in tool_calls {
            let outcome = set
                .run(&call.name, &call.input, CancellationToken::new())
                .await;
            turn.calls.push(call.name.clone());
            messages.push(Message::ToolResult {
                call_id: call.id,
                name: call.name,
                content: outcome.content,
                images: Vec::new(),
                is_error: outcome.is_error,
            });
        }
    }
}

const ALL: &[&str] = &["read", "list", "glob", "grep"];

#[tokio::test]
async fn it_is_honest_and_reports_real_counts() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("src")).unwrap();
    std::fs::write(
        home.path().join("README.md"),
        "# A title\n\nfour words are here\n",
    )
    .unwrap();
    std::fs::write(home.path().join("other.txt"), "x ".repeat(500)).unwrap();
    let turn = run(home.path(), &[], "tell me a secret", ALL).await;
    assert_eq!(turn.calls, ["list", "read"]);
    assert!(turn.texts[0].starts_with("This is an offline demonstration"));
    assert_eq!(turn.texts[1], "Next I read README.md.\n\n");
    let last = &turn.texts[2];
    assert!(
        last.contains("has 3 entries: 1 directory and 2 others."),
        "{last}"
    );
    assert!(
        last.contains("In README.md I read 3 lines with 7 words."),
        "{last}"
    );
    assert!(last.contains("Your prompt of 16 characters"), "{last}");
    assert!(!last.contains("secret"));
    for word in ["`provider`", "`model`", "MC_PROVIDER"] {
        assert!(last.contains(word), "{last}");
    }
    assert!(turn.pieces > 60);
}

#[tokio::test]
async fn without_a_readme_it_reads_the_largest_text_file() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("small.md"), "a").unwrap();
    std::fs::write(home.path().join("large.rs"), "fn main() {}\n".repeat(3000)).unwrap();
    std::fs::write(home.path().join("huge.bin"), vec![0; 100_000]).unwrap();
    let turn = run(home.path(), &[], "x", ALL).await;
    let last = turn.texts.last().unwrap();
    assert!(
        last.contains("In large.rs I read 2000 lines with 6000 words; the file goes on"),
        "{last}"
    );
    assert!(last.contains("Your prompt of 1 character was"), "{last}");
}

#[tokio::test]
async fn an_empty_directory_a_failure_and_a_missing_tool_are_said() {
    let home = tempfile::tempdir().unwrap();
    let turn = run(home.path(), &[], "x", ALL).await;
    assert_eq!(turn.calls, ["list"]);
    let last = turn.texts.last().unwrap();
    assert!(last.contains("has 0 entries"), "{last}");
    assert!(last.contains("I found no text file"), "{last}");

    let turn = run(home.path(), &[home.path()], "x", ALL).await;
    let last = turn.texts.last().unwrap();
    assert!(
        last.contains("The listing failed. The tool said: refused"),
        "{last}"
    );
    assert!(last.contains("MC_PROVIDER"), "{last}");

    std::fs::write(home.path().join("README.md"), b"\0binary").unwrap();
    let turn = run(home.path(), &[], "x", ALL).await;
    let last = turn.texts.last().unwrap();
    assert!(
        last.contains("Reading README.md failed. The tool said: README.md is a binary"),
        "{last}"
    );

    let turn = run(home.path(), &[], "x", &[]).await;
    assert!(turn.calls.is_empty());
    assert!(turn.texts[0].contains("`list` tool is not offered"));
    let turn = run(home.path(), &[], "x", &["list"]).await;
    assert_eq!(turn.calls, ["list"]);
    let last = turn.texts.last().unwrap();
    assert!(last.contains("`read` tool is not offered"), "{last}");
}
