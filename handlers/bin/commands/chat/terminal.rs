//! The terminal while a turn runs, and signals at any time: keys are not shown, and whatever ends the process leaves the
//! terminal as it was.
//! Reads no key and shows nothing.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Turns off that pasted text is marked, and shows the cursor.
const RESET: &[u8] = b"\x1b[?2004l\x1b[?25h\x1b[0m\r\n";

pub(super) struct Terminal {
    /// The terminal and how it was; `None` where there is none.
    tty: Option<Arc<(File, Termios)>>,
    idle: Arc<AtomicBool>,
    interrupts: Option<mpsc::Receiver<()>>,
}

/// Puts the terminal back when it is dropped.
pub(super) struct Quiet(Arc<(File, Termios)>);

impl Drop for Quiet {
    fn drop(&mut self) {
        let (tty, before) = &*self.0;
        let _ = tcsetattr(tty, OptionalActions::Now, before);
    }
}

impl Terminal {
    /// Watches for signals from now on.
    ///
    /// # Errors
    /// When the terminal can't be opened, or signals can't be watched.
    pub(super) fn watch(at_terminal: bool) -> io::Result<Self> {
        let tty = match at_terminal {
            true => {
                let tty = File::options().read(true).write(true).open("/dev/tty")?;
                let before = tcgetattr(&tty)?;
                Some(Arc::new((tty, before)))
            }
            false => None,
        };
        let idle = Arc::new(AtomicBool::new(false));
        let (interrupted, interrupts) = mpsc::channel(1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (known, is_idle) = (tty.clone(), Arc::clone(&idle));
        // A thread of its own: while a line is typed nothing else of this process looks at signals.
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(signals(known, is_idle, interrupted)))?;
        Ok(Self {
            tty,
            idle,
            interrupts: Some(interrupts),
        })
    }

    /// Interrupts of turns. To be taken once.
    pub(super) fn interrupts(&mut self) -> mpsc::Receiver<()> {
        self.interrupts.take().unwrap_or_else(|| mpsc::channel(1).1)
    }

    /// Whether an interrupt finds no turn: then it ends the process.
    pub(super) fn is_idle(&self, is_idle: bool) {
        self.idle.store(is_idle, Ordering::Relaxed);
    }

    /// Keys come one by one and are not shown, until what this returns is dropped.
    pub(super) fn quiet(&self) -> Option<Quiet> {
        let tty = self.tty.clone()?;
        let mut quiet = tty.1.clone();
        quiet
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&tty.0, OptionalActions::Now, &quiet).ok()?;
        Some(Quiet(tty))
    }
}

/// Tells interrupts; what else ends a process ends this one, and its child with it, which meets the end of its input.
async fn signals(
    tty: Option<Arc<(File, Termios)>>,
    idle: Arc<AtomicBool>,
    interrupted: mpsc::Sender<()>,
) {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else {
        return;
    };
    loop {
        let status = tokio::select! {
            _ = interrupt.recv() => match idle.load(Ordering::Relaxed) {
                true => super::INTERRUPTED,
                false => {
                    // One that waits is enough.
                    let _ = interrupted.try_send(());
                    continue;
                }
            },
            _ = terminate.recv() => 128 + 15,
            _ = hangup.recv() => 128 + 1,
        };
        if let Some(tty) = &tty {
            let _ = tcsetattr(&tty.0, OptionalActions::Now, &tty.1);
            let _ = (&tty.0).write_all(RESET);
        }
        std::process::exit(status);
    }
}
