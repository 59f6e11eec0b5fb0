//! `grep` and `glob` on a large tree, beside ripgrep where it is installed: medians of alternating runs.
//! A measurement, no test: `cargo bench -p tools --bench search`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tools::{Context, ToolSet};

const DIRECTORIES: usize = 400;
const FILES: usize = 50;
/// Bytes of a file on average; 20,000 files are 100 MB.
const BYTES: usize = 5_000;
const ROUNDS: usize = 15;

/// Lines of words; `needle` stands in one file of a thousand, `the` in nearly every line.
fn tree(root: &Path) {
    let words = [
        "alpha", "the", "value", "return", "index", "of", "state", "(x)", "let", "=", "node",
    ];
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed >> 33).unwrap()
    };
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(root.join(".gitignore"), "*.log\n/target\n").unwrap();
    for number in 0..DIRECTORIES * FILES {
        let directory = root.join(format!(
            "d{:02}/e{:03}",
            number / FILES % 20,
            number / FILES
        ));
        std::fs::create_dir_all(&directory).unwrap();
        let length = BYTES / 2 + next() % BYTES;
        let mut text = String::with_capacity(length + 100);
        while text.len() < length {
            for _ in 0..9 {
                text += words[next() % words.len()];
                text.push(' ');
            }
            text.push('\n');
        }
        if number % 1000 == 7 {
            text += "a rare needle here\n";
        }
        std::fs::write(directory.join(format!("f{number}.rs")), text).unwrap();
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn rg(root: &Path, arguments: &[&str]) -> Option<Duration> {
    let began = Instant::now();
    let status = Command::new("rg")
        .args([
            "--no-config",
            "--no-require-git",
            "--hidden",
            "--color=never",
        ])
        .args(arguments)
        .arg(".")
        .current_dir(root)
        .stdout(Stdio::null())
        .status();
    status.ok().map(|_| began.elapsed())
}

fn main() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().canonicalize().unwrap();
    tree(&root);
    let tools = ToolSet::registered(Context::new(root.clone(), Vec::new())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let call = |tool: &str, input: &Value| {
        let began = Instant::now();
        let outcome = runtime.block_on(tools.run(tool, input, CancellationToken::new()));
        assert!(!outcome.is_error, "{}", outcome.content);
        (began.elapsed(), outcome.summary)
    };
    let cases: [(&str, &str, Value, &[&str]); 6] = [
        (
            "absent word",
            "grep",
            json!({"pattern": "nowhere_at_all"}),
            &["-n", "nowhere_at_all"],
        ),
        (
            "rare word",
            "grep",
            json!({"pattern": "needle"}),
            &["-n", "needle"],
        ),
        (
            "rare, any case",
            "grep",
            json!({"pattern": "(?i)NEEDLE"}),
            &["-n", "(?i)NEEDLE"],
        ),
        (
            "rare pattern",
            "grep",
            json!({"pattern": r"needle\s+\w+$"}),
            &["-n", r"needle\s+\w+$"],
        ),
        (
            "frequent word",
            "grep",
            json!({"pattern": "the"}),
            &["-n", "the"],
        ),
        (
            "names",
            "glob",
            json!({"pattern": "*77.rs"}),
            &["--files", "-g", "*77.rs"],
        ),
    ];
    println!(
        "{} files; medians of {ROUNDS} alternating runs",
        DIRECTORIES * FILES
    );
    for (name, tool, input, arguments) in cases {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut said = String::new();
        for _ in 0..ROUNDS {
            let (took, summary) = call(tool, &input);
            ours.push(took);
            said = summary;
            theirs.extend(rg(&root, arguments));
        }
        let ours = median(ours);
        let beside = match theirs.is_empty() {
            true => "rg is not installed".to_owned(),
            false => {
                let theirs = median(theirs);
                let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
                format!("rg {:.1} ms, {ratio:.2} of it", theirs.as_secs_f64() * 1e3)
            }
        };
        println!(
            "{name:<16} {:>7.1} ms, {beside}  {said}",
            ours.as_secs_f64() * 1e3
        );
    }
}
