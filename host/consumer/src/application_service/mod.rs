//! placeholder
//! placeholder
