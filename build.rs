//! Tells the programs and their tests which features they were built with. Nothing is generated here.
#![allow(clippy::print_stdout)]

fn main() {
    let features = std::env::var("CARGO_CFG_FEATURE").unwrap_or_default();
    println!("cargo::rustc-env=FEATURES={features}");
    println!("cargo::rerun-if-changed=build.rs");
}
