//! `mty check` (toolchain digest, section 4): files and directories, in three formats.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use host::transport::Stdio;
use mighty::tools::{self, Checked, Document};

use super::pretty::{Pretty, tally};
use super::shared::Out;
use super::terminal::Terminal;
use crate::program::{Run, complain};

/// Check programs and report what is wrong with them
#[derive(Args)]
#[command(after_help = "\
Examples:
  mty check main.mty
  mty check --format json src

Exit codes:
  0  no error; warnings may be
  1  an error was found, or a path could not be read
  2  usage")]
pub(crate) struct Check {
    /// Source files, or directories; inside a package all of its sources are checked together
    #[arg(required = true)]
    paths: Vec<String>,
    /// pretty: reports on standard error; json: an envelope a line; json-result: one document a path
    #[arg(long, value_enum, default_value_t = Format::Pretty)]
    format: Format,
    /// The same as --format json-result
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// json: embed the line of each diagnostic and one on either side
    #[arg(long)]
    include_source: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Pretty,
    Json,
    JsonResult,
}

impl Run for Check {
    const NAME: &'static str = "check";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        run(stdio, &self)
    }
}

fn run(stdio: Stdio, args: &Check) -> anyhow::Result<i32> {
    let format = if args.json {
        Format::JsonResult
    } else {
        args.format
    };
    let terminal = Terminal::of_stderr();
    let pretty = Pretty::new(terminal);
    let mut out = Out::new(stdio.output);
    let mut status = 0;
    // What two paths have in common, say a package, is told once.
    let mut reported = tools::Reported::default();
    let mut all = Vec::new();
    let mut cut = BTreeSet::new();
    for path in &args.paths {
        let progress = terminal.progress();
        progress.say(format!("checking {path}"));
        let found = super::shared::check_path(path, |done, total| {
            progress.say(format!("checking {path}: {done} of {total}"));
        });
        drop(progress);
        let mut checked = Vec::new();
        let mut failed = false;
        for one in found {
            match one {
                Ok(one) => checked.push(one),
                Err((path, error)) => {
                    complain(&format!("error: {}", error.about(&path)));
                    failed = true;
                }
            }
        }
        if failed || checked.iter().any(Checked::has_errors) {
            status = 1;
        } else if format == Format::Pretty {
            out.line(&format!("ok: {path}"))?;
        }
        if checked.iter().any(|one| one.cut) {
            cut.insert(path);
        }
        if format == Format::JsonResult {
            // A document is the whole answer about its path.
            let mut reported = tools::Reported::default();
            for one in &mut checked {
                one.keep_new(&mut reported);
            }
            let mut document = Document::new(path, &checked);
            if failed {
                document.failed();
            }
            out.line(&serde_json::to_string(&document)?)?;
            continue;
        }
        for mut one in checked {
            one.keep_new(&mut reported);
            match format {
                Format::Json => {
                    for envelope in &one.envelopes {
                        let source = args.include_source.then(|| one.snippet(envelope));
                        let line = tools::line(envelope, source.flatten());
                        out.line(&serde_json::to_string(&line)?)?;
                    }
                }
                _ => show(&pretty, &one),
            }
            all.push(one);
        }
    }
    let tally = tally(&all);
    if format == Format::Pretty && !tally.is_empty() {
        complain(&tally);
    }
    for path in cut {
        complain(&format!("{path}: {}", tools::CUT));
    }
    out.flush()?;
    Ok(status)
}

fn show(pretty: &Pretty, checked: &Checked) {
    for envelope in &checked.envelopes {
        let file = checked
            .loaded
            .files
            .iter()
            .find(|f| f.shown == envelope.span.file);
        let text = file.map_or("", |f| &*f.text);
        complain(&format!("{}\n", pretty.report(envelope, text)));
    }
}
