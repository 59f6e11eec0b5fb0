//! MCP servers as settings define them, and what an approval is bound to.
//! Which of them may be started is decided in `approval`; nothing here starts one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::context::hex;
use crate::reason::Reason;

/// An MCP server as the settings define it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    /// What a start begins with; `None` where the definition has no such thing, or two.
    pub launch: Option<Launch>,
    pub state: ServerState,
    /// Whether its tools run without a question: the person's own word, beside the person's own definition that was
    /// approved.
    pub trust: bool,
    /// Whether that holds, or would once the definition is approved.
    pub is_trust_said: bool,
    /// Whether the approval is that of another definition of this name.
    pub is_other_approved: bool,
    /// What an approval of this definition says.
    pub digest: String,
    /// Where it is defined, for what is said of it.
    pub named: Reason,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// A program that is started here and talked to on its standard input and output.
    Command {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
    },
    /// A server over HTTP.
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

/// Whether a server may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    Approved,
    /// The person has not approved this definition.
    Waiting,
    /// The settings of the person or the project turn it off.
    Disabled,
    /// Its definition is none.
    Unusable,
    /// The person approved it, and it is defined nowhere here: in another project, or not any more.
    Elsewhere,
}

impl ServerState {
    /// As people read it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Waiting => "waiting for approval",
            Self::Disabled => "disabled",
            Self::Unusable => "cannot be started",
            Self::Elsewhere => "not defined here",
        }
    }
}

/// What a script's name ends with.
const SCRIPTS: [&str; 8] = [".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".jar"];

impl Launch {
    /// What of a command may be a file of the directory that it is started in, as far as its words tell.
    #[must_use]
    pub fn relative_word(&self) -> Option<&str> {
        let Self::Command { command, args, .. } = self else {
            return None;
        };
        // A home is told as what it is: nothing is put in for it.
        if command.contains('/') && !command.starts_with(['/', '~']) {
            return Some(command);
        }
        let is_relative = |word: &&str| matches!(*word, "." | "..") || is_relative_script(word);
        args.iter().map(String::as_str).find(is_relative)
    }

    /// The script that a known interpreter looks for in the directory that it is started in, and can't find in an empty
    /// one.
    #[must_use]
    pub fn relative_script(&self) -> Option<&str> {
        const INTERPRETERS: [&str; 7] = ["python", "node", "nodejs", "bun", "ruby", "perl", "java"];
        /// These stand in front of a script; others may take the next word for something else.
        const BEFORE: [&str; 4] = ["-u", "-B", "-jar", "--enable-source-maps"];
        let Self::Command { command, args, .. } = self else {
            return None;
        };
        let name = command.rsplit('/').next().unwrap_or_default();
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let mut words = args.iter().map(String::as_str);
        let first = words.find(|word| !BEFORE.contains(word));
        first.filter(|word| INTERPRETERS.contains(&name) && is_relative_script(word))
    }
}

fn is_relative_script(word: &str) -> bool {
    let is_script = !word.starts_with(['/', '-', '~', '@'])
        && !word.contains(':')
        && SCRIPTS.iter().any(|end| word.ends_with(end));
    is_script || word.starts_with("./") || word.starts_with("../")
}

/// Servers by name.
pub(super) type Servers = BTreeMap<String, ServerLayer>;

/// One MCP server: a command that is started, or an address.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(super) struct ServerLayer {
    /// The program of a server that is started here.
    pub(super) command: Option<String>,
    /// Its arguments.
    pub(super) args: Option<Vec<String>>,
    /// Variables of its environment.
    pub(super) env: Option<BTreeMap<String, String>>,
    /// The address of a server over HTTP.
    pub(super) url: Option<String>,
    /// What its requests carry.
    pub(super) headers: Option<BTreeMap<String, String>>,
    /// Whether it is started at all. Default true.
    pub(super) enabled: Option<bool>,
    /// The digest of the definition that the person approved. Global settings only.
    pub(super) approved: Option<String>,
    /// Whether its tools run without a question. Global settings only.
    pub(super) trust: Option<bool>,
}

/// What an approval is bound to: the members that a definition states, sorted.
#[derive(Serialize)]
struct Definition<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    args: &'a Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    env: &'a Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: &'a Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: &'a Option<String>,
}

impl ServerLayer {
    /// Whether it states a definition, and not only what holds for one.
    pub(super) fn is_stated(&self) -> bool {
        self.command.is_some()
            || self.args.is_some()
            || self.env.is_some()
            || self.url.is_some()
            || self.headers.is_some()
    }

    /// `None` without a command or an address, and with both.
    pub(super) fn launch(&self) -> Option<Launch> {
        match (&self.command, &self.url) {
            (Some(command), None) => Some(Launch::Command {
                command: command.clone(),
                args: self.args.clone().unwrap_or_default(),
                env: self.env.clone().unwrap_or_default(),
            }),
            (None, Some(url)) => Some(Launch::Http {
                url: url.clone(),
                headers: self.headers.clone().unwrap_or_default(),
            }),
            _ => None,
        }
    }

    /// `sha256:` and the hex digest of the definition's canonical JSON.
    pub(super) fn digest(&self) -> String {
        let definition = Definition {
            args: &self.args,
            command: &self.command,
            env: &self.env,
            headers: &self.headers,
            url: &self.url,
        };
        // Texts alone: there is nothing that JSON can't say.
        let json = serde_json::to_vec(&definition).unwrap_or_default();
        format!("sha256:{}", hex(&Sha256::digest(&json)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_approval_is_bound_to_what_the_definition_states() {
        let digest = |json: &str| serde_json::from_str::<ServerLayer>(json).unwrap().digest();
        let stated = digest(r#"{"env":{"B":"2","A":"1"},"command":"x","args":["a"]}"#);
        let json = br#"{"args":["a"],"command":"x","env":{"A":"1","B":"2"}}"#;
        assert_eq!(stated, format!("sha256:{}", hex(&Sha256::digest(json))));
        let other = r#"{"command":"x","args":["a"],"env":{"A":"1","B":"2"},"enabled":false,"trust":true,"approved":"x"}"#;
        assert_eq!(digest(other), stated);
        assert_ne!(
            digest(r#"{"command":"x"}"#),
            digest(r#"{"command":"x","args":[]}"#)
        );
    }
}
