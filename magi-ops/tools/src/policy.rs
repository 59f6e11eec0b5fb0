//! Whether a call may be made: the settings' words, what the rules say about a command line, and what holds by
//! default. What a call would touch is looked at by its tool; asking a person is the engine's matter.

use std::collections::{BTreeMap, BTreeSet};

use store::settings::{Permission, SNIPPETS};

use crate::access::{Access, DefaultPolicy};

pub use crate::rules::{Rules, Ruling, Why};

/// What the settings and the profile say about tools.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    words: BTreeMap<String, Permission>,
    /// The words that hold before those where a snippet calls.
    snippets: Option<BTreeMap<String, Permission>>,
    /// What the agent does not have, whatever the words say.
    left_out: BTreeSet<String>,
}

/// Whether a call may be made, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub permission: Permission,
    reason: Reason,
    /// Whether a snippet makes the call.
    in_snippet: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    /// The agent does not have the tool: by its profile, or where it stands among subagents.
    LeftOut,
    /// `permissions.<tool>`.
    Word,
    /// `permissions.code.<tool>`.
    SnippetWord,
    /// A rule of `permissions.<tool>.allow`.
    AllowRule,
    /// This rule of `permissions.<tool>.deny`.
    DenyRule(String),
    /// A command line that no rule may allow.
    Asks(Why),
    /// `permissions.<tool>.default`: no rule decides.
    RuleDefault,
    /// What the tool says of the call.
    Default,
}

impl Policy {
    /// A word for each tool that has one.
    #[must_use]
    pub fn new(words: BTreeMap<String, Permission>) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }

    /// The same for an agent without these tools.
    #[must_use]
    pub fn without(mut self, tools: impl IntoIterator<Item = String>) -> Self {
        self.left_out.extend(tools);
        self
    }

    /// The same for calls of snippets: there a word of `words` holds in place of the tool's own, whether it is
    /// stricter or laxer. For command lines it holds in place of the default and of all `allow` rules; no `deny` rule
    /// yields to it, and what no rule can allow is asked for.
    #[must_use]
    pub fn of_snippets(&self, words: BTreeMap<String, Permission>) -> Self {
        Self {
            snippets: Some(words),
            ..self.clone()
        }
    }

    /// The word of each tool that has one.
    pub fn words(&self) -> &BTreeMap<String, Permission> {
        &self.words
    }

    /// The words that hold before those in snippets.
    pub fn snippet_words(&self) -> &BTreeMap<String, Permission> {
        const NONE: &BTreeMap<String, Permission> = &BTreeMap::new();
        self.snippets.as_ref().unwrap_or(NONE)
    }

    /// The word for a tool whose calls are not looked at one by one.
    pub fn word(&self, tool: &str) -> Option<Permission> {
        if self.left_out.contains(tool) {
            return Some(Permission::Deny);
        }
        let own = || self.words.get(tool).copied();
        self.snippet_word(tool).or_else(own)
    }

    fn snippet_word(&self, tool: &str) -> Option<Permission> {
        self.snippets.as_ref()?.get(tool).copied()
    }

    /// Decides about a call that was looked at.
    pub fn decide(&self, tool: &str, access: &Access) -> Decision {
        let word = self.word(tool);
        let decide = |permission, reason| Decision {
            permission,
            reason,
            in_snippet: self.snippets.is_some(),
        };
        if self.left_out.contains(tool) {
            // What the settings deny too is for them to say.
            return match self.words.get(tool) {
                Some(Permission::Deny) => decide(Permission::Deny, Reason::Word),
                _ => decide(Permission::Deny, Reason::LeftOut),
            };
        }
        if let Some(word) = self.snippet_word(tool) {
            return match (&access.ruling, word) {
                (_, Permission::Deny) => decide(word, Reason::SnippetWord),
                (Some((Ruling::Denied(rule), _)), _) => {
                    decide(Permission::Deny, Reason::DenyRule(rule.clone()))
                }
                (Some((Ruling::Asks(why), _)), _) => decide(Permission::Ask, Reason::Asks(*why)),
                _ => decide(word, Reason::SnippetWord),
            };
        }
        match (&access.ruling, word) {
            (_, Some(Permission::Deny)) => decide(Permission::Deny, Reason::Word),
            (Some((Ruling::Denied(rule), _)), _) => {
                decide(Permission::Deny, Reason::DenyRule(rule.clone()))
            }
            (Some((Ruling::Allowed, _)), _) => decide(Permission::Allow, Reason::AllowRule),
            (Some((Ruling::Asks(why), Permission::Deny)), _) => {
                decide(Permission::Deny, Reason::Asks(*why))
            }
            (Some((Ruling::Asks(why), _)), _) => decide(Permission::Ask, Reason::Asks(*why)),
            (Some((Ruling::Default, default)), _) => decide(*default, Reason::RuleDefault),
            (None, Some(word)) => decide(word, Reason::Word),
            (None, None) => match access.default {
                DefaultPolicy::Allow => decide(Permission::Allow, Reason::Default),
                DefaultPolicy::Ask => decide(Permission::Ask, Reason::Default),
            },
        }
    }
}

impl Decision {
    /// The reason as a closed word, for a log.
    pub fn rule(&self) -> &'static str {
        match &self.reason {
            Reason::LeftOut => "left_out",
            Reason::Word => "word",
            Reason::SnippetWord => "snippet_word",
            Reason::AllowRule => "allow",
            Reason::DenyRule(_) => "deny",
            Reason::Asks(why) => why.word(),
            Reason::RuleDefault => "default",
            Reason::Default => "tool",
        }
    }

    /// The decision as a closed word, for a log.
    pub fn word(&self) -> &'static str {
        match self.permission {
            Permission::Allow => "allow",
            Permission::Ask => "ask",
            Permission::Deny => "deny",
        }
    }

    /// For a model whose call is denied.
    pub fn denial(&self, tool: &str) -> String {
        match &self.reason {
            Reason::LeftOut => "This agent does not have this tool: its profile leaves it out, or a subagent at this \
                depth has none."
                .to_owned(),
            Reason::DenyRule(rule) => format!(
                "The settings deny this command (permissions.{tool}.deny: {rule:?}). It was not run."
            ),
            Reason::Asks(why) => format!(
                "The settings deny what no rule allows (permissions.{tool}.default), and no rule can allow this: {}.",
                why.sentence()
            ),
            Reason::RuleDefault => format!(
                "The settings deny this command: no rule of permissions.{tool}.allow matches it."
            ),
            Reason::SnippetWord => {
                format!("The settings deny this tool in snippets (permissions.{SNIPPETS}.{tool}).")
            }
            _ => format!("The settings deny this tool (permissions.{tool})."),
        }
    }

    /// For a person: by what a call is denied.
    pub fn denied_by(&self) -> &'static str {
        match self.reason {
            Reason::LeftOut => "not this agent's tool",
            _ => "denied by the settings",
        }
    }

    /// For a model whose call would have to be asked for where nobody can be.
    pub fn unasked(&self, tool: &str) -> String {
        let start = "Nobody can be asked for permission here";
        let end = "in settings.json would allow it, from the next start of this process on.";
        let key = match self.in_snippet {
            true => format!("{SNIPPETS}.{tool}"),
            false => tool.to_owned(),
        };
        match &self.reason {
            Reason::Asks(why) => format!(
                "{start}, and no rule can allow this: {}. `permissions.{tool}` set to `allow` {end}",
                why.sentence()
            ),
            _ => format!("{start}; `permissions.{key}` set to `allow` {end}"),
        }
    }
}

impl Why {
    fn word(self) -> &'static str {
        match self {
            Self::Substitution => "substitution",
            Self::Redirection => "redirection",
            Self::Unknown => "unknown_command",
            Self::Characters => "characters",
            Self::Complex => "complex",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Substitution => "the command line has a substitution",
            Self::Redirection => {
                "the command line reads or writes a file that is not plainly in the workspace"
            }
            Self::Unknown => "what the command line runs is not known before it runs",
            Self::Characters => "the command line has characters that can't be seen",
            Self::Complex => "the command line is too long or too complex",
        }
    }
}
