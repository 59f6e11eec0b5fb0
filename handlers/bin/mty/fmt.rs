//! `mty fmt` (toolchain digest, section 7): files, directories, or standard input.

use std::path::{Path, PathBuf};

use clap::Args;
use host::transport::Stdio;
use mighty::tools::{self, Formatted};

use super::shared::Out;
use super::terminal::Terminal;
use crate::program::{Run, complain, misuse};

/// Bring source files into their canonical form
#[derive(Args)]
#[command(after_help = "\
Examples:
  mty fmt --check src
  mty fmt --stdin < main.mty

Exit codes:
  0  done; files with syntax errors stay as they are
  1  a file could not be read or written, a directory has none; --check: a file would change
  2  usage")]
pub(crate) struct Fmt {
    /// `*.mty` files, or directories that hold some
    paths: Vec<String>,
    /// Write nothing; name the files that would change
    #[arg(long)]
    check: bool,
    /// Format standard input to standard output; paths are ignored
    #[arg(long)]
    stdin: bool,
}

impl Run for Fmt {
    const NAME: &'static str = "fmt";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        run(stdio, &self)
    }
}

fn run(stdio: Stdio, args: &Fmt) -> anyhow::Result<i32> {
    if args.stdin {
        return from_stdin(stdio, args.check);
    }
    if args.paths.is_empty() {
        return Ok(misuse::<Fmt>("name files or directories, or give --stdin"));
    }
    let mut out = Out::new(stdio.output);
    let (mut changed, mut same, mut failed) = (0usize, 0usize, false);
    let progress = Terminal::of_stderr().progress();
    let (files, unread) = files(&args.paths);
    for error in unread {
        failed = true;
        complain(&format!("error: {error}"));
    }
    for (shown, path) in files {
        progress.say(format!("formatting {shown}"));
        match tools::format_file(&path, !args.check) {
            Ok(Formatted::Same) => same += 1,
            Ok(Formatted::Changed(_)) => {
                changed += 1;
                if args.check {
                    out.line(&format!("would reformat: {shown}"))?;
                }
            }
            Ok(Formatted::Refused(obstacles)) => {
                same += 1;
                refuse(&shown, &obstacles);
            }
            Err(error) => {
                failed = true;
                complain(&format!("error: {}", error.about(&shown)));
            }
        }
    }
    drop(progress);
    out.flush()?;
    let files = |n: usize| if n == 1 { "file" } else { "files" };
    let verb = if args.check {
        "would change"
    } else {
        "changed"
    };
    complain(&format!(
        "{changed} {} {verb}, {same} unchanged",
        files(changed)
    ));
    Ok(i32::from(failed || args.check && changed > 0))
}

/// Every file that is meant: as it is to be shown, and where it is. Then what could not be looked into.
fn files(paths: &[String]) -> (Vec<(String, PathBuf)>, Vec<String>) {
    let mut found = Vec::new();
    let mut unread = Vec::new();
    for path in paths {
        let real = Path::new(path);
        if real.is_dir() {
            let tree = tools::files_below(real);
            if tree.files.is_empty() && tree.unread.is_empty() {
                unread.push(tools::SourceError::NoSources.about(path));
            }
            let words = |(dir, why): (PathBuf, _)| {
                tools::SourceError::Unreadable(why).about(&dir.to_string_lossy())
            };
            unread.extend(tree.unread.into_iter().map(words));
            let below = tree.files.into_iter();
            found.extend(below.map(|f| (f.to_string_lossy().into_owned(), f)));
        } else {
            found.push((path.clone(), real.to_path_buf()));
        }
    }
    (found, unread)
}

fn from_stdin(stdio: Stdio, check: bool) -> anyhow::Result<i32> {
    let text = match super::shared::read_all(stdio.input) {
        Ok(text) => text,
        Err(why) => {
            complain(&format!("error: {why}"));
            return Ok(1);
        }
    };
    let formatted = tools::format_text(&text);
    let changes = matches!(formatted, Formatted::Changed(_));
    let result = match formatted {
        Formatted::Changed(new) => new,
        Formatted::Same => text,
        Formatted::Refused(obstacles) => {
            refuse("<stdin>", &obstacles);
            text
        }
    };
    if !check {
        let mut out = Out::new(stdio.output);
        out.text(&result)?;
        out.flush()?;
    }
    Ok(i32::from(check && changes))
}

fn refuse(shown: &str, obstacles: &[tools::Obstacle]) {
    for o in obstacles {
        complain(&format!(
            "{shown}:{}:{}: {}: {}",
            o.line, o.col, o.code, o.title
        ));
    }
}
