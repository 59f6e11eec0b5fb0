//! Fuzz target: a script of the offline provider.
//! The checks are `checks::fixture_script`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::fixture_script::check(data);
});
