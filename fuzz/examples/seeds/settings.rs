//! Seeds of settings documents that are changed: a digit that says what is wanted, and the document.

use super::{Seeds, padded};

pub fn seeds() -> Seeds {
    const COMMENTS: &str =
        "{\n\t// mine\n\t\"fast\": false, /* why */\n\t\"later\": [1.50, 1e5,],\r\n}\n";
    let mut seeds: Seeds = Vec::new();
    // '0' is fast mode; then the level, the selection, a server's approval, a project's trust.
    for (wanted, digit) in [
        ("fast", '0'),
        ("level", '1'),
        ("selection", '2'),
        ("server", '3'),
        ("trust", '4'),
    ] {
        for (name, text) in [
            ("empty", "{}"),
            ("comments", COMMENTS),
            (
                "there",
                r#"{"fast":false,"thinking_level":"l\u006fw","provider":"q","model":null,"mcp_servers":{"a":{"command":"c","approved":"sha256:1"}},"projects":{"/no/such":{"trusted":false}}}"#,
            ),
            (
                "else",
                "\u{feff}{ \"compaction\" : {\"threshold\":5e-1},\r\n  \"retention_days\":0 }\r\n\r\n",
            ),
        ] {
            let bytes = format!("{digit}{text}").into_bytes();
            seeds.push((format!("{wanted}-{name}"), bytes));
        }
    }
    for (name, text) in [
        ("twice", "0{\"later\":{\"a\":1,\"a\":2}}"),
        ("no-json", "1{\"a\":}"),
        ("of-a-later-form", "0{\"version\":2}"),
        ("servers-list", "3{\"mcp_servers\":[]}"),
        ("server-null", "3{\"mcp_servers\":{\"a\":null}}"),
        ("project-null", "4{\"projects\":{\"/no/such\":null}}"),
        (
            "project-spelled",
            "4{\"projects\":{\"/no/./such/\":{}, \"/no\": {\"trusted\": true}}}",
        ),
        ("one-line", "2{ \"a\": 1 // last\n}"),
        ("inner", "2{\"a\":{\"model\":1},\"model\":\"x\" , }"),
    ] {
        seeds.push((name.to_owned(), text.as_bytes().to_vec()));
    }
    let mut full = vec![b'0', checks::input::RUNS];
    full.extend(padded("{\"later\":\"@\"}", 1024 * 1024 - 4));
    seeds.push(("full".to_owned(), full));
    seeds
}
