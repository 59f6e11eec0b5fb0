//! Fuzz target: a server's streamed response on either wire.
//! The checks are `checks::provider_wires`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::provider_wires::check(data);
});
