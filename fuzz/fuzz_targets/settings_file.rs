//! Fuzz target: a `settings.json`, global and of a project.
//! The checks are `checks::settings_file`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::settings_file::check(data);
});
