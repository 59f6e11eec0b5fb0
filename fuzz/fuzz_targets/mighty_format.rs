//! Fuzz target: a Mighty text, formatted.
//! The checks are `checks::mighty_format`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::mighty_format::check(data);
});
