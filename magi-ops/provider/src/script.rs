//! Scripts of the offline provider: reading, strict checking, splitting into responses.
//! Nothing is played here, and nothing outside the script's own file is read.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use store::Object;

use crate::demonstration;
use crate::error::{ErrorKind, ProviderError};
use crate::play::{Pieces, Step};
use crate::response::Usage;

/// Longest script file, in bytes.
pub const MAX_SCRIPT_BYTES: u64 = 4 * 1024 * 1024;
/// Most pieces of one step.
const MAX_PIECES: u64 = 1_000_000;
/// Longest text of one step with its repetitions, in bytes. Above the 8 MiB of content that a
/// run may have, so that a script can reach that limit.
const MAX_STEP_TEXT: u64 = 64 * 1024 * 1024;
/// Longest single pause, in milliseconds: one hour.
const MAX_PAUSE_MS: u64 = 3_600_000;

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read the script {path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the script {path} is not a regular file")]
    NotAFile { path: PathBuf },
    #[error("the script {path} is longer than {MAX_SCRIPT_BYTES} bytes")]
    TooLong { path: PathBuf },
    /// `at` is the place inside the script, such as `turns[0].steps[2].chunks`.
    #[error("the script is invalid at {at}: {reason}")]
    Invalid { at: String, reason: String },
}

fn invalid(at: impl Into<String>, reason: impl ToString) -> ScriptError {
    ScriptError::Invalid {
        at: at.into(),
        reason: reason.to_string(),
    }
}

impl From<ScriptError> for ProviderError {
    fn from(error: ScriptError) -> Self {
        Self::new(ErrorKind::ScriptInvalid).with_source(error)
    }
}

/// Per turn its responses, per response its steps. Never empty.
type Turns = Vec<Vec<Arc<[Step]>>>;

/// A checked script.
#[derive(Debug)]
pub(crate) struct Script {
    turns: Turns,
    /// How the prompts begin that open other conversations, and what is played there.
    tasks: Vec<(String, Turns)>,
    /// What answers a request for a summary.
    compaction: Option<Arc<[Step]>>,
}

impl Script {
    /// Reads and checks the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, ScriptError> {
        let io = |source| ScriptError::Io {
            path: path.to_owned(),
            source,
        };
        // Looked at before it is opened: opening a FIFO waits for a writer.
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Err(ScriptError::NotAFile {
                path: path.to_owned(),
            });
        }
        let mut bytes = Vec::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_SCRIPT_BYTES + 1).read_to_end(&mut bytes))
            .map_err(io)?;
        if bytes.len() as u64 > MAX_SCRIPT_BYTES {
            return Err(ScriptError::TooLong {
                path: path.to_owned(),
            });
        }
        Self::parse(&bytes)
    }

    /// Checks a script's text.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ScriptError> {
        let mut source = serde_json::Deserializer::from_slice(bytes);
        let Object(raw): Object<RawScript> = serde_path_to_error::deserialize(&mut source)
            .map_err(|error| invalid(error.path().to_string(), error.inner()))?;
        source.end().map_err(|error| invalid(".", error))?;
        let mut tasks = Vec::with_capacity(raw.tasks.len());
        for (index, Object(task)) in raw.tasks.into_iter().enumerate() {
            let at = format!("tasks[{index}].");
            tasks.push((task.prompt, checked(task.turns, &at)?));
        }
        let compaction = raw.compaction.map(|Object(raw)| raw.check("compaction"));
        Ok(Self {
            turns: checked(raw.turns, "")?,
            tasks,
            compaction: compaction
                .transpose()?
                .and_then(|all| all.into_iter().next()),
        })
    }

    /// The steps that answer a request for a summary.
    pub(crate) fn summary(&self) -> Arc<[Step]> {
        let own = self.compaction.clone();
        own.unwrap_or_else(demonstration::summary)
    }

    /// The steps of one response in a conversation that `prompt` opened. The last turn repeats; past a turn's last
    /// response there is nothing more to say, which ends the turn.
    pub(crate) fn response(&self, prompt: &str, turn: usize, response: usize) -> Arc<[Step]> {
        let mut tasks = self.tasks.iter();
        let task = tasks.find(|(beginning, _)| prompt.starts_with(beginning.as_str()));
        let turns = task.map_or(&self.turns, |(_, turns)| turns);
        let turn = turn.min(turns.len() - 1);
        turns[turn]
            .get(response)
            .cloned()
            .unwrap_or_else(|| Arc::from([]))
    }
}

/// Checks the turns that stand in the script behind `at`.
fn checked(raw: Vec<Object<RawTurn>>, at: &str) -> Result<Turns, ScriptError> {
    if raw.is_empty() {
        let why = "a script needs at least one turn";
        return Err(invalid(format!("{at}turns"), why));
    }
    let mut turns = Vec::with_capacity(raw.len());
    for (turn, Object(raw)) in raw.into_iter().enumerate() {
        turns.push(raw.check(&format!("{at}turns[{turn}]"))?);
    }
    Ok(turns)
}

/// A failure is written as its word: serde's enums would also take an object of it and null.
fn word<'de, D: Deserializer<'de>>(source: D) -> Result<Option<ErrorKind>, D::Error> {
    let word = Option::<String>::deserialize(source)?;
    word.map(|word| RawError::deserialize(word.into_deserializer()))
        .transpose()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    turns: Vec<Object<RawTurn>>,
    #[serde(default)]
    tasks: Vec<Object<RawTask>>,
    compaction: Option<Object<RawTurn>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTask {
    prompt: String,
    turns: Vec<Object<RawTurn>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTurn {
    steps: Vec<Object<RawStep>>,
}

impl RawTurn {
    /// The responses of what stands at `place` in the script.
    fn check(self, place: &str) -> Result<Vec<Arc<[Step]>>, ScriptError> {
        let mut responses = Vec::new();
        let mut steps = Vec::new();
        for (index, Object(raw)) in self.steps.into_iter().enumerate() {
            let ends = raw.tool.is_some() && raw.together != Some(true);
            let step = raw.check().map_err(|(field, reason)| match field {
                "" => invalid(format!("{place}.steps[{index}]"), reason),
                _ => invalid(format!("{place}.steps[{index}].{field}"), reason),
            })?;
            steps.push(step);
            if ends {
                responses.push(std::mem::take(&mut steps).into());
            }
        }
        responses.push(steps.into());
        Ok(responses)
    }
}

/// Every field of every kind of step: one flat struct, because an untagged enum could only say
/// that nothing matched, and not what is wrong.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    reasoning: Option<String>,
    provider_summary: Option<bool>,
    text: Option<String>,
    chunks: Option<u64>,
    delay_ms: Option<u64>,
    repeat: Option<u64>,
    tool: Option<String>,
    input: Option<Value>,
    together: Option<bool>,
    usage: Option<Object<Usage>>,
    #[serde(default, deserialize_with = "word")]
    error: Option<ErrorKind>,
    wait_ms: Option<u64>,
}

/// The kinds that a script may name.
#[derive(Deserialize)]
#[serde(remote = "ErrorKind", rename_all = "snake_case")]
enum RawError {
    RateLimited,
    Overloaded,
    Unauthorized,
    Network,
    Malformed,
    ContextLength,
}

/// The field at fault ("" for the step itself) and what is wrong with it.
type Fault = (&'static str, String);

impl RawStep {
    fn check(self) -> Result<Step, Fault> {
        let kinds = [
            ("reasoning", self.reasoning.is_some()),
            ("text", self.text.is_some()),
            ("tool", self.tool.is_some()),
            ("usage", self.usage.is_some()),
            ("error", self.error.is_some()),
            ("wait_ms", self.wait_ms.is_some()),
        ];
        let mut named = kinds
            .iter()
            .filter(|(_, there)| *there)
            .map(|(kind, _)| *kind);
        let Some(kind) = named.next() else {
            return Err((
                "",
                "a step is one of reasoning, text, tool, usage, error, wait_ms".to_owned(),
            ));
        };
        if let Some(other) = named.next() {
            return Err((other, format!("a step with {kind} cannot have {other} too")));
        }
        let options = [
            (
                "provider_summary",
                self.provider_summary.is_some(),
                "reasoning",
            ),
            ("chunks", self.chunks.is_some(), "text"),
            ("delay_ms", self.delay_ms.is_some(), "text"),
            ("repeat", self.repeat.is_some(), "text"),
            ("input", self.input.is_some(), "tool"),
            ("together", self.together.is_some(), "tool"),
        ];
        for (option, there, owner) in options {
            if there && owner != kind {
                return Err((option, format!("{option} belongs to a {owner} step")));
            }
        }
        if let Some(text) = self.text {
            if self.chunks.is_some() && self.repeat.is_some() {
                return Err(("repeat", "repeat and chunks exclude each other".to_owned()));
            }
            let pieces = match (self.chunks, self.repeat) {
                (Some(count), _) => Pieces::Even(within("chunks", count, 1, MAX_PIECES)? as usize),
                (None, Some(times)) => {
                    let times = within("repeat", times, 1, MAX_PIECES)?;
                    if times.saturating_mul(text.len() as u64) > MAX_STEP_TEXT {
                        return Err((
                            "repeat",
                            format!("the repeated text is longer than {MAX_STEP_TEXT} bytes"),
                        ));
                    }
                    Pieces::Repeat(times as usize)
                }
                (None, None) => Pieces::Even(1),
            };
            let delay = within("delay_ms", self.delay_ms.unwrap_or(0), 0, MAX_PAUSE_MS)?;
            return Ok(Step::Text {
                text,
                pieces,
                delay: Duration::from_millis(delay),
            });
        }
        if let Some(text) = self.reasoning {
            return Ok(Step::Reasoning {
                text,
                provider_summary: self.provider_summary.unwrap_or(false),
            });
        }
        if let Some(name) = self.tool {
            if name.is_empty() {
                return Err(("tool", "a tool needs a name".to_owned()));
            }
            return Ok(Step::Tool {
                name,
                input: self.input.unwrap_or_else(|| json!({})),
            });
        }
        if let Some(Object(usage)) = self.usage {
            return Ok(Step::Usage(usage));
        }
        if let Some(error) = self.error {
            return Ok(Step::Error(error));
        }
        let wait = within("wait_ms", self.wait_ms.unwrap_or(0), 0, MAX_PAUSE_MS)?;
        Ok(Step::Wait(Duration::from_millis(wait)))
    }
}

fn within(field: &'static str, value: u64, least: u64, most: u64) -> Result<u64, Fault> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err((field, format!("{field} must be from {least} to {most}")))
    }
}
