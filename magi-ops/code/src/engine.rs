//! A snippet in its realm: what it may call, how long it works, how it ends. The engine's only user.
//! Who is told of calls and output, and where results come from, is the caller's matter.

use std::cell::{Cell, RefCell};
use std::io;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use rquickjs::context::EvalOptions;
use rquickjs::{
    Context, Ctx, Error, Exception, FromJs, Function, Object, Persistent, Promise, Runtime, Value,
};

use crate::bounds;
use crate::message::{End, Ended, Order, Report};

mod calls;
mod clock;
mod unhandled;

use calls::Calls;
use clock::Clock;
use unhandled::Unhandled;

const REALM: &str = include_str!("realm.js");
/// What places in the source are told by.
const FILE: &str = "snippet.js";
/// Longest message of an error, in bytes.
const MESSAGE_BYTES: usize = 8 * 1024;
/// Most lines of the source that an error is traced through, and that are read of a stack for that.
const TRACED: usize = 10;
const STACK_LINES: usize = 64;
/// What is said of a source whose error is found behind it.
const UNBALANCED: &str =
    "SyntaxError: the source ends within a statement, or closes what it did not open";

/// Who is told what a snippet does.
pub(crate) type Tell = Box<dyn FnMut(&Report) -> io::Result<()>>;

/// What the functions of a realm work with.
struct Host {
    tell: RefCell<Tell>,
    calls: RefCell<Calls>,
    unhandled: Unhandled,
    /// Bytes.
    printed: Cell<usize>,
}

/// Runs a snippet for `own_time` at most: tells its calls and its output, gets the calls' results, and returns how it ended.
///
/// The realm is not taken down: the process is about to end.
pub(crate) fn run(
    source: &str,
    tools: &[String],
    own_time: Duration,
    tell: Tell,
    results: &Receiver<Order>,
) -> End {
    let clock = Rc::new(Clock::started(own_time));
    let realm = match Realm::new(tell, &clock) {
        Ok(realm) => realm,
        Err(error) => {
            return End {
                how: Ended::Threw(error.to_string()),
                open: 0,
                unhandled: String::new(),
            };
        }
    };
    let (ended, unhandled) = realm.run(source, tools, &clock, results);
    let how = match (clock.is_over(), ended) {
        (true, Err(thrown)) => Ended::OutOfTime(thrown.line(source)),
        (true, Ok(_)) => Ended::OutOfTime(None),
        (false, Err(thrown)) => Ended::Threw(thrown.told(source)),
        (false, Ok(value)) => Ended::Returned(value),
    };
    let open = realm.host.calls.borrow().open();
    End {
        how,
        open,
        unhandled,
    }
}

struct Realm {
    runtime: ManuallyDrop<Runtime>,
    context: ManuallyDrop<Context>,
    host: Rc<Host>,
}

/// What a snippet threw, or why it can't go on.
struct Thrown {
    text: String,
    /// Lines that it came through, from 1, and in which functions: the engine knows the lines of calls, of other steps the last
    /// of those before. Lines behind the source's are those of what stands around it.
    places: Vec<(u32, String)>,
}

impl Thrown {
    /// Where in the source it was thrown, if that is known.
    fn line(&self, source: &str) -> Option<u32> {
        self.within(source).map(|(line, _)| *line).next()
    }

    /// What is told of it: what it says, then the lines of the source that it came through.
    fn told(mut self, source: &str) -> String {
        let is_behind = |(line, _): &(u32, String)| *line > lines(source);
        if self.places.first().is_some_and(is_behind) {
            // It would tell of a bracket that the snippet never wrote.
            UNBALANCED.clone_into(&mut self.text);
        }
        let places = self.within(source).take(TRACED);
        let places: String = places
            .map(|(line, function)| format!("\n    at line {line}{function}"))
            .collect();
        self.text + &places
    }

    fn within(&self, source: &str) -> impl Iterator<Item = &(u32, String)> {
        let last = lines(source);
        self.places.iter().filter(move |(line, _)| *line <= last)
    }
}

/// Lines of a source, as the engine counts them.
fn lines(source: &str) -> u32 {
    let ends = source.bytes().filter(|byte| *byte == b'\n').count();
    u32::try_from(ends + 1).unwrap_or(u32::MAX)
}

impl From<&str> for Thrown {
    fn from(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            places: Vec::new(),
        }
    }
}

/// What is kept of the realm between two steps.
struct Started {
    promise: Persistent<Promise<'static>>,
    show: Persistent<Function<'static>>,
}

impl Started {
    fn restore<'js>(&self, cx: &Ctx<'js>) -> rquickjs::Result<(Promise<'js>, Function<'js>)> {
        Ok((
            self.promise.clone().restore(cx)?,
            self.show.clone().restore(cx)?,
        ))
    }
}

impl Realm {
    fn new(tell: Tell, clock: &Rc<Clock>) -> rquickjs::Result<Self> {
        let runtime = ManuallyDrop::new(Runtime::new()?);
        runtime.set_memory_limit(bounds::MEMORY);
        runtime.set_max_stack_size(bounds::STACK);
        let clock = Rc::clone(clock);
        runtime.set_interrupt_handler(Some(Box::new(move || clock.is_over())));
        let context = ManuallyDrop::new(Context::full(&runtime)?);
        let host = Rc::new(Host {
            tell: RefCell::new(tell),
            calls: RefCell::default(),
            unhandled: Unhandled::default(),
            printed: Cell::new(0),
        });
        let to = Rc::clone(&host);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |cx, promise, reason, is_handled| match is_handled {
                true => to.unhandled.handled(&cx, &promise),
                false => to.unhandled.rejected(&cx, promise, reason),
            },
        )));
        Ok(Self {
            runtime,
            context,
            host,
        })
    }

    /// How it ends, and what nobody handled.
    fn run(
        &self,
        source: &str,
        tools: &[String],
        clock: &Clock,
        results: &Receiver<Order>,
    ) -> (Result<Option<String>, Thrown>, String) {
        let started = match self.context.with(|cx| self.start(&cx, source, tools)) {
            Ok(started) => started,
            Err(thrown) => return (Err(thrown), String::new()),
        };
        let ended = self.work(&started, clock, results);
        // Nothing of it runs any more behind its time.
        let unhandled = (!clock.is_over()).then(|| {
            self.context.with(|cx| {
                let (promise, show) = started.restore(&cx).ok()?;
                Some(self.host.unhandled.told(&cx, &promise, &show))
            })
        });
        (ended, unhandled.flatten().unwrap_or_default())
    }

    /// From its first step to its end.
    fn work(
        &self,
        started: &Started,
        clock: &Clock,
        results: &Receiver<Order>,
    ) -> Result<Option<String>, Thrown> {
        while !clock.is_over() {
            if let Some(ended) = self.context.with(|cx| ended(&cx, started)) {
                return ended;
            }
            match self.runtime.execute_pending_job() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(failed) if !clock.is_over() => {
                    let host = &self.host;
                    (failed.0).with(|cx| host.unhandled.threw(&cx, cx.catch()));
                    continue;
                }
                Err(failed) => return failed.0.with(|cx| Err(thrown(&cx, None))),
            }
            if self.host.calls.borrow().running() == 0 {
                return Err(
                    "Error: the snippet never settles: what it waits for is no call of a tool"
                        .into(),
                );
            }
            match clock.waiting(|| results.recv()) {
                Ok(Order::Result { id, is_error, text }) => {
                    let settled = self.context.with(|cx| {
                        let settled = self.host.settle(&cx, id, is_error, &text);
                        settled.map_err(|error| explained(&cx, error, None))
                    });
                    settled?;
                }
                // The thread that reads ends the process.
                Ok(Order::Start { .. }) | Err(_) => return Err("Error: the host is gone".into()),
            }
        }
        Ok(None)
    }

    /// Prepares the realm and starts the snippet in it.
    fn start(&self, cx: &Ctx<'_>, source: &str, tools: &[String]) -> Result<Started, Thrown> {
        let show = self.prepare(cx, tools);
        let show = show.map_err(|error| explained(cx, error, None))?;
        let start = || -> rquickjs::Result<_> {
            // A text that ends the function and begins another one is no body in both of these.
            let listed: Vec<Value<'_>> =
                evaluate(cx, format!("[async function () {{{source}\n}}]"))?;
            let function: Value<'_> = evaluate(cx, format!("(async function () {{{source}\n}})"))?;
            match function.into_function() {
                Some(function) if listed.len() == 1 => function.call(()),
                _ => {
                    let why = "the source is not the body of one async function";
                    Err(Exception::throw_syntax(cx, why))
                }
            }
        };
        let promise: Promise<'_> = start().map_err(|error| explained(cx, error, Some(&show)))?;
        Ok(Started {
            promise: Persistent::save(cx, promise),
            show: Persistent::save(cx, show),
        })
    }

    /// The function by which values are shown.
    fn prepare<'js>(&self, cx: &Ctx<'js>, tools: &[String]) -> rquickjs::Result<Function<'js>> {
        let host = Rc::clone(&self.host);
        let call = Function::new(
            cx.clone(),
            move |cx: Ctx<'js>, name: String, input: String, error: Object<'js>| {
                host.call(&cx, name, &input, error)
            },
        )?;
        let host = Rc::clone(&self.host);
        let print = Function::new(cx.clone(), move |text: String| host.print(text))?;
        let realm: Function<'js> = cx.eval(REALM)?;
        realm.call((call, print, tools.to_vec()))
    }
}

/// The value of a text whose first line is the source's.
fn evaluate<'js, V: FromJs<'js>>(cx: &Ctx<'js>, text: String) -> rquickjs::Result<V> {
    let mut options = EvalOptions::default();
    options.filename = Some(FILE.to_owned());
    cx.eval_with_options(text, options)
}

/// How the snippet ended, once it has.
fn ended(cx: &Ctx<'_>, started: &Started) -> Option<Result<Option<String>, Thrown>> {
    let (promise, show) = match started.restore(cx) {
        Ok(restored) => restored,
        Err(error) => return Some(Err(explained(cx, error, None))),
    };
    let shown = match promise.result::<Value<'_>>()? {
        Ok(value) if value.is_undefined() => return Some(Ok(None)),
        Ok(value) => show.call::<_, String>((value,)),
        Err(error) => Err(error),
    };
    Some(match shown {
        Ok(mut text) => {
            // One byte more than is shown, which tells that there was more.
            clip(&mut text, bounds::OUTPUT + 1);
            Ok(Some(text))
        }
        Err(error) => Err(explained(cx, error, Some(&show))),
    })
}

/// An error of a step, in the words of what was thrown where something was.
fn explained<'js>(cx: &Ctx<'js>, error: Error, show: Option<&Function<'js>>) -> Thrown {
    match error {
        Error::Exception => thrown(cx, show),
        error => error.to_string().as_str().into(),
    }
}

/// Takes what was thrown: what it says, and the lines that it came through. `show` makes the
/// text; without it, only an error's own message is told.
fn thrown<'js>(cx: &Ctx<'js>, show: Option<&Function<'js>>) -> Thrown {
    let value = cx.catch();
    if value.is_null() {
        // What the engine throws where there is no memory left for an error.
        return "null was thrown; the snippet may be out of memory".into();
    }
    let exception = value.as_exception().cloned();
    let text = said(cx, value, show);
    let mut text = text.unwrap_or_else(|| "something that can't be shown was thrown".to_owned());
    clip(&mut text, MESSAGE_BYTES);
    let stack = exception.and_then(|exception| exception.stack());
    drop(cx.catch());
    let stack = stack.unwrap_or_default();
    let places = stack.lines().filter_map(place).take(STACK_LINES).collect();
    Thrown { text, places }
}

/// What a thrown value says, by `show` or, of an error, by its own message.
fn said<'js>(cx: &Ctx<'js>, value: Value<'js>, show: Option<&Function<'js>>) -> Option<String> {
    let exception = value.as_exception().cloned();
    let shown = show.map(|show| show.call::<_, String>((value,)));
    let own = || exception.and_then(|exception| exception.message());
    let text = shown.and_then(Result::ok).or_else(own);
    // What showing it may have thrown.
    drop(cx.catch());
    text
}

/// The line that one of a stack tells, if it is the source's, and in which function.
fn place(line: &str) -> Option<(u32, String)> {
    let (before, after) = line.split_once(FILE)?;
    let digits: String = after
        .strip_prefix(':')?
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let name = before.trim().strip_prefix("at ").unwrap_or_default();
    let name: String = name
        .chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'))
        .take(64)
        .collect();
    let function = match name.is_empty() {
        true => String::new(),
        false => format!(" in {name}"),
    };
    Some((digits.parse().ok()?, function))
}

/// Cuts a text between two characters.
fn clip(text: &mut String, bytes: usize) {
    text.truncate(text.floor_char_boundary(bytes));
}

impl Host {
    /// One line of output.
    fn print(&self, mut text: String) {
        text.push('\n');
        let room = bounds::OUTPUT.saturating_sub(self.printed.get());
        if self.printed.get() > bounds::OUTPUT {
            return;
        }
        self.printed.set(self.printed.get() + text.len());
        let cut = text.len() > room;
        clip(&mut text, room);
        self.told(&Report::Printed { text, cut });
    }

    /// A host that is gone can't be told; the thread that reads ends the process then.
    fn told(&self, report: &Report) {
        let _ = (self.tell.borrow_mut())(report);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Plays a snippet whose calls all come to nothing.
    fn played(source: &str, own_time: Duration) -> Ended {
        let (orders, results) = channel();
        let tell: Tell = Box::new(move |report| {
            if let Report::Call { id, .. } = report {
                std::thread::sleep(Duration::from_millis(30));
                let (id, is_error, text) = (*id, false, String::new());
                let result = Order::Result { id, is_error, text };
                orders.send(result).map_err(io::Error::other)?;
            }
            Ok(())
        });
        run(source, &["nap".to_owned()], own_time, tell, &results).how
    }

    #[test]
    fn at_the_end_of_its_own_time_a_snippet_is_told_about_where_it_was() {
        let own_time = Duration::from_millis(200);
        for (source, before) in [
            ("let i = 0;\nfor (;;) i++;", 2),
            (
                "await tools.nap();\n\nfor (;;) try { for (;;); } catch {}",
                3,
            ),
            ("await null;\n/(a+)+$/.test('a'.repeat(60) + 'b')", 2),
        ] {
            let ended = played(source, own_time);
            let Ended::OutOfTime(Some(line)) = ended else {
                panic!("{source}: {ended:?}");
            };
            assert!((1..=before).contains(&line), "{source}: {line}");
        }
        let endless = "const f = () => Promise.resolve().then(f); await f()";
        assert!(matches!(played(endless, own_time), Ended::OutOfTime(_)));
    }

    #[test]
    fn an_error_tells_lines_of_the_source_alone() {
        for source in [
            "if (true) {",
            "}",
            "let x =",
            "f(\n[1",
            "return `a",
            "/* a",
            "({",
            "'a\\",
        ] {
            let Ended::Threw(text) = played(source, Duration::from_secs(20)) else {
                panic!("{source}");
            };
            let told = text
                .lines()
                .filter_map(|line| line.strip_prefix("    at line "));
            let told: Vec<u32> = told.map(|line| line.parse().expect("a number")).collect();
            let last = lines(source);
            assert!(told.iter().all(|line| *line <= last), "{source}: {text}");
            assert!(text.starts_with("SyntaxError: "), "{source}: {text}");
            assert!(
                !text.contains(']') && !text.contains(')'),
                "{source}: {text}"
            );
        }
        let nested = "const f = () => { throw new Error('x') };\r\n[1].map(f);";
        let text = "Error: x\n    at line 1 in f\n    at line 2";
        assert_eq!(
            played(nested, Duration::from_secs(20)),
            Ended::Threw(text.to_owned())
        );
    }

    #[test]
    fn a_place_is_a_line_of_the_source() {
        for (line, expected) in [
            ("    at inner (snippet.js:3:5)", Some((3, " in inner"))),
            ("    at snippet.js:12", Some((12, ""))),
            ("    at <anonymous> (eval_script:1:1)", None),
            ("snippet.js:x", None),
            ("    at x (snippet.js:99999999999)", None),
            ("    at a\u{202e}b (snippet.js:1)", Some((1, " in a"))),
        ] {
            let expected =
                expected.map(|(line, function): (u32, &str)| (line, function.to_owned()));
            assert_eq!(place(line), expected, "{line}");
        }
    }
}
