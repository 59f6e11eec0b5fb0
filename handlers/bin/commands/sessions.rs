//! `magi-code sessions`: what is kept of earlier conversations, to look at, to take along, to remove.
//! Reads and writes no session itself; it asks and shows.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, IsTerminal as _, Read as _, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use handlers::configuration::{Reason, lines};
use handlers::sessions::{
    Archive, ExportError, Form, Listed, Listing, Pruned, age, archive, size, stamp, write,
};
use host::transport::Stdio;
use serde_json::json;

use crate::program::{Run, complain, open_output, print};

/// Sessions that a list shows by itself.
const SHOWN: usize = 20;
/// Longest directory in a list, in characters.
const MAX_PLACE: usize = 32;

const STATUSES: &str = "0 it is done, 1 it is not, for reasons that stand on stderr (no such session, somebody is attached to \
    it, something can't be read), 2 the command line is wrong.";

/// List, show, export and remove the conversations that are kept
#[derive(clap::Args)]
#[command(after_help = concat!("\
Examples:
  magi-code sessions list
  magi-code sessions prune --dry-run

Exit status: 0 it is done, 1 it is not, for reasons that stand on stderr, 2 the command line is wrong."))]
pub(crate) struct Sessions {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// One session a line, the one with the newest last record first
    #[command(after_help = format!("\
Examples:
  magi-code sessions list
  magi-code sessions list --cwd
  magi-code sessions list --all --json

Exit status: {STATUSES}"))]
    List {
        /// Those of the current directory only
        #[arg(long)]
        cwd: bool,
        /// Not only the newest 20
        #[arg(long)]
        all: bool,
        /// One JSON object with `sessions`
        #[arg(long)]
        json: bool,
    },
    /// What was said and done in a session, as text
    #[command(after_help = format!("\
Examples:
  magi-code sessions show 2b6f0c1e

Exit status: {STATUSES}"))]
    Show {
        /// Its id, or a beginning that no other id has
        id: String,
    },
    /// A session to take along: Markdown, JSON, or a page of HTML that needs nothing else; on standard output
    #[command(after_help = format!("\
Examples:
  magi-code sessions export 2b6f0c1e --html > session.html
  magi-code sessions export 2b6f0c1e --json > session.json

Secrets that are known or look like one are masked. What tools read and wrote stands in --html and --json: look before
you pass one on.

Exit status: {STATUSES}"))]
    Export {
        /// Its id, or a beginning that no other id has
        id: String,
        /// What was said, and a line for each activity; the default
        #[arg(long, conflicts_with_all = ["json", "html"])]
        markdown: bool,
        /// One object with `turns`
        #[arg(long, conflicts_with = "html")]
        json: bool,
        /// One page with timeline, usage and costs
        #[arg(long)]
        html: bool,
    },
    /// Remove a session and everything of it; asks on a terminal
    #[command(after_help = format!("\
Examples:
  magi-code sessions rm 2b6f0c1e-66d1-4c1a-9a0e-0c0c2f8a3c11

Exit status: {STATUSES}"))]
    Rm {
        /// Its id; on a terminal a beginning that no other id has will do
        id: String,
    },
    /// Remove the sessions whose last record is older than `retention_days`; asks on a terminal
    #[command(after_help = format!("\
Examples:
  magi-code sessions prune --dry-run
  magi-code sessions prune

Each session is kept as long as the settings of its directory say; 0 is for ever. Sessions that somebody is attached to
stay.

Exit status: {STATUSES}"))]
    Prune {
        /// Only say which would be removed
        #[arg(long)]
        dry_run: bool,
    },
}

impl Run for Sessions {
    const NAME: &'static str = "sessions";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let archive = match archive() {
            Ok(archive) => archive,
            Err(reasons) => return Ok(refused(&reasons)),
        };
        let done = match self.command {
            Command::List { cwd, all, json } => list(&archive, cwd, all, json, &stdio),
            Command::Show { id } => return put_out(&archive, &id, Form::Text, stdio),
            Command::Export { id, json, html, .. } => {
                let form = match (json, html) {
                    (true, _) => Form::Json,
                    (_, true) => Form::Html,
                    _ => Form::Markdown,
                };
                return put_out(&archive, &id, form, stdio);
            }
            Command::Rm { id } => remove(&archive, &id, &stdio),
            Command::Prune { dry_run } => return prune(&archive, dry_run, stdio),
        };
        match done {
            Ok(text) => print(stdio, &text),
            Err(why) => Ok(said(&why)),
        }
    }
}

fn refused(reasons: &[Reason]) -> i32 {
    reasons.iter().for_each(|reason| complain(&lines(reason)));
    1
}

fn said(why: &str) -> i32 {
    complain(&format!("magi-code: {why}"));
    1
}

fn list(
    archive: &Archive,
    here: bool,
    all: bool,
    as_json: bool,
    stdio: &Stdio,
) -> Result<String, String> {
    let here = match here {
        true => Some(std::env::current_dir().map_err(|error| error.to_string())?),
        false => None,
    };
    let limit = (!all).then_some(SHOWN);
    let found = archive.list(limit, here.as_deref());
    let found = found.map_err(|error| archive.words(&error))?;
    if as_json {
        let session = |session: &Listed| {
            json!({
                "id": session.id.as_str(),
                "last_at": stamp(session.last_at),
                "bytes": session.bytes,
                "title": session.title.as_ref().map(|title| title.as_str()),
                "cwd": session.cwd.as_ref().map(|cwd| cwd.as_str()),
            })
        };
        let sessions: Vec<_> = found.sessions.iter().map(session).collect();
        let object = json!({"sessions": sessions, "more": found.more, "unusable": found.unusable});
        return Ok(format!("{object}\n"));
    }
    if found.unusable > 0 {
        complain(&format!(
            "{} can't be read and are not listed",
            counted(found.unusable)
        ));
    }
    Ok(table(&found, width(stdio)))
}

/// A line for each session, as wide as the terminal if it is one.
fn table(found: &Listing, width: Option<usize>) -> String {
    if found.sessions.is_empty() {
        return "there are no sessions\n".to_owned();
    }
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let home = std::env::home_dir();
    let home = home
        .as_ref()
        .map(|home| home.to_string_lossy())
        .filter(|home| home.len() > 1);
    let head = ["ID", "AGE", "SIZE", "DIRECTORY", "TITLE"].map(str::to_owned);
    let mut rows = vec![head];
    for session in &found.sessions {
        let place = session.cwd.as_ref().map_or("", |cwd| cwd.as_str());
        let below = home.as_ref().and_then(|home| place.strip_prefix(&**home));
        let below = below.filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let place = below.map_or_else(|| place.to_owned(), |rest| format!("~{rest}"));
        let title = session.title.as_ref().map_or("", |title| title.as_str());
        rows.push([
            session.id.to_string(),
            age(now.saturating_sub(session.last_at)),
            size(session.bytes),
            last(&place, MAX_PLACE),
            handlers::configuration::on_a_line(title),
        ]);
    }
    let widest = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 4] = std::array::from_fn(widest);
    let mut text = String::new();
    for row in &rows {
        let columns = row
            .iter()
            .zip(widths)
            .map(|(word, width)| format!("{word:width$}  "));
        let line: String = columns.chain(row.last().cloned()).collect();
        let line = match width {
            Some(width) => first(&line, width),
            None => line,
        };
        text += line.trim_end();
        text.push('\n');
    }
    if found.more > 0 {
        text += &format!("… and {} more; --all lists them\n", found.more);
    }
    text
}

/// The columns of the terminal that standard output is.
fn width(stdio: &Stdio) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(&stdio.output).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// The first `most` characters.
fn first(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text
            .chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect(),
        None => text.to_owned(),
    }
}

/// The last `most` characters.
fn last(text: &str, most: usize) -> String {
    let count = text.chars().count();
    match count > most {
        true => ['…']
            .into_iter()
            .chain(text.chars().skip(count - most + 1))
            .collect(),
        false => text.to_owned(),
    }
}

fn counted(count: usize) -> String {
    match count {
        1 => "1 session".to_owned(),
        _ => format!("{count} sessions"),
    }
}

/// Writes a session to standard output as it is read.
fn put_out(archive: &Archive, id: &str, form: Form, stdio: Stdio) -> anyhow::Result<i32> {
    let session = match archive.find(id) {
        Ok(session) => session,
        Err(why) => return Ok(said(&why)),
    };
    open_output()?;
    let mut out = BufWriter::with_capacity(64 * 1024, File::from(stdio.output));
    let written = write(archive, &session, form, &mut out);
    let flushed = out.flush();
    match written {
        Ok(()) => match flushed {
            Ok(()) => Ok(0),
            Err(error) => unwritten(error),
        },
        Err(ExportError::Write(error)) => unwritten(error),
        Err(ExportError::Read(error)) => {
            let why = archive.words(&error);
            Ok(said(&format!("not all of the session can be read: {why}")))
        }
    }
}

/// Who reads no further needs no word.
fn unwritten(error: io::Error) -> anyhow::Result<i32> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(1),
        _ => Err(error.into()),
    }
}

fn remove(archive: &Archive, id: &str, stdio: &Stdio) -> Result<String, String> {
    let session = archive.find(id)?;
    let title = session
        .title
        .as_ref()
        .map_or("without a question", |title| title.as_str());
    let title = handlers::configuration::on_a_line(title);
    let question = format!("Remove the session {} ({title})?", session.id);
    match agreed(stdio, &question) {
        Some(false) => return Err("nothing is removed".to_owned()),
        // Nobody sees which it would be.
        None if session.id.as_str() != id => {
            return Err("without a terminal, the whole id has to be given".to_owned());
        }
        _ => {}
    }
    let removed = archive.remove(&session.id);
    removed.map_err(|error| format!("the session is not removed: {}", archive.words(&error)))?;
    Ok(format!("removed {}\n", session.id))
}

fn prune(archive: &Archive, dry_run: bool, stdio: Stdio) -> anyhow::Result<i32> {
    let found = match archive.expired() {
        Ok(found) => found,
        Err(error) => return Ok(said(&archive.words(&error))),
    };
    let count = found.sessions.len();
    let ask = !dry_run && count > 0;
    if ask
        && agreed(
            &stdio,
            &format!("Remove {} that are older than their time?", counted(count)),
        ) == Some(false)
    {
        return Ok(said("nothing is removed"));
    }
    let Pruned {
        sessions,
        attached,
        refused: left,
    } = match dry_run {
        true => found,
        false => archive.prune(found),
    };
    let word = if dry_run {
        "would be removed"
    } else {
        "removed"
    };
    let mut text = String::new();
    for session in &sessions {
        text += &format!("{word}: {}\n", session.id);
    }
    text += &format!("{word}: {}\n", counted(sessions.len()));
    if attached > 0 {
        complain(&format!(
            "{} somebody is attached to stay",
            counted(attached)
        ));
    }
    print(stdio, &text)?;
    Ok(match left.is_empty() {
        true => 0,
        false => refused(&left),
    })
}

/// Whether a person says yes; `None` where there is nobody to ask.
fn agreed(stdio: &Stdio, question: &str) -> Option<bool> {
    /// Longest answer, in bytes.
    const MOST: u64 = 1024;
    if !stdio.input.is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    let mut said = io::stderr();
    let asked = write!(said, "{question} [y/N] ").and_then(|()| said.flush());
    let mut answer = String::new();
    let read = asked.and_then(|()| {
        let input = File::from(stdio.input.try_clone()?);
        BufReader::new(input.take(MOST)).read_line(&mut answer)
    });
    let answer = answer.trim();
    Some(read.is_ok() && (answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes")))
}
