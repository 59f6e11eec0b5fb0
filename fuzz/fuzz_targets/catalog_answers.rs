//! Fuzz target: a server's answer that lists its models, and the document that is kept.
//! The checks are `checks::catalog_answers`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::catalog_answers::check(data);
});
