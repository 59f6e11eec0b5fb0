//! Fuzz target: a session file.
//! The checks are `checks::session_file`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::session_file::check(data);
});
