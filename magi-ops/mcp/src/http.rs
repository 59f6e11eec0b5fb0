//! A server over streamable HTTP: the client, its bounds, and what its requests carry.
//! Credentials of a login stand in `login`.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::worker::{Worker, WorkerTransport};

use crate::error::StartCause;
use crate::lines::MAX_MESSAGE_BYTES;

/// For a connection to come about; a start has more in all.
const CONNECT_TIME: Duration = Duration::from_secs(8);
/// Most bytes of a refusal's body that are told.
const MAX_REFUSAL_BYTES: usize = 1024;

/// Where a server is. Credentials belong into headers or a login, not into an address.
pub(crate) fn address(url: &str) -> Result<Url, StartCause> {
    let refused = |why: String| StartCause::Address(why);
    let url = Url::parse(url).map_err(|error| refused(error.to_string()))?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none();
    match plain {
        true => Ok(url),
        false => Err(refused(
            "it is no http or https address without a name and a password".to_owned(),
        )),
    }
}

/// The bounds of a connection, and the headers that the settings add.
pub(crate) fn config(
    url: &Url,
    headers: &BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransportConfig, StartCause> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let refused = |why: &dyn Error| StartCause::Address(format!("the header `{name}`: {why}"));
        let header = HeaderName::try_from(name).map_err(|error| refused(&error))?;
        let mut value = HeaderValue::try_from(value).map_err(|error| refused(&error))?;
        value.set_sensitive(true);
        custom.insert(header, value);
    }
    Ok(StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(custom)
        .max_sse_event_size(MAX_MESSAGE_BYTES)
        .max_json_response_size(MAX_MESSAGE_BYTES)
        .max_error_response_size(MAX_REFUSAL_BYTES))
}

/// The transport of a server over HTTP. At its end nobody reads what the server still says, and the SDK's own would wait
/// for that instead of ending the session.
pub(crate) struct Drained<W: Worker>(pub(crate) WorkerTransport<W>);

impl<W: Worker<Role = RoleClient>> Transport<RoleClient> for Drained<W> {
    type Error = W::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), W::Error>> + Send + 'static {
        self.0.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.0.receive()
    }

    async fn close(&mut self) -> Result<(), W::Error> {
        self.0.cancel_token().cancel();
        while self.0.receive().await.is_some() {}
        self.0.close().await
    }
}

/// The client for one server.
pub(crate) fn client(url: &Url) -> Result<reqwest::Client, StartCause> {
    web::client(url, CONNECT_TIME).map_err(StartCause::Client)
}
