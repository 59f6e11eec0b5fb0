//! Names of the product's tools that this build does not have: a profile may name them, and nothing else may
//! take them. The file of each such tool takes its line away from here.

crate::register! { name: "task", position: 90, make: |_| None }
