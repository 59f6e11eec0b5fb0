//! Fuzz target: bytes that reach a local-agent child.
//! The checks are `checks::local_agent`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::local_agent::check(data);
});
