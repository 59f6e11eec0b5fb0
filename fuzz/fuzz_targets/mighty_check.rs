//! Fuzz target: a Mighty package, checked.
//! The checks are `checks::mighty_check`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::mighty_check::check(data);
});
