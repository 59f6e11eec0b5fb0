//! What must hold for any bytes from outside. Called by the fuzz targets here and, over the committed
//! seeds, by `host/tests/fuzz_seeds.rs` and `host/consumer/tests/fuzz_seeds.rs`. No product code.

pub mod application_service;
pub mod consumer_frames;
pub mod framing;
pub mod input;
pub mod line_stream;
pub mod local_agent;
pub mod mty_agent;
pub mod naive;
pub mod scanning;
