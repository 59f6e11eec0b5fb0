//! A server over streamable HTTP: the client, its bounds, and what its requests carry.
//! Credentials of a login stand in `login`.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::error::StartCause;
use crate::lines::MAX_MESSAGE_BYTES;

/// For a connection to come about; a start has more in all.
const CONNECT_TIME: Duration = Duration::from_secs(8);
/// How long a connection without a request is kept: servers close theirs about then.
const IDLE: Duration = Duration::from_secs(55);
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

/// The client for one server. The one crypto library and the system's certificates, as for models.
pub(crate) fn client(url: &Url) -> Result<reqwest::Client, StartCause> {
    let tls = || -> Result<rustls::ClientConfig, rustls::Error> {
        use rustls_platform_verifier::BuilderVerifierExt as _;
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()?;
        // The system's certificates are read only for who needs them.
        Ok(match url.scheme() {
            "https" => config.with_platform_verifier()?.with_no_client_auth(),
            _ => config
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth(),
        })
    };
    let failed = |error: Box<dyn Error + Send + Sync>| StartCause::Client(error);
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls().map_err(|error| failed(error.into()))?)
        .user_agent(concat!("magi-code/", env!("CARGO_PKG_VERSION")))
        // A redirect would take the headers and the conversation somewhere else.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIME)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true);
    if is_loopback(url) {
        // A proxy cannot reach this machine's own servers.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| failed(error.into()))
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
