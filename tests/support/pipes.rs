//! Pipes of a child: reading what is there, and how much they hold.

use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;

use super::wait_for;

/// Reads what is there, waiting for at least one byte; 0 is the end. Fails the test after [`super::PATIENCE`].
pub(crate) fn read_some(pipe: &mut PipeReader, buffer: &mut [u8]) -> usize {
    let mut read = 0;
    wait_for("a byte on stdout", || match try_read(pipe, buffer) {
        Some(n) => {
            read = n;
            true
        }
        None => false,
    });
    read
}

/// Reads what is there without waiting: `None` if nothing is, 0 at the end.
pub(crate) fn try_read(pipe: &mut PipeReader, buffer: &mut [u8]) -> Option<usize> {
    rustix::io::ioctl_fionbio(&*pipe, true).expect("a non-blocking pipe");
    match pipe.read(buffer) {
        Ok(n) => Some(n),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        Err(error) => panic!("reading stdout: {error}"),
    }
}

/// Shrinks or grows a pipe; the kernel rounds up to a page. Only Linux can.
#[cfg(target_os = "linux")]
pub(crate) fn set_capacity(pipe: &impl AsFd, bytes: usize) {
    let got = rustix::pipe::fcntl_setpipe_size(pipe, bytes).expect("F_SETPIPE_SZ");
    assert!(
        got >= bytes && got < bytes + 65_536,
        "asked for {bytes}, got {got}"
    );
}

/// Other systems keep their default: the tests hold there too, with another amount in the pipe.
#[cfg(not(target_os = "linux"))]
pub(crate) fn set_capacity(_pipe: &impl AsFd, _bytes: usize) {}
