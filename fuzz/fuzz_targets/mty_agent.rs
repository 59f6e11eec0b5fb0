//! Fuzz target: bytes that reach `mty agent`.
//! The checks are `checks::mty_agent`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::mty_agent::check(data);
});
