//! Guidance: the instructions, skills and profiles of one process, and who the primary agent is.
//! What they mean for tools, model and prompt; reading them is the store's part.

use std::path::Path;
use std::sync::Arc;

use store::resources::{Instruction, Profile, Resources, Skill, Wanted};
use store::settings::Settings;
use store::{Home, Reason, Reasons};
use tokio_util::sync::CancellationToken;
use tools::ToolSpec;

use super::{Environment, StartupError};
use crate::prompt::{self, Parts};

/// The profile that is the primary agent's, if there is one of this name.
const PRIMARY: &str = "primary";

#[derive(Debug, Default)]
pub(crate) struct Guidance {
    instructions: Vec<Instruction>,
    /// Enabled ones, sorted by name.
    pub(crate) skills: Vec<Skill>,
    /// Enabled ones of subagents, sorted by name.
    pub(crate) profiles: Vec<Profile>,
    /// `None` is the built-in one: every tool, the selected model, nothing more to say.
    pub(crate) primary: Option<Profile>,
}

impl Guidance {
    /// Whether the prompt holds instructions of the person or the project.
    pub(crate) fn has_instructions(&self) -> bool {
        !self.instructions.is_empty()
    }

    /// Reads everything once; stops between two files when `stop` fires. What is left out is added to `notices`, also
    /// when something is not right. Blocks.
    pub(crate) fn load(
        home: &dyn Home,
        cwd: &Path,
        settings: &Settings,
        environment: &Environment,
        stop: &CancellationToken,
        notices: &mut Vec<Reason>,
    ) -> Result<Self, StartupError> {
        let wanted = Wanted {
            trusted: settings.trusted,
            projects: Some(&settings.projects),
            user_home: environment.user_home.as_deref(),
            instructions: &settings.instructions,
            tools: &tools::registered_names(),
        };
        let mut ignored = Reasons::default();
        let read = home.resources(cwd, wanted, &|| stop.is_cancelled(), &mut ignored);
        notices.extend(ignored.into_vec());
        let Resources {
            instructions,
            skills,
            mut profiles,
        } = read?;
        let primary = profiles
            .iter()
            .position(|profile| profile.name == PRIMARY)
            .map(|at| profiles.remove(at));
        Ok(Self {
            instructions,
            skills,
            profiles,
            primary,
        })
    }

    /// Lets the primary agent's profile choose the model. It beats the settings files and yields to the
    /// environment, whose provider may not even have that model. Returns why it does not count, if so: the profile of
    /// an untrusted project chooses among what the settings offer.
    pub(crate) fn choose_model(
        &self,
        settings: &mut Settings,
        environment: &Environment,
    ) -> Option<Reason> {
        let primary = self.primary.as_ref()?;
        let model = primary.model.as_ref()?;
        if environment.selects() {
            return None;
        }
        if primary.of_stranger && !settings.offers(&settings.provider, model) {
            return Some(Self::strange_model(primary));
        }
        settings.choose_model(model, &primary.named);
        None
    }

    /// Why the model of a profile does not count that a project wrote which is not trusted.
    pub(super) fn strange_model(profile: &Profile) -> Reason {
        let why =
            "a project that is not trusted chooses among the models that the global settings offer";
        Reason {
            reason: why.to_owned(),
            help: Some("name one of those, or run `magi-code trust` there".to_owned()),
            ..profile.named.clone()
        }
    }

    /// The enabled profile of this name that a subagent can have.
    pub(crate) fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The system prompt of the agent with this profile.
    pub(super) fn system(
        &self,
        workspace: &Path,
        tools: &[&ToolSpec],
        profile: Option<&Profile>,
        is_subagent: bool,
    ) -> Arc<str> {
        prompt::system(&Parts {
            is_subagent,
            workspace,
            tools,
            profile,
            instructions: &self.instructions,
            profiles: &self.profiles,
        })
        .into()
    }
}
