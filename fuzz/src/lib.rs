//! What must hold for any bytes from outside. Called by the fuzz targets here and, over the committed
//! seeds, by the `fuzz_seeds.rs` among the tests of each crate that is checked. No product code.

pub mod accounts_file;
pub mod application_service;
pub mod catalog_answers;
pub mod command_line;
pub mod consumer_frames;
pub mod fixture_script;
pub mod framing;
pub mod front_matter;
pub mod input;
pub mod line_stream;
pub mod local_agent;
pub mod mcp_results;
pub mod mighty_check;
pub mod mighty_format;
pub mod mighty_parse;
pub mod mighty_patch;
pub mod mty_agent;
pub mod naive;
pub mod provider_wires;
pub mod scanning;
pub mod session_file;
pub mod settings_file;
pub mod settings_writer;
