//! Fuzz target: a command line under rules that allow and deny.
//! The checks are `checks::command_line`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::command_line::check(data);
});
