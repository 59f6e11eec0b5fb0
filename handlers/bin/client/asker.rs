//! The person at the terminal: one line a question, typed when the question stood there.
//! What is asked, and what an answer means, is the caller's.

use std::fs::File;
use std::io::{self, Read as _};
#[cfg(feature = "try")]
use std::io::{BufRead as _, BufReader};
use std::sync::mpsc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::oneshot;

/// Longest answer that is read, in bytes.
#[cfg(feature = "try")]
const LONGEST: u64 = 1024;
/// How often the terminal's reader looks whether its question still stands.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// A question that is about to be shown.
pub(crate) struct Question {
    /// Told once what was typed before is gone: now it may be shown.
    pub(crate) ready: oneshot::Sender<()>,
    /// Gets the line that answers it.
    pub(crate) answer: oneshot::Sender<String>,
}

/// Who takes questions, one after the other; a new one takes the place of the one before.
pub(crate) type Questions = mpsc::Sender<Question>;

/// The person at the terminal, asked for a line only when there is a question.
pub(crate) struct Asker {
    open: fn() -> Option<Questions>,
    questions: Option<Questions>,
    answer: Option<oneshot::Receiver<String>>,
}

impl Asker {
    /// `open` is called with the first question; it gives `None` where there is nobody.
    pub(crate) fn new(open: fn() -> Option<Questions>) -> Self {
        Self {
            open,
            questions: None,
            answer: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn at(questions: Questions) -> Self {
        Self {
            questions: Some(questions),
            ..Self::new(|| None)
        }
    }

    /// Whether there is somebody; what was typed until now is forgotten, and answers nothing.
    pub(crate) async fn ready(&mut self) -> bool {
        if self.questions.is_none() {
            self.questions = (self.open)();
        }
        let Some(questions) = &self.questions else {
            return false;
        };
        let (ready, is_ready) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        self.answer = Some(answered);
        questions.send(Question { ready, answer }).is_ok() && is_ready.await.is_ok()
    }

    /// The answer to the last question; `None` if there will be none.
    pub(crate) async fn line(&mut self) -> Option<String> {
        self.answer.as_mut()?.await.ok()
    }

    /// The last question stands no more: whatever is typed now is no answer.
    pub(crate) fn forget(&mut self) {
        self.answer = None;
    }
}

/// Lines from the controlling terminal itself: descriptor 0 belongs to the protocols.
#[cfg(feature = "try")]
pub(crate) fn read_terminal() -> Option<Questions> {
    open(line)
}

/// The same, and every key is an answer: for a terminal that gives them one by one.
#[cfg(feature = "chat")]
pub(crate) fn read_keys() -> Option<Questions> {
    open(key)
}

/// Reads an answer; `None` where the terminal is gone.
type Answered = fn(&File) -> io::Result<Option<String>>;

#[cfg(feature = "try")]
fn line(terminal: &File) -> io::Result<Option<String>> {
    let mut line = String::new();
    // What stands behind the line is no answer to anything, so it goes with the buffer.
    match BufReader::new(terminal.take(LONGEST)).read_line(&mut line) {
        Ok(0) => Ok(None),
        Err(error) if error.kind() != io::ErrorKind::InvalidData => Err(error),
        // What is no text is no consent.
        Ok(_) | Err(_) => Ok(Some(line)),
    }
}

#[cfg(feature = "chat")]
fn key(mut terminal: &File) -> io::Result<Option<String>> {
    // The longest sequence of one key is far shorter.
    let mut bytes = [0; 32];
    let count = terminal.read(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes[..count]);
    Ok((count > 0).then(|| text.into_owned()))
}

fn open(read: Answered) -> Option<Questions> {
    let terminal = File::open("/dev/tty").ok()?;
    let (questions, asked) = mpsc::channel();
    // A thread of its own, because reading a terminal blocks; it ends with the process.
    std::thread::Builder::new()
        .name("terminal".into())
        .spawn(move || {
            // Nobody can be asked any more: the next question finds nobody.
            let _ = serve(&terminal, &asked, read);
        })
        .ok()?;
    Some(questions)
}

/// Answers questions with what is typed at a terminal, until there are no more.
fn serve(terminal: &File, asked: &mpsc::Receiver<Question>, read: Answered) -> io::Result<()> {
    let mut next = asked.recv().ok();
    while let Some(Question { ready, answer }) = next.take() {
        tcflush(terminal, QueueSelector::IFlush)?;
        // Whoever does not wait any more has let go of the answer too.
        let _ = ready.send(());
        loop {
            next = asked.try_recv().ok();
            if next.is_some() || answer.is_closed() {
                break;
            }
            let mut readable = [PollFd::new(terminal, PollFlags::IN)];
            if poll(&mut readable, Some(&LOOK))? > 0 {
                match read(terminal)? {
                    Some(text) => drop(answer.send(text)),
                    None => return Ok(()),
                }
                break;
            }
        }
        if next.is_none() {
            next = asked.recv().ok();
        }
    }
    Ok(())
}

#[cfg(all(test, feature = "try"))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write as _;
    use std::time::Duration;

    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    use super::*;

    /// Both ends of a terminal.
    fn terminal() -> (File, File) {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let name = ptsname(&person, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let terminal = rustix::fs::open(&*name, flags, Mode::empty()).unwrap();
        (person.into(), terminal.into())
    }

    #[tokio::test]
    async fn only_what_is_typed_at_a_question_answers_it() {
        let (mut person, terminal) = terminal();
        let (questions, asked) = mpsc::channel();
        std::thread::spawn(move || serve(&terminal, &asked, line).unwrap());
        let mut asker = Asker::at(questions);
        let soon = Duration::from_millis(200);

        person.write_all(b"y\ny\nyes\n").unwrap();
        tokio::time::sleep(soon).await;
        assert!(asker.ready().await);
        let early = tokio::time::timeout(soon, asker.line()).await;
        assert!(early.is_err(), "{early:?}");
        person.write_all(b"no\n").unwrap();
        assert_eq!(asker.line().await.as_deref(), Some("no\n"));

        // Of two lines at one question the second answers none, and neither does one that came behind its question.
        assert!(asker.ready().await);
        person.write_all(b"n\ny\n").unwrap();
        assert_eq!(asker.line().await.as_deref(), Some("n\n"));
        assert!(asker.ready().await);
        asker.forget();
        tokio::time::sleep(soon).await;
        person.write_all(b"y\n").unwrap();
        tokio::time::sleep(soon).await;
        assert!(asker.ready().await);
        let late = tokio::time::timeout(soon, asker.line()).await;
        assert!(late.is_err(), "{late:?}");
        // A question may take the place of one that nobody answered.
        assert!(asker.ready().await);
        person.write_all(b"y\n").unwrap();
        assert_eq!(asker.line().await.as_deref(), Some("y\n"));
    }
}
