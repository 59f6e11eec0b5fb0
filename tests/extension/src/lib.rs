//! A third party's operations, linked beside ours
