//! What a registration says is enforced, shown on a dialect and operations that only this crate knows.

use std::sync::Arc;

use extension::tiny::{RULES, Tiny};
use host::{Connection, Dialect, Engines, Workers};

use super::*;

#[test]
fn a_dialect_is_a_crate_and_no_edit() {
    let mut server = extended(Tiny::NAME);
    for (request, answer) in [
        (r#"1 add {"a":1,"b":2}"#, r#"1 ok {"sum":3}"#),
        (r#"1 add {"a":1,"b":2}"#, "1 no again"),
        (r#"2 add {"a":1}"#, "2 no unfit"),
        (r#"3 add {"a":1,"b":2,"c":3}"#, "3 no unfit"),
        ("4 sub {}", "4 no unknown"),
        (r#"5 add {"a":2147483647,"b":1}"#, "5 no much"),
        ("nothing", "? no garbled"),
    ] {
        server.send(format!("{request}\n"));
        let line = server.recv_line().unwrap();
        assert_eq!(String::from_utf8(line.bytes).unwrap(), answer, "{request}");
    }
    server.close_stdin();
    assert_eq!(server.wait_exit().code, Some(0));
    let registry = registry();
    let names: Vec<_> = registry.dialects().iter().map(|rules| rules.name).collect();
    assert_eq!(names, [APPLICATION_SERVICE, LOCAL_AGENT, MTY_AGENT, "tiny"]);
    let document = host::schema::document(&registry, &RULES);
    assert!(document["operations"]["add"].is_object(), "{document}");
}

#[test]
fn a_failure_that_is_not_declared_is_the_internal_one() {
    let mut server = extended(Tiny::NAME);
    // The handler says `garbled`, which its registration does not.
    server.send(r#"1 add {"a":-1,"b":-1}"#.to_owned() + "\n");
    let line = server.recv_line().unwrap();
    assert_eq!(line.bytes, b"1 no broken");
}

#[test]
fn a_missing_engine_is_refused_at_the_start() {
    let registry = Arc::new(registry());
    let server = host::Server {
        name: "x",
        version: "0",
        transports: &[],
    };
    // Our families work with an engine that is not supplied here.
    let connection = Connection::new::<::local_agent::LocalAgent>(
        Arc::clone(&registry),
        server,
        Engines::default(),
        Workers::new(&::local_agent::RULES),
    );
    let missing = connection.err().expect("a refusal").to_string();
    assert!(missing.contains("local_agent::agent::Agent"), "{missing}");
    let workers = Workers::new(&RULES);
    assert!(Connection::new::<Tiny>(registry, server, Engines::default(), workers).is_ok());
}

#[test]
fn nothing_is_advertised_before_what_opens_a_connection() {
    for dialect in [LOCAL_AGENT, APPLICATION_SERVICE] {
        assert_eq!(registry().methods(dialect)[0], "initialize", "{dialect}");
    }
}
