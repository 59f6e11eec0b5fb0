//! Fuzz target: bytes that reach an application service.
//! The checks are `checks::application_service`'s; nothing else lives here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::application_service::check(data);
});
