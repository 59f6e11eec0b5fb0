//! What the protocol has no words for, and the child tells its log and, for a person's command, a file that is removed with
//! it: why its start or a call of its model failed, tokens, and whether a turn had all the responses that it may have.

use std::io::{Read as _, Seek as _, SeekFrom};

use consumer::local_agent::Launch;
use serde_json::Value;
use tempfile::NamedTempFile;

/// Most bytes that are read of it, and most reasons that are kept of one kind.
const MAX_BYTES: u64 = 1 << 20;
const MOST: usize = 64;

/// What was told, as far as it was read.
#[derive(Default)]
pub(crate) struct Reasons {
    /// `None` where there is no place for it: then nothing is told.
    file: Option<NamedTempFile>,
    /// Up to the end of the last whole line.
    read: u64,
    start: Vec<String>,
    /// Ids of activities, and why they failed; those that nobody asked for yet.
    #[cfg_attr(not(any(feature = "try", feature = "chat")), allow(dead_code))]
    calls: Vec<(String, String)>,
    tokens: Tokens,
    has_no_responses_left: bool,
}

/// Tokens that were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

impl Reasons {
    /// Lets the child that is launched tell them. The file is the person's alone.
    pub(crate) fn begin(launch: &mut Launch) -> Self {
        let file = NamedTempFile::with_prefix("magi-code-").ok();
        if let Some(file) = &file {
            launch.args.push("--reasons".into());
            launch.args.push(file.path().into());
        }
        Self {
            file,
            ..Self::default()
        }
    }

    /// Why the start was refused, a line each.
    pub(crate) fn of_the_start(&mut self) -> Vec<String> {
        self.read_on();
        std::mem::take(&mut self.start)
    }

    /// The first line of why a call failed, if there is more to say than its card does.
    #[cfg(any(feature = "try", feature = "chat"))]
    pub(crate) fn of_call(&mut self, activity: &str) -> Option<String> {
        self.read_on();
        let at = self.calls.iter().position(|(id, _)| id == activity)?;
        Some(self.calls.remove(at).1)
    }

    /// What was counted in all.
    #[cfg(any(feature = "exec", feature = "chat"))]
    pub(crate) fn tokens(&mut self) -> Tokens {
        self.read_on();
        self.tokens
    }

    /// Whether a turn ended since it would have needed more responses than it may have.
    #[cfg_attr(not(feature = "exec"), allow(dead_code))]
    pub(crate) fn has_no_responses_left(&mut self) -> bool {
        self.read_on();
        self.has_no_responses_left
    }

    /// What was told since; the child has told it before it says on the wire that something failed.
    fn read_on(&mut self) {
        let Some(file) = &mut self.file else { return };
        let mut text = Vec::new();
        let file = file.as_file_mut();
        let read = file
            .seek(SeekFrom::Start(self.read))
            .and_then(|_| file.take(MAX_BYTES).read_to_end(&mut text));
        if read.is_err() {
            return;
        }
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            if !line.ends_with(b"\n") {
                break;
            }
            self.read += line.len() as u64;
            if let Ok(told) = serde_json::from_slice(line) {
                self.take(&told);
            }
        }
    }

    fn take(&mut self, told: &Value) {
        let text = |name: &str| told[name].as_str().map(str::to_owned);
        if let (Some(activity), Some(words)) = (text("activity"), text("words")) {
            // Those of subagents' calls are never asked for.
            if self.calls.len() == MOST {
                self.calls.remove(0);
            }
            self.calls.push((activity, words));
        } else if let (Some(input), Some(output)) =
            (told["input"].as_u64(), told["output"].as_u64())
        {
            let tokens = &mut self.tokens;
            tokens.input = tokens.input.saturating_add(input);
            tokens.output = tokens.output.saturating_add(output);
        } else if told["primary"].as_bool() == Some(true) {
            self.has_no_responses_left = true;
        } else if let Some(reason) = text("reason")
            && self.start.len() < MOST
        {
            self.start.push(reason);
        }
    }
}
