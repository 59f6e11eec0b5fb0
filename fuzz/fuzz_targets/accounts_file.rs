//! Fuzz target: an `auth.json`.
//! The checks are `checks::accounts_file`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::accounts_file::check(data);
});
