//! Fuzz target: bytes that a server of either magi dialect writes to its client.
//! The checks are `checks::consumer_frames`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::consumer_frames::check(data);
});
