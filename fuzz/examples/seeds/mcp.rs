//! Seeds of an MCP server's lines.

use crate::Seeds;

pub fn seeds() -> Seeds {
    let line = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    vec![
        line(
            "initialized",
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}"#,
        ),
        line(
            "text",
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"words\nmore"}],"isError":false}}"#,
        ),
        line(
            "error-result",
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}"#,
        ),
        line(
            "kinds",
            r#"{"jsonrpc":"2.0","id":"7","result":{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio","data":"AA"},{"type":"resource","resource":{"uri":"file:///a","blob":"AA"}},{"type":"resource","resource":{"uri":"file:///a","text":"t"}},{"type":"resource_link","uri":"file:///b","name":"b"},{"type":3},null]}}"#,
        ),
        line(
            "structured",
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"a":[1]}}}"#,
        ),
        line(
            "tools",
            r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t","description":"d\u0007","inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"annotations":{"readOnlyHint":true}},{"name":"a b"},{"name":"x","inputSchema":{"type":"array"}},3],"nextCursor":"n"}}"#,
        ),
        line(
            "refused",
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"words","data":{}}}"#,
        ),
        line(
            "strange-error",
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":"x","message":"words"}}"#,
        ),
        line(
            "progress",
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5,"total":null}}"#,
        ),
        line(
            "changed",
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        ),
        line(
            "noise",
            "Listening on 1\n\n{\"level\":\"info\",\"id\":1}\n[1]\n{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"a\":]}\n\u{1b}[0m",
        ),
        line(
            "asked",
            r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#,
        ),
        line(
            "unheeded",
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#,
        ),
        (
            "not-text".to_owned(),
            b"\xff\xfe{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n{\"id\":\xff}".to_vec(),
        ),
    ]
}
