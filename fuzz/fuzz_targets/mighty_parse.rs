//! Fuzz target: a Mighty text, parsed.
//! The checks are `checks::mighty_parse`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::mighty_parse::check(data);
});
