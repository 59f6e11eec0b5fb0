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

#[test]
fn options_of_another_transport_are_usage_errors() {
    for args in [
        &["agent", "--port", "9090"][..],
        &["agent", "--listen", "127.0.0.1:0"],
        &["agent", "--socket", "x.sock"],
        &["agent", "--record", "a", "--replay", "b"],
        &["agent", "--single-shot", "--replay", "b"],
        #[cfg(feature = "http")]
        &["agent", "--transport", "http", "--socket", "x.sock"],
        #[cfg(feature = "unix")]
        &[
            "agent",
            "--transport",
            "unix",
            "--listen",
            "x.sock",
            "--port",
            "9090",
        ],
    ] {
        usage_error(args);
    }
}

#[cfg(feature = "http")]
#[test]
fn token_that_no_header_can_carry_is_a_usage_error() {
    for token in ["", " ", "\t\n", " t", "t ", "a\nb", "a\u{7f}b"] {
        usage_error(&[
            "agent",
            "--transport",
            "http",
            "--port",
            "0",
            "--auth-token",
            token,
        ]);
    }
    for token in [" ", "t\n"] {
        let launch = launch(&["--transport", "http", "--port", "0"]).env("MTY_AUTH_TOKEN", token);
        let (out, exit) = run(launch, "");
        assert_eq!((out.as_str(), exit.code), ("", Some(2)), "{}", exit.stderr);
        assert!(exit.stderr.contains("MTY_AUTH_TOKEN"), "{}", exit.stderr);
    }
}

/// The child behind a shell that changes what it inherits.
fn behind_shell(script: &str, args: &[&str]) -> Launch {
    let script = format!("{script}; exec \"$0\" agent \"$@\"");
    Launch::new("/bin/sh", &[&["-c", &script, BIN], args].concat())
}

#[test]
fn closed_descriptors_are_told() {
    for args in [&[][..], &["--single-shot"]] {
        for script in [
            "exec >&-",
            "exec <&-",
            "exec 1</dev/null",
            "exec 0>/dev/null",
        ] {
            let (_, exit) = run(behind_shell(script, args), format!("{HALT}\n"));
            assert_eq!(exit.code, Some(2), "{script}");
            assert_eq!(exit.stderr.lines().count(), 1, "{script}: {}", exit.stderr);
        }
    }
    // Whoever asks for that gets it.
    let (_, exit) = run(behind_shell("exec > /dev/null", &[]), format!("{HALT}\n"));
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
}

#[test]
fn unreadable_stdin_is_told() {
    let place = crate::support::Place::new();
    let folder = place.work();
    for args in [&[][..], &["--single-shot"]] {
        let script = format!("exec < '{}'", folder.display());
        let (out, exit) = run(behind_shell(&script, args), "");
        assert_eq!((out.as_str(), exit.code), ("", Some(2)));
        assert_eq!(exit.stderr.lines().count(), 1, "{}", exit.stderr);
        assert!(
            exit.stderr.contains("requests cannot be read"),
            "{}",
            exit.stderr
        );
    }
}

#[test]
fn lost_answer_is_told() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    for args in [&[][..], &["--single-shot"]] {
        let (_, exit) = run(behind_shell("exec > /dev/full", args), format!("{HALT}\n"));
        assert_eq!(exit.code, Some(2));
        assert_eq!(exit.stderr.lines().count(), 1, "{}", exit.stderr);
        assert!(
            exit.stderr.contains("an answer was lost"),
            "{}",
            exit.stderr
        );
    }
}

#[test]
fn answers_past_the_file_size_limit_are_told() {
    let place = crate::support::Place::new();
    let out = place.root().join("out");
    let script = format!("ulimit -f 1; exec > '{}'", out.display());
    let (_, exit) = run(
        behind_shell(&script, &[]),
        format!("{EXPLAIN}\n").repeat(20),
    );
    assert_eq!(exit.code, Some(2), "{:?}", exit.status);
    assert!(
        exit.stderr.contains("an answer was lost"),
        "{}",
        exit.stderr
    );
}

#[test]
fn small_limits_are_refused_with_a_reason() {
    let descriptors = [4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 28, 32, 40].map(|n| ("n", n));
    let memory = (12..64).step_by(4).map(|mib| ("v", mib * 1024));
    for (which, limit) in descriptors.into_iter().chain(memory) {
        for args in [&[][..], &["--single-shot"]] {
            let script = format!("ulimit -{which} {limit}");
            let (out, exit) = run(behind_shell(&script, args), format!("{HALT}\n"));
            assert!(
                !exit.stderr.contains("panicked"),
                "{script}: {}",
                exit.stderr
            );
            match exit.code {
                Some(0) => assert_eq!(out, format!("{HALTED}\n{DONE_0}\n"), "{script}"),
                Some(2 | 127) => assert!(!exit.stderr.is_empty(), "{script} says nothing"),
                // The loader, or an allocation: there is nobody left to refuse anything.
                None if which == "v" => {}
                other => panic!("{script}: {other:?}: {}", exit.stderr),
            }
        }
    }
}

#[test]
fn help_lists_the_exit_codes() {
    let (out, _) = run(launch(&["--help"]), "");
    for code in ["0", "1", "2"] {
        let told = |line: &str| line.trim_start().starts_with(&format!("{code}  "));
        assert!(out.lines().any(told), "{out}");
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
    use crate::client::Request;
    use crate::client::free_address;
    use crate::server::HttpServer;
    use crate::support::Server;

    /// What the server says on stderr between its start and its end by SIGTERM.
    fn said(listen_on: Ipv4Addr, args: &[&str]) -> String {
        let address = free_address();
        let listen = SocketAddr::new(listen_on.into(), address.port()).to_string();
        let all = [&["--transport", "http", "--listen", &listen], args].concat();
        let mut http = HttpServer::wait(launch(&all), address).expect("it listens");
        http.server.signal(Signal::TERM);
        http.server.wait_exit().stderr
    }

    /// A server on a port of the system's choice, and the line that tells it.
    fn on_any_port(launch: &Launch) -> (Server, String) {
        use std::io::{BufRead, BufReader, pipe};
        let (errors, child_err) = pipe().unwrap();
        let (unused, _) = pipe().unwrap();
        let null = std::process::Stdio::null;
        let server = Server::spawn_with(launch, null(), null(), child_err.into(), unused);
        let mut line = String::new();
        BufReader::new(errors).read_line(&mut line).unwrap();
        (server, line)
    }

    #[test]
    fn bound_address_is_told_on_stderr() {
        let (_server, line) = on_any_port(&launch(&["--transport", "http", "--port", "0"]));
        let address = line
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.strip_suffix('\n'))
            .unwrap_or_else(|| panic!("{line}"));
        let address: SocketAddr = address.parse().unwrap();
        assert_ne!(address.port(), 0);
        assert_eq!(
            Request::post("/v1/agent", EXPLAIN.as_bytes())
                .send(address)
                .status,
            200
        );
    }

    #[test]
    fn token_may_come_from_the_environment() {
        let with = |token: &str, args: &[&str]| {
            let all = [&["--transport", "http", "--port", "0"], args].concat();
            let (server, line) = on_any_port(&launch(&all).env("MTY_AUTH_TOKEN", token));
            let address = line.trim_end().rsplit('/').next().unwrap().parse().unwrap();
            let ask = |token: &str| {
                Request::post("/v1/agent", EXPLAIN.as_bytes())
                    .header("Authorization", format!("Bearer {token}"))
                    .send(address)
                    .status
            };
            let answers = (ask("env"), ask("flag"), ask("none"));
            drop(server);
            answers
        };
        assert_eq!(with("env", &[]), (200, 401, 401));
        assert_eq!(with("env", &["--auth-token", "flag"]), (401, 200, 401));
        assert_eq!(with("", &[]), (200, 200, 200), "empty counts as unset");
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
