//! `mty fix` (toolchain digest, section 6): applies fixes of a file, or of envelopes that somebody piped in.
//! Without `--apply` nothing happens.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use host::transport::Stdio;
use mighty::tools::{self, Candidate, Offer, Pick, Plan, Policy};
use serde::Deserialize;

use super::shared::Out;
use crate::program::{Run, complain, misuse};

/// Apply the fixes of diagnostics; without --apply nothing happens
#[derive(Args)]
#[command(after_help = "\
Examples:
  mty fix --apply --dry-run main.mty

Exit codes:
  0  something was applied, or there was nothing to do
  1  nothing fitted any more, a file could not be read or written, or standard input is no NDJSON
  2  usage")]
pub(crate) struct Fix {
    /// A source file, or a directory in a package
    path: Option<String>,
    /// Do it; without this nothing happens
    #[arg(long)]
    apply: bool,
    /// Only fixes of this code
    #[arg(long)]
    code: Option<String>,
    /// This alternative where it is sure enough, else the most confident one
    #[arg(long)]
    alternative: Option<usize>,
    /// Least confidence, 0 to 1
    #[arg(long, default_value_t = tools::DEFAULT_THRESHOLD)]
    threshold: f64,
    /// Print the diff and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Ask before each fix
    #[arg(long)]
    interactive: bool,
    /// Take envelopes from standard input, as `mty check --format json` prints them; only files of the package
    /// around the current directory, or below it, are changed
    #[arg(long)]
    from_stdin: bool,
}

/// What is read of an envelope; everything else in it is somebody else's.
#[derive(Deserialize)]
struct Envelope {
    code: String,
    span: Span,
    fix: Option<Offered>,
}

#[derive(Deserialize)]
struct Span {
    file: String,
    line: usize,
    col: usize,
}

#[derive(Deserialize)]
struct Offered {
    alternatives: Vec<Offer>,
}

/// Lines of other kinds may stand between envelopes.
#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

/// A file that has something to fix.
struct Target {
    shown: String,
    real: PathBuf,
    candidates: Vec<Candidate>,
}

impl Run for Fix {
    const NAME: &'static str = "fix";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        run(stdio, &self)
    }
}

fn run(stdio: Stdio, args: &Fix) -> anyhow::Result<i32> {
    if args.interactive && args.from_stdin {
        return Ok(misuse::<Fix>(
            "--interactive and --from-stdin both want standard input",
        ));
    }
    if !(0.0..=1.0).contains(&args.threshold) {
        return Ok(misuse::<Fix>("--threshold is a number from 0 to 1"));
    }
    let code = match args
        .code
        .as_deref()
        .map(str::parse::<tools::Code>)
        .transpose()
    {
        Ok(code) => code.map(|c| c.to_string()),
        Err(error) => return Ok(misuse::<Fix>(&format!("--code: {error}"))),
    };
    if !args.apply {
        let hint =
            "nothing was done: --apply applies fixes, and shows them as a diff with --dry-run";
        complain(hint);
        return Ok(0);
    }
    if args.path.is_none() && !args.from_stdin {
        return Ok(misuse::<Fix>("--apply needs a path, or --from-stdin"));
    }
    let policy = Policy {
        code,
        alternative: args.alternative,
        threshold: args.threshold,
    };
    let Stdio { input, output } = stdio;
    let (targets, answers) = if args.from_stdin {
        let targets =
            super::shared::read_all(input).and_then(|text| piped(&text, args.path.as_deref()));
        (targets, None)
    } else {
        let targets = checked(args.path.as_deref().unwrap_or_default());
        (
            targets,
            args.interactive.then(|| BufReader::new(File::from(input))),
        )
    };
    let targets = match targets {
        Ok(targets) => targets,
        Err(why) => {
            complain(&format!("error: {why}"));
            return Ok(1);
        }
    };
    let mut work = Work {
        dry_run: args.dry_run,
        answers,
        out: Out::new(output),
        applied: BTreeMap::new(),
        unapplied: 0,
        failed: false,
    };
    for target in targets {
        work.file(&policy, target)?;
    }
    work.finish()
}

/// The files of a checked path that have fixes.
fn checked(path: &str) -> Result<Vec<Target>, String> {
    let is_dir = Path::new(path).is_dir();
    let mut targets = Vec::new();
    let mut reported = tools::Reported::default();
    for one in super::shared::check_path(path, |_, _| {}) {
        let mut one = one.map_err(|(path, error)| error.about(&path))?;
        one.keep_new(&mut reported);
        for (at, file) in one.loaded.files.iter().enumerate() {
            // A named file does not stand for the rest of its package.
            if !is_dir && one.loaded.named != Some(at) {
                continue;
            }
            let own = one.envelopes.iter().filter(|e| e.span.file == file.shown);
            let candidates: Vec<Candidate> = own.filter_map(candidate).collect();
            if !candidates.is_empty() {
                targets.push(Target {
                    shown: file.shown.clone(),
                    real: file.real.clone(),
                    candidates,
                });
            }
        }
    }
    Ok(targets)
}

fn candidate(envelope: &tools::Envelope) -> Option<Candidate> {
    let fix = envelope.fix.as_ref()?;
    Some(Candidate {
        code: envelope.code.to_string(),
        line: envelope.span.line,
        col: envelope.span.col,
        offers: fix
            .alternatives
            .iter()
            .map(|a| Offer {
                label: a.label.clone(),
                diff: a.diff.clone(),
                confidence: a.confidence.value(),
            })
            .collect(),
    })
}

/// The file of piped envelopes: the named one, else the first that one of them is about.
fn piped(text: &str, path: Option<&str>) -> Result<Vec<Target>, String> {
    let mut envelopes: Vec<Envelope> = Vec::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, l)| !l.trim().is_empty())
    {
        let malformed = |e: serde_json::Error| format!("standard input, line {}: {e}", at + 1);
        let kind: Kind = serde_json::from_str(line).map_err(malformed)?;
        if kind.kind.is_none_or(|k| k == "envelope") {
            envelopes.push(serde_json::from_str(line).map_err(malformed)?);
        }
    }
    let Some(first) = envelopes.first() else {
        return Ok(Vec::new());
    };
    let shown = path.unwrap_or(&first.span.file).to_owned();
    let real = PathBuf::from(&shown);
    // Whoever wrote the envelopes chose the file: no other project's, and none of the person's own.
    let root =
        tools::project_root().map_err(|e| format!("cannot tell the current directory: {e}"))?;
    if let Ok(target) = real.canonicalize()
        && !target.starts_with(&root)
    {
        return Err(format!("{shown} is outside {}", root.display()));
    }
    let place = real.canonicalize().ok();
    let is_meant = |file: &str| {
        file == shown || (place.is_some() && Path::new(file).canonicalize().ok() == place)
    };
    let candidates: Vec<Candidate> = envelopes
        .into_iter()
        .filter(|e| is_meant(&e.span.file))
        .filter_map(|e| {
            Some(Candidate {
                code: e.code,
                line: e.span.line,
                col: e.span.col,
                offers: e.fix?.alternatives,
            })
        })
        .collect();
    Ok(vec![Target {
        shown,
        real,
        candidates,
    }])
}

struct Work {
    dry_run: bool,
    /// Where answers come from, if somebody is asked.
    answers: Option<BufReader<File>>,
    out: Out,
    applied: BTreeMap<String, usize>,
    unapplied: usize,
    failed: bool,
}

impl Work {
    fn file(&mut self, policy: &Policy, target: Target) -> anyhow::Result<()> {
        let picks = policy.pick(target.candidates);
        if picks.is_empty() {
            return Ok(());
        }
        let text = match tools::read_source(&target.real) {
            Ok(text) => text,
            Err(error) => {
                complain(&format!("error: {}", error.about(&target.shown)));
                self.failed = true;
                return Ok(());
            }
        };
        let mut plan = Plan::new(&text);
        let mut taken: Vec<Pick> = Vec::new();
        for pick in picks {
            if !self.wanted(&pick)? {
                continue;
            }
            if plan.take(&pick) {
                taken.push(pick);
            } else {
                self.unapplied += 1;
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
        if self.dry_run {
            if let Some(diff) = plan.diff(&target.shown) {
                self.out.text(&diff)?;
            }
        } else if let Err(error) = tools::write_source(&target.real, &plan.result()) {
            complain(&format!("error: cannot write {}: {error}", target.shown));
            self.failed = true;
            return Ok(());
        }
        for pick in taken {
            complain(&format!("applied {} — {}", pick.code, pick.label));
            *self.applied.entry(pick.code).or_default() += 1;
        }
        Ok(())
    }

    /// Asks, if somebody is to be asked. The end of the answers is a no.
    fn wanted(&mut self, pick: &Pick) -> anyhow::Result<bool> {
        let Some(answers) = &mut self.answers else {
            return Ok(true);
        };
        complain(&format!(
            "{}apply {} — {}? [y/N]",
            pick.diff, pick.code, pick.label
        ));
        let mut answer = String::new();
        answers.read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    fn finish(self) -> anyhow::Result<i32> {
        let total: usize = self.applied.values().sum();
        let codes: Vec<String> = self
            .applied
            .iter()
            .map(|(c, n)| format!("{c} ×{n}"))
            .collect();
        let codes = if codes.is_empty() {
            String::new()
        } else {
            format!(" ({})", codes.join(", "))
        };
        complain(&format!(
            "Applied {total} fixes{codes}, {} unapplied",
            self.unapplied
        ));
        self.out.flush()?;
        Ok(i32::from(self.failed || total == 0 && self.unapplied > 0))
    }
}
