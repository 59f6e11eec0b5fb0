//! The pieces a generated program is made of; each is whole in itself and clean in every stage.
//! Must not share names between units but for `$n`.

/// `$n` is the unit's number, `$d` a number from 1 to 90, `$w` a word.
pub(crate) const UNITS: [&str; 8] = [
    SHAPES, TEXT, RESULTS, AGENT, GENERIC, TABLES, NUMBERS, QUEUE,
];

const SHAPES: &str = r##"/// A position on the $w grid.
#[derive(Copy, Eq)]
struct Spot$n {
  row: I32
  col: I32
}

enum Move$n {
  Step(I32, I32)
  Turn(Bool)
  Wait
}

impl Spot$n {
  fn origin() -> Spot$n { Spot$n { row: $d, col: $d } }

  fn shifted(self: &Self, down: I32, right: I32) -> Spot$n {
    Spot$n { row: self.row + down, col: self.col + right }
  }

  fn is_home(self: &Self) -> Bool { self.row == 0 && self.col == 0 }
}

fn play$n(start: Spot$n, plan: &[Move$n]) -> Spot$n {
  let mut at = start
  for step in plan {
    match step {
      Move$n.Step(down, right) => { at = at.shifted(down, right) }
      Move$n.Turn(left) => {
        if left { at = at.shifted(0, -1) } else { at = at.shifted(0, 1) }
      }
      Move$n.Wait => {}
    }
  }
  at
}

"##;

const TEXT: &str = r##"// Text in, text out; "$w" is only a sample.
fn title$n(name: Str, hits: I32) -> Str {
  let head = "hits=" + hits.to_str()
    + "; "
    + name
  if hits > $d {
    head + " ($w)"
  } else if hits == 0 {
    "nothing for " + name
  } else {
    head
  }
}

fn words$n(line: Str) -> I32 {
  let mut found = 0
  for part in line.split(" ") {
    let clean = part.trim().to_lower()
    if clean.is_empty() || clean.starts_with("#") { continue }
    found += 1
  }
  found
}

fn banner$n() {
  log(title$n("$w", words$n("one two  three # $w")))
  log("tab\tquote\" and \u{1F980}"); log("done")
}

"##;

const RESULTS: &str = r##"enum Fault$n { Missing, Bad(Str), Late(I64) }

fn port$n(raw: Option[Str]) -> I32!Fault$n {
  match raw {
    Some(text) => if text == "$w" { Ok($d) } else { Err(Fault$n.Bad(text)) }
    None => Err(Fault$n.Missing)
  }
}

fn both$n(first: Option[Str], second: Option[Str]) -> I32!Fault$n {
  let low = port$n(first)?
  let high = port$n(second)?
  if low > high {
    return Err(Fault$n.Late($d))
  }
  Ok(low * $d + high)
}

fn explain$n(why: Fault$n) -> Str {
  match why {
    Fault$n.Missing => "missing"
    Fault$n.Bad(text) => "bad: " + text
    Fault$n.Late(by) => "late by " + by.to_str()
  }
}

"##;

const AGENT: &str = r##"protocol Tally$n v1 {
  Add(count: I64) -> I64
  msg Peek() -> I64
  Clear()
}

agent Board$n(label): Tally$n {
  total = 0_i64
  rounds: I64 = $d
  on Add(count) -> {
    total += count
    rounds = rounds + 1
    total
  }
  on Peek() -> total
  on Clear() { total = 0; note("cleared") }
  fn note(what: Str) { log(label + ": " + what) }
}

supervisor Watch$n(strategy: one_for_one) {
  child board = spawn Board$n("$w")
  on_fail(board) { restart up_to 3 in 10s }
}

fn drive$n() {
  let board = spawn Board$n("$w")
  board!Add($d)
  let now = board?Add(6) @200ms
  log(now.to_str())
  board!Clear()
}

"##;

const GENERIC: &str = r##"struct Pair$n[A, B] {
  left: A
  right: B
}

fn swap$n[A, B](pair: Pair$n[A, B]) -> Pair$n[B, A] {
  let Pair$n { left, right } = pair
  Pair$n { left: right, right: left }
}

trait Priced$n {
  fn cost(self: &Self) -> I64
}

struct Crate$n { weight: I64, label: Str }

impl Priced$n for Crate$n {
  fn cost(self: &Self) -> I64 { self.weight * $d }
}

fn dearest$n(crates: &[Crate$n]) -> I64 {
  let mut best = 0_i64
  for one in crates {
    let price = one.cost()
    if price > best { best = price }
  }
  best
}

fn twice$n[T, E](seed: T, step: fn(T) -> T) -> T !{| E} {
  step(step(seed))
}

"##;

const TABLES: &str = r##"const LIMIT$n: I64 = $d

pub fn sum$n(stock: Map[Str, I64], bonus: I64) -> I64 {
  let (low, high) = (2_i64, LIMIT$n)
  let names = ["ash", "oak", "$w"]
  let mut total = bonus
  for name in names {
    if let Some(count) = stock.get(name) { total += count } else { total -= 1 }
  }
  let grid = [0_i64; 16]
  for index in 0..16 {
    total += grid[index] + (low << 2) - (high ^ 0xFF)
  }
  total
}

fn grade$n(score: I32) -> Str {
  match score {
    0 => "none"
    1..50 => "low"
    50..=100 => "high"
    other if other > 1_000 => "way off"
    _ => "off scale"
  }
}

"##;

const NUMBERS: &str = r##"/* Numbers, loops and casts.
   Nothing here fails. */
fn gcd$n(a: U64, b: U64) -> U64 {
  let mut x = a
  let mut y = b
  while y != 0 {
    let rest = x % y
    x = y
    y = rest
  }
  x
}

fn mean$n(values: &[F64]) -> F64 {
  if values.len() == 0 { return 0.0 }
  let mut sum = 0.0
  for value in values { sum += value }
  sum / values.len() as F64
}

fn countdown$n() -> I32 {
  let mut left = $d
  loop {
    if left == 0 { break left + 10 }
    left -= 1
  }
}

fn shade$n(level: I32) -> U8 { (level * 2 + $d) as U8 }

"##;

const QUEUE: &str = r##"struct Job$n {
  name: Str
  steps: I32
  urgent: Bool
}

fn plan$n(count: I32) -> I32 {
  let mut waiting = Vec.new()
  for index in 0..count {
    waiting.push(Job$n {
      name: "$w",
      steps: index * $d,
      urgent: index % 3 == 0 && index != $d,
    })
  }
  let mut done = 0
  while let Some(job) = waiting.pop() {
    let weight = |steps| steps * 2
    if job.urgent {
      done += weight(job.steps)
    } else {
      done += job.steps
    }
  }
  done
}

"##;
