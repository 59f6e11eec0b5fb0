//! The HTTP client of whatever asks a server of others, a model's or a tool's: encryption, proxies, no redirects; and the
//! listener that a browser comes back to (`loopback`). What is asked and what an answer means is the caller's.

pub mod loopback;

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Url};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// How long a connection without a request is kept: servers close theirs about then.
const IDLE: Duration = Duration::from_secs(55);

/// A client for the servers at the address `url`, which waits at most `connect` for a connection. Reads the system's
/// certificates for `https`.
///
/// # Errors
/// When those cannot be read, or the client cannot be set up.
pub fn client(url: &Url, connect: Duration) -> Result<Client, Box<dyn Error + Send + Sync>> {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(crypto).with_safe_default_protocol_versions()?;
    let tls = match url.scheme() {
        "https" => tls.with_platform_verifier()?,
        // The system's certificates are read only for who needs them.
        _ => tls.with_root_certificates(RootCertStore::empty()),
    };
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls.with_no_client_auth())
        .user_agent(concat!("magi-code/", env!("CARGO_PKG_VERSION")))
        // A redirect would take credentials and the conversation somewhere else.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(connect)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true);
    if is_loopback(url) {
        // A proxy cannot reach this machine's own servers.
        builder = builder.no_proxy();
    }
    Ok(builder.build()?)
}

/// Whether an address is one of this machine's own.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn this_machine_is_never_behind_a_proxy() {
        let loopback = |url| is_loopback(&Url::parse(url).unwrap());
        for url in [
            "http://127.0.0.1:1",
            "http://127.9.9.9",
            "http://LOCALHOST",
            "https://[::1]/v1",
        ] {
            assert!(loopback(url), "{url}");
        }
        for url in ["http://10.0.0.1", "https://localhost.example"] {
            assert!(!loopback(url), "{url}");
        }
    }
}
