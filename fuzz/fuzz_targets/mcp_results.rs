//! Fuzz target: lines of an MCP server.
//! The checks are `checks::mcp_results`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::mcp_results::check(data);
});
