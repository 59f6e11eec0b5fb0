//! `fmt`: what is rewritten, what is only told, and what stays as it is (spec: "fmt"; toolchain digest,
//! sections 3 and 7).

use std::sync::Arc;

use serde_json::json;

use crate::support::Place;
use crate::wire::*;

const UGLY: &str = "fn main(){log( \"hi\" )}\n";

fn ask(place: &Arc<Place>, path: &str, check: bool) -> Exchange {
    let request = json!({"op": "fmt", "path": path, "check": check});
    Agent::spawn(launch(&[]).place(place)).ask(request.to_string())
}

fn result(would_reformat: bool, ok: bool) -> String {
    format!(r#"{{"kind":"result","op":"fmt","ok":{ok},"would_reformat":{would_reformat}}}"#)
}

fn read(place: &Place, path: &str) -> String {
    std::fs::read_to_string(place.work().join(path)).unwrap()
}

#[test]
fn check_tells_and_write_writes_once() {
    let place = Place::new();
    place.write_file("a.mty", UGLY);
    let told = ask(&place, "a.mty", true);
    assert_eq!(told.lines[0], result(true, false));
    assert_eq!(told.exit_code(), 1);
    assert_eq!(read(&place, "a.mty"), UGLY);
    let written = ask(&place, "a.mty", false);
    assert_eq!(written.lines, [result(true, true), DONE_0.to_owned()]);
    let text = read(&place, "a.mty");
    assert_ne!(text, UGLY);
    assert_eq!(ask(&place, "a.mty", false).lines[0], result(false, true));
    assert_eq!(
        ask(&place, "a.mty", true).lines,
        [result(false, true), DONE_0.to_owned()]
    );
    assert_eq!(read(&place, "a.mty"), text);
    // Nothing is left beside it.
    assert_eq!(std::fs::read_dir(place.work()).unwrap().count(), 1);
}

#[test]
fn a_file_with_syntax_errors_stays_as_it_is() {
    let place = Place::new();
    let broken = "fn  main( {  }\r\nfn g()  {}\n";
    place.write_file("a.mty", broken);
    let exchange = ask(&place, "a.mty", false);
    assert_eq!(exchange.exit_code(), 0);
    assert_eq!(exchange.result().unwrap()["would_reformat"], false);
    assert!(exchange.lines[0].starts_with(r#"{"kind":"log","stream":"stderr","text":"a.mty:1:"#));
    assert_eq!(read(&place, "a.mty"), broken);
}

#[test]
fn files_that_are_no_source_are_never_rewritten() {
    let place = Place::new();
    for name in ["a.txt", "a", "a.mtyi", "mty"] {
        place.write_file(name, UGLY);
        let exchange = ask(&place, name, false);
        assert_eq!(exchange.exit_code(), 1);
        assert!(
            exchange.errors()[0].contains("not a Mighty source file"),
            "{name}"
        );
        assert_eq!(read(&place, name), UGLY);
    }
    assert_eq!(
        ask(&place, "none.mty", false).errors(),
        ["path not found: none.mty"]
    );
    assert_eq!(ask(&place, ".", false).errors(), ["is a directory: ."]);
}

#[test]
fn a_file_that_must_not_be_written_is_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.write_file("a.mty", UGLY);
    let file = place.work().join("a.mty");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
    let exchange = ask(&place, "a.mty", false);
    assert_eq!(exchange.exit_code(), 1);
    assert!(exchange.errors()[0].starts_with("cannot write a.mty: "));
    assert_eq!(read(&place, "a.mty"), UGLY);
}
