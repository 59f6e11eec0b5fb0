//! Asking a provider's server for its models: pages, a credential that is refused once, details of single models; bounded in
//! time, bytes and count. What the answers say is each wire's.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::http::{Ask, Endpoint, Fetched};
use super::json::plain;
use super::listing::{Page, ReadEntry};
use crate::credential::{Credential, CredentialError, CredentialSource};
use crate::discovered::{Discover, Discovered, DiscoveredModel, MAX_DISCOVERED};
use crate::error::{ErrorKind, ProviderError};

/// For all of it.
const TIME: Duration = Duration::from_secs(30);
/// Of that, what is left for the list when details have taken the rest.
const DETAILS_TIME: Duration = Duration::from_secs(25);
/// Bytes of all pages together.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of the details of one model.
const MAX_DETAILS_BYTES: usize = 4 * 1024 * 1024;
/// Details that are asked for at once.
const DETAILS_AT_ONCE: usize = 8;

/// How the servers of one provider are asked for their models.
pub(crate) struct Listing {
    pub(crate) endpoint: Endpoint,
    /// Of every page.
    pub(crate) query: Vec<(&'static str, String)>,
    /// The name under which a further page is asked for.
    pub(crate) page: &'static str,
    pub(crate) entry: ReadEntry,
    pub(crate) details: Option<Details>,
}

/// What a server says of single models only.
pub(crate) struct Details {
    pub(crate) endpoint: Endpoint,
    /// The question for one of the models that were listed, if it is to be asked.
    pub(crate) ask: fn(&DiscoveredModel, usize) -> Option<Option<Value>>,
    /// Adds what the answer says; `false` for what is no model to speak with.
    pub(crate) read: fn(&Value, &mut DiscoveredModel) -> bool,
}

impl Discover for Listing {
    fn ask<'a>(
        &'a self,
        credentials: &'a dyn CredentialSource,
        etag: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Discovered, ProviderError>> {
        Box::pin(async move {
            let begun = Instant::now();
            let asked = self.within(credentials, etag, begun + DETAILS_TIME);
            let late = |late| Err(ProviderError::new(ErrorKind::Stalled).with_source(late));
            let said = timeout_at(begun + TIME, asked).await.unwrap_or_else(late);
            said.map_err(|error| match error.kind() {
                ErrorKind::NoCredential => error,
                ErrorKind::Unauthorized => match credentials.origin() {
                    Some(origin) => error.or_about(&origin),
                    None => error.or_about(&self.endpoint.place()),
                },
                _ => error.or_about(&self.endpoint.place()),
            })
        })
    }
}

fn uncredited(error: CredentialError) -> ProviderError {
    ProviderError::new(ErrorKind::NoCredential).with_source(error)
}

impl Listing {
    async fn within(
        &self,
        credentials: &dyn CredentialSource,
        etag: Option<&str>,
        details_until: Instant,
    ) -> Result<Discovered, ProviderError> {
        let mut credential = credentials.get().await.map_err(uncredited)?;
        let mut query = self.query.clone();
        let (mut room, mut models, mut tag) = (MAX_BYTES, Vec::new(), None);
        let mut pages = 0_u32;
        loop {
            let ask = Ask {
                query: &query,
                body: None,
                etag: etag.filter(|_| pages == 0),
            };
            let mut asked = self.endpoint.fetch(&ask, credential.as_ref(), room).await;
            if let (Err(error), Some(refused), 0) = (&asked, &credential, pages)
                && error.kind() == ErrorKind::Unauthorized
                && credentials
                    .rejected(&refused.secret)
                    .await
                    .map_err(uncredited)?
            {
                credential = credentials.get().await.map_err(uncredited)?;
                asked = self.endpoint.fetch(&ask, credential.as_ref(), room).await;
            }
            let (body, etag) = match asked? {
                Fetched::Unchanged => return Ok(Discovered::Unchanged),
                Fetched::Body { body, etag } => (body, etag),
            };
            pages += 1;
            room -= body.len();
            let page = Page::read(&body, self.entry)?;
            drop(body);
            let next = page.next();
            let is_empty = page.models.is_empty();
            models.extend(page.models);
            // A tag names one page.
            tag = etag
                .filter(|_| pages == 1 && next.is_none())
                .or(tag.filter(|_| pages == 1));
            let token = (self.page, next.unwrap_or_default());
            // Neither an end that never comes nor more than anybody keeps.
            if token.1.is_empty()
                || is_empty
                || query.contains(&token)
                || models.len() >= MAX_DISCOVERED
            {
                break;
            }
            query.retain(|(name, _)| *name != self.page);
            query.push(token);
        }
        models.truncate(MAX_DISCOVERED);
        if let Some(details) = &self.details {
            models = details
                .add_to(models, credential.as_ref(), details_until)
                .await;
        }
        Ok(Discovered::Models { models, etag: tag })
    }
}

impl Details {
    /// The models with what the server says of each. One of which it says nothing stays as it was listed.
    async fn add_to(
        &self,
        models: Vec<DiscoveredModel>,
        credential: Option<&Credential>,
        until: Instant,
    ) -> Vec<DiscoveredModel> {
        let count = models.len();
        let asked = models.into_iter().map(|model| async move {
            let Some(body) = (self.ask)(&model, count) else {
                return Some(model);
            };
            let ask = Ask {
                body,
                ..Ask::default()
            };
            let fetching = self.endpoint.fetch(&ask, credential, MAX_DETAILS_BYTES);
            let told = match timeout_at(until, fetching).await {
                Ok(Ok(Fetched::Body { body, .. })) => {
                    serde_json::from_str::<Value>(&plain(&body)).ok()
                }
                Ok(Ok(Fetched::Unchanged)) | Err(_) => None,
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a model's details are not told");
                    None
                }
            };
            let mut model = model;
            let speaks = told.is_none_or(|told| (self.read)(&told, &mut model));
            speaks.then_some(model)
        });
        let mut told = stream::iter(asked).buffered(DETAILS_AT_ONCE);
        let mut models = Vec::new();
        while let Some(model) = told.next().await {
            models.extend(model);
        }
        models
    }
}
