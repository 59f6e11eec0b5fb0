//! Fuzz target: two texts and a diff, and the fixes of the first text.
//! The checks are `checks::mighty_patch`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::mighty_patch::check(data);
});
