//! `magi-code models`: which models there are, by provider.
//! How they become known is no matter of this file.

use handlers::models::{Offer, models};
use host::transport::Stdio;

use crate::program::{Run, complain, print};

/// List the models of a provider, one a line, as far as they are known
#[derive(clap::Args)]
#[command(after_help = "\
Without a provider the models of all are listed, as PROVIDER/MODEL. No server is asked without --refresh: what one said is \
kept for the next time, and counts for a day.

Examples:
  magi-code models
  magi-code models anthropic
  magi-code models --refresh anthropic

Exit status: 0 the list is there, 1 it is not, or the server could not be asked, for reasons that stand on stderr, 2 the \
command line is wrong.")]
pub(crate) struct Models {
    /// Ask the provider's server first; without a provider that of the selected one
    #[arg(long)]
    refresh: bool,
    /// The provider, by its id in the settings
    provider: Option<String>,
}

impl Run for Models {
    const NAME: &'static str = "models";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let offers = match models(self.provider.as_deref(), self.refresh) {
            Ok(offers) => offers,
            Err(why) => {
                complain(&why);
                return Ok(1);
            }
        };
        let mut text = String::new();
        for offer in &offers {
            for model in &offer.models {
                match self.provider {
                    Some(_) => text += model,
                    None => text += &format!("{}/{model}", offer.provider),
                }
                text.push('\n');
            }
        }
        let status = print(stdio, &text)?;
        for why in offers.iter().filter_map(remark) {
            complain(&why);
        }
        let failed = offers.iter().any(|offer| offer.failure.is_some());
        Ok(if failed { 1 } else { status })
    }
}

/// What is to be said of a provider beside its models.
fn remark(offer: &Offer) -> Option<String> {
    use handlers::models::State;
    let Offer { provider, .. } = offer;
    if let Some(failure) = &offer.failure {
        return Some(format!("{provider}: {failure}"));
    }
    let ask = format!("`magi-code models --refresh {provider}` asks its server");
    match offer.state {
        State::Fresh => None,
        State::Stale => Some(format!("{provider}: this list is old; {ask}")),
        State::Unavailable => Some(format!("{provider}: its models are not known; {ask}")),
    }
}
