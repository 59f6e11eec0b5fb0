//! Fuzz target: a `SKILL.md` and a profile.
//! The checks are `checks::front_matter`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::front_matter::check(data);
});
