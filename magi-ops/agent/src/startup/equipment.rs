//! What a model works with in a run: what it is told, the tools it is offered, and whether a call of one may be made.
//! Made of a workspace, of the tools that joined since it was admitted, and of one agent's profile.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use store::resources::Profile;
use store::settings::{Permission, Settings};
use tools::policy::{Decision, Policy};
use tools::{Access, ToolSet, ToolSpec};

use super::guidance::Guidance;
use crate::compaction::tokens;

/// Words of the settings, by tool.
type Words = BTreeMap<String, Permission>;

/// What one agent works with. It never changes.
pub(crate) struct Equipment {
    /// All of them, denied ones too: a model may ask for what it is not offered.
    pub(crate) tools: ToolSet,
    /// The tools that the model is offered: all that are not denied.
    pub(crate) offered: Vec<provider::ToolSpec>,
    /// What it is told before the conversation.
    pub(crate) system: Arc<str>,
    /// See [`Self::around`].
    around: OnceLock<u64>,
    policy: Policy,
    /// For calls that calls make.
    beneath: Policy,
    /// Its role, which a subagent without a profile shares.
    role: Option<Profile>,
}

impl Equipment {
    /// `profile` says which tools the agent may use, and its role; `settings`, what of them is denied.
    pub(super) fn new(
        cwd: &Path,
        guidance: &Guidance,
        profile: Option<&Profile>,
        tools: ToolSet,
        settings: &Settings,
    ) -> Self {
        let policy = Policy::new(settings.permissions.clone());
        let snippets = settings.code.clone();
        Self::of_agent(cwd, guidance, profile, tools, (policy, snippets), false)
    }

    /// `words` are those of the settings about tools with what is left out already, and about tools in snippets.
    fn of_agent(
        cwd: &Path,
        guidance: &Guidance,
        profile: Option<&Profile>,
        tools: ToolSet,
        words: (Policy, Words),
        is_subagent: bool,
    ) -> Self {
        let allowed = profile.and_then(|profile| profile.tools.as_ref());
        let permits =
            |tool: &str| allowed.is_none_or(|tools| tools.iter().any(|name| name == tool));
        // Not offered, and refused to a model that asks for it all the same.
        let kept_away = tools.specs().filter(|spec| !permits(&spec.name));
        let (policy, snippets) = words;
        let policy = policy.without(kept_away.map(|spec| spec.name.clone()));
        let beneath = policy.of_snippets(snippets);
        let callable: Vec<_> = callable(&tools, &beneath).map(|spec| &**spec).collect();
        let prompted: Vec<_> = permitted(&tools, &policy)
            .map(|spec| tools.described(spec, &callable))
            .collect();
        let prompted: Vec<_> = prompted.iter().map(|spec| &**spec).collect();
        let offered = prompted.iter().map(|spec| provider::ToolSpec {
            name: spec.name.clone(),
            description: spec.description.clone(),
            input_schema: spec.input_schema.clone(),
        });
        Self {
            offered: offered.collect(),
            system: guidance.system(cwd, &prompted, profile, is_subagent),
            around: OnceLock::new(),
            tools,
            policy,
            beneath,
            role: profile.cloned(),
        }
    }

    /// What a subagent of this agent works with: the tools that `keeps` names, as far as this agent may use them and the
    /// profile does. Without a profile it has this agent's role.
    pub(crate) fn of_subagent(
        &self,
        cwd: &Path,
        guidance: &Guidance,
        profile: Option<&Profile>,
        keeps: impl Fn(&str) -> bool,
    ) -> Self {
        let kept_away = self.tools.specs().filter(|spec| !keeps(&spec.name));
        let kept_away = kept_away.map(|spec| spec.name.clone());
        let policy = self.policy.clone().without(kept_away);
        let snippets = self.beneath.snippet_words().clone();
        let role = profile.or(self.role.as_ref());
        let tools = self.tools.clone();
        Self::of_agent(cwd, guidance, role, tools, (policy, snippets), true)
    }

    /// About how many tokens stand around a conversation in each request: the prompt and the tools. Counted once, since
    /// the schemas of servers' tools may be megabytes.
    pub(crate) fn around(&self) -> u64 {
        *self.around.get_or_init(|| {
            let tools = self.offered.iter().map(|tool| {
                tokens(&tool.name)
                    + tokens(&tool.description)
                    + tokens(&tool.input_schema.to_string())
            });
            tokens(&self.system) + tools.sum::<u64>()
        })
    }

    /// The tools that a call may call, in the order in which they are offered.
    pub(crate) fn callable(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        callable(&self.tools, &self.beneath)
    }

    /// The tools that are not denied, to the model or to its calls, in the order in which they are offered.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        let denies = |policy: &Policy, name: &str| policy.word(name) == Some(Permission::Deny);
        let is_denied = move |name: &str| denies(&self.policy, name) && denies(&self.beneath, name);
        self.tools
            .specs()
            .filter(move |spec| !is_denied(&spec.name))
    }

    /// Whether a call may be made, by the model or beneath another one.
    pub(crate) fn decide(&self, tool: &str, access: &Access, is_beneath: bool) -> Decision {
        let policy = match is_beneath {
            true => &self.beneath,
            false => &self.policy,
        };
        let decision = policy.decide(tool, access);
        // A name as a model made it up is no word for a log.
        let known = self.tools.spec(tool).map_or("unknown", |spec| &spec.name);
        tracing::debug!(
            tool = known,
            decision = decision.word(),
            rule = decision.rule(),
            "a call is decided"
        );
        decision
    }
}

fn permitted<'a>(
    tools: &'a ToolSet,
    policy: &'a Policy,
) -> impl Iterator<Item = &'a Arc<ToolSpec>> {
    tools
        .specs()
        .filter(|spec| policy.word(&spec.name) != Some(Permission::Deny))
}

fn callable<'a>(tools: &'a ToolSet, policy: &'a Policy) -> impl Iterator<Item = &'a Arc<ToolSpec>> {
    permitted(tools, policy).filter(|spec| !spec.makes_calls)
}

impl std::fmt::Debug for Equipment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Equipment")
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
