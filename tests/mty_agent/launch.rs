//! The command line of `mty agent`: what is a usage error, what warns (toolchain digest, section 2).

use crate::support::Launch;
use crate::wire::*;

fn usage_error(args: &[&str]) {
    let (out, exit) = run(Launch::new(BIN, args), format!("{HALT}\n"));
    assert_eq!(exit.code, Some(2), "{args:?}: {out}{}", exit.stderr);
    assert_eq!(out, "", "{args:?}");
    assert!(!exit.stderr.is_empty(), "{args:?} says nothing");
}

#[test]
fn unknown_transport_is_a_usage_error() {
    for transport in ["bogus", "HTTP", "tcp", "", "stdio,http"] {
        usage_error(&["agent", "--transport", transport]);
    }
}

#[test]
fn unusable_command_lines_exit_2_with_clean_stdout() {
    for args in [
        &["agent", "--transport"][..],
        &["agent", "--nonsense"],
        &["agent", "surplus"],
        &["nonsense"],
        &["agent", "--record"],
        &["agent", "--replay"],
        #[cfg(feature = "http")]
        &["agent", "--transport", "http", "--port", "notaport"],
        #[cfg(feature = "http")]
        &["agent", "--transport", "http", "--port", "65536"],
        #[cfg(feature = "unix")]
        &["agent", "--transport", "unix"],
    ] {
        usage_error(args);
    }
}

#[cfg(feature = "http")]
#[test]
fn unusable_listen_address_exits_2() {
    for address in [
        "nonsense",
        "127.0.0.1",
        ":",
        "127.0.0.1:99999",
        "/tmp/x.sock",
    ] {
        let (_, exit) = run(launch(&["--transport", "http", "--listen", address]), "");
        assert_eq!(exit.code, Some(2), "{address}");
    }
}

#[test]
fn single_shot_is_refused_on_other_transports() {
    #[cfg(feature = "http")]
    usage_error(&["agent", "--single-shot", "--transport", "http"]);
    #[cfg(feature = "unix")]
    usage_error(&[
        "agent",
        "--single-shot",
        "--transport",
        "unix",
        "--listen",
        "x.sock",
    ]);
}

#[test]
fn auth_token_is_ignored_on_stdio() {
    let (out, exit) = run(launch(&["--auth-token", "t"]), format!("{HALT}\n"));
    assert_eq!(out, format!("{HALTED}\n{DONE_0}\n"));
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
}

#[test]
fn transport_stdio_is_the_default() {
    let (default, _) = run(launch(&[]), format!("{EXPLAIN}\n{HALT}\n"));
    let (named, exit) = run(
        launch(&["--transport", "stdio"]),
        format!("{EXPLAIN}\n{HALT}\n"),
    );
    assert_eq!(default, named);
    assert_eq!(exit.code, Some(0));
}

#[test]
fn version_and_help_exit_0() {
    for args in [&["--version"][..], &["--help"], &["agent", "--help"]] {
        let (out, exit) = run(Launch::new(BIN, args), "");
        assert_eq!(exit.code, Some(0), "{args:?}");
        assert!(!out.is_empty(), "{args:?}");
    }
    let (out, _) = run(Launch::new(BIN, &["--version"]), "");
    assert!(out.contains(env!("CARGO_PKG_VERSION")), "{out}");
}

#[cfg(feature = "http")]
mod bind {
    use std::net::{Ipv4Addr, SocketAddr};

    use rustix::process::Signal;

    use super::*;
    use crate::client::free_address;
    use crate::server::HttpServer;

    /// What the server says on stderr between its start and its end by SIGTERM.
    fn said(listen_on: Ipv4Addr, args: &[&str]) -> String {
        let address = free_address();
        let listen = SocketAddr::new(listen_on.into(), address.port()).to_string();
        let all = [&["--transport", "http", "--listen", &listen], args].concat();
        let mut http = HttpServer::wait(launch(&all), address).expect("it listens");
        http.server.signal(Signal::TERM);
        http.server.wait_exit().stderr
    }

    /// Lines that warn; one that only tells the address is not one of them.
    fn warnings(said: &str) -> usize {
        said.lines().filter(|line| line.contains("warning")).count()
    }

    #[test]
    fn bind_beyond_loopback_without_token_warns_once() {
        let said = said(Ipv4Addr::UNSPECIFIED, &[]);
        assert_eq!(warnings(&said), 1, "{said}");
        assert!(said.contains("--auth-token"), "{said}");
    }

    #[test]
    fn bind_beyond_loopback_with_token_does_not_warn() {
        assert_eq!(
            warnings(&said(Ipv4Addr::UNSPECIFIED, &["--auth-token", "t"])),
            0
        );
    }

    #[test]
    fn bind_on_loopback_does_not_warn() {
        assert_eq!(warnings(&said(Ipv4Addr::LOCALHOST, &[])), 0);
    }
}
