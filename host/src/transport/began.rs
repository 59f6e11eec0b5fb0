//! How the process found its standard input and output. Rust's runtime opens `/dev/null` in place of a closed
//! one before `main` begins, and from then on lost answers look like delivered ones.

use std::sync::atomic::{AtomicBool, Ordering};

/// Written once, before `main`.
static INPUT_CLOSED: AtomicBool = AtomicBool::new(false);
static OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard input was closed when the process began. (False where we cannot look that early.)
#[must_use]
pub fn without_stdin() -> bool {
    INPUT_CLOSED.load(Ordering::Relaxed)
}

/// Whether standard output was closed when the process began. (False where we cannot look that early.)
#[must_use]
pub fn without_stdout() -> bool {
    OUTPUT_CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    let closed = rustix::io::fcntl_getfd(rustix::stdio::stdin()).is_err();
    INPUT_CLOSED.store(closed, Ordering::Relaxed);
    let closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
    OUTPUT_CLOSED.store(closed, Ordering::Relaxed);
}

// SAFETY: the section is a list of functions without parameters that the loader calls once each before
// `main`, and this is such a function. It makes two system calls and allocates nothing.
#[allow(unsafe_code)]
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(
    target_vendor = "apple",
    unsafe(link_section = "__DATA,__mod_init_func")
)]
static LOOK: extern "C" fn() = look;
