//! Fuzz target: a `settings.json` that is changed.
//! The checks are `checks::settings_writer`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::settings_writer::check(data);
});
