//! What the command about models asks: which there are, and a server for its own.
//! No output: how it is shown is the command's matter.

pub use agent::CatalogState as State;
use agent::{Capacity, Engine, EngineError, Environment};

/// What a provider offers.
pub struct Offer {
    pub provider: String,
    pub state: State,
    /// Ids, in the catalog's order; those that can be selected.
    pub models: Vec<String>,
    /// Why its server could not be asked now, if it was to be.
    pub failure: Option<String>,
}

/// The models of `provider`, or of all. With `refresh` its server is asked first, without a provider that of the selected
/// one.
///
/// # Errors
/// Why nothing can be told.
pub fn models(provider: Option<&str>, refresh: bool) -> Result<Vec<Offer>, String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let environment = Environment::of_process().map_err(|error| failed(&error))?;
    let capacity = Capacity {
        sessions: 0,
        runs: 0,
    };
    let engine = Engine::new(environment, capacity);
    let runtime = host::resources::runtime().map_err(|error| failed(&error))?;
    let told = |error: &EngineError| engine.shown_reason(error);
    runtime.block_on(async {
        let offers = async {
            let (asked, all) = match provider {
                Some(provider) => (provider.to_owned(), vec![provider.to_owned()]),
                None => (engine.selected_provider()?, engine.providers()?),
            };
            let mut offers = Vec::new();
            for provider in all {
                let failure = match refresh && provider == asked {
                    true => refreshed(&engine, &provider).await?,
                    false => None,
                };
                let catalog = engine.catalog(&provider)?;
                let models = catalog.models(0..catalog.len()).into_iter();
                let models =
                    models.filter(|model| model.available || catalog.state() == State::Stale);
                offers.push(Offer {
                    state: catalog.state(),
                    models: models.map(|model| model.id).collect(),
                    failure: failure.as_ref().map(told),
                    provider,
                });
            }
            Ok(offers)
        };
        let offers = offers.await;
        // A login that is being renewed is stored first.
        engine.close().await;
        offers.map_err(|error: EngineError| told(&error))
    })
}

/// Why there is nothing new, if that is so.
async fn refreshed(
    engine: &std::sync::Arc<Engine>,
    provider: &str,
) -> Result<Option<EngineError>, EngineError> {
    match engine.refresh_catalog(provider.to_owned()).await {
        Ok(refreshed) => Ok(refreshed.failure),
        Err(error) if error.kind() == agent::ConfigurationErrorKind::Refresh.into() => {
            Ok(Some(error))
        }
        Err(error) => Err(error),
    }
}
