//! A look at the configuration: what startup does, without starting anything, and everything that it would say.
//! How it is shown is the caller's matter.

use store::Reason;
use tokio_util::sync::CancellationToken;

use super::admitted::admit;
use super::error::redacted;
use super::{Environment, StartupError, StartupStatus};

/// What is wrong with a configuration, and what is ignored of it. Redacted; never for the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    /// Why startup fails; it does not if there are none.
    pub problems: Vec<Reason>,
    /// What is ignored or left out.
    pub notices: Vec<Reason>,
}

/// Looks at the configuration as startup does. Creates the home directory where it is missing, asks no provider and
/// runs nothing. Blocks.
#[must_use]
pub fn examine(environment: &Environment) -> Examination {
    let stop = CancellationToken::new();
    let mut reached = StartupStatus::default();
    let mut found = Examination::default();
    match admit(environment, &mut reached, &stop) {
        Ok(admitted) => {
            if let Err(error) = admitted.select() {
                found.problems = error.reasons;
            }
            found.notices = admitted.notices().to_vec();
        }
        Err(error) => {
            found.problems = error.reasons;
            found.notices = reached.notices;
        }
    }
    // A start goes on without them: only what needs a login fails later.
    let credentials = || Ok::<_, StartupError>(store::auth::check(&environment.home()?)?);
    if reached.context_id.is_some()
        && let Err(error) = credentials()
    {
        let reasons = redacted(error.reasons, &environment.redactor());
        found.notices.extend(reasons);
    }
    found
}
