#!/usr/bin/env python3
"""Draws docs/first-minute/session.svg: what a terminal shows when somebody spends a first minute with magi-code.

Every step is run for real, in a terminal of its own, in a home and a project made for it; the offline provider answers,
so nothing is sent anywhere. Only what differs from run to run (ids, durations, the temporary folder) is replaced.

    docs/first-minute/record.py [--bin target/debug]           runs everything and writes the picture
    docs/first-minute/record.py [--bin target/debug] --check   runs everything and says whether the picture is still true

Needs Python 3.9 or newer and nothing else. Exit status: 0 written, or still true; 1 a step failed, or the picture differs.
"""

import argparse
import difflib
import fcntl
import html
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
import unicodedata
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
PICTURE = HERE / "session.svg"
COLUMNS, ROWS = 96, 40
STEP_SECONDS = 60

PROJECT = {
    "README.md": "# greeter\n\nSays hello to whoever is named.\n",
    "greet.py": "import sys\n\nprint(f\"Hello, {sys.argv[1]}!\")\n",
}

# A command line, and what is typed once a text stands on the screen.
STEPS = [
    ('magi-code try "What is in this project?"', []),
    ("magi-code doctor", []),
]

# What differs from run to run, and what stands for it in the picture.
REPLACED = [
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "c0ffee00-0000-4000-8000-000000000001"),
]


class Screen:
    """As much of a terminal as the programs use. What it does not know is an error, so that no picture lies."""

    SEQUENCE = re.compile(rb"\x1b(?:\[([?>]?)([0-9;]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|([=>78]))")

    def __init__(self):
        self.lines = [[]]
        self.row = self.column = 0
        self.style = ""
        self.rest = b""

    def top(self):
        """The first line that the cursor can still reach."""
        return max(0, len(self.lines) - ROWS)

    def feed(self, data, answer):
        """Draws `data`; `answer` is called with what a terminal says back."""
        data, self.rest = self.rest + data, b""
        at = 0
        while at < len(data):
            if data[at] == 0x1B:
                found = self.SEQUENCE.match(data, at)
                if not found:
                    if len(data) - at > 64:
                        raise ValueError(f"unknown sequence {data[at:at + 16]!r}")
                    self.rest = data[at:]
                    return
                at = found.end()
                if found[3]:
                    numbers = [int(n) for n in found[2].split(b";") if n]
                    self.control(found[1].decode(), found[3].decode(), numbers, answer)
                continue
            width = 1 if data[at] < 0x80 else 2 if data[at] < 0xE0 else 3 if data[at] < 0xF0 else 4
            if at + width > len(data):
                self.rest = data[at:]
                return
            self.put(data[at:at + width].decode())
            at += width

    def put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.down()
        elif char == "\b":
            self.column = max(0, self.column - 1)
        elif char in "\x07\x0f":
            pass
        elif unicodedata.category(char) == "Cc":
            raise ValueError(f"unknown control {char!r}")
        else:
            if self.column >= COLUMNS:
                self.column = 0
                self.down()
            line = self.lines[self.row]
            line.extend([(" ", "")] * (self.column + 1 - len(line)))
            line[self.column] = (char, self.style)
            self.column += 1

    def down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])

    def move(self, row, column):
        self.row = min(max(row, self.top()), self.top() + ROWS - 1)
        self.lines.extend([] for _ in range(self.row + 1 - len(self.lines)))
        self.column = min(max(column, 0), COLUMNS - 1)

    def control(self, private, final, numbers, answer):
        first = numbers[0] if numbers else 0
        line = self.lines[self.row]
        if private or final in "hlqtru":
            # Modes, cursor shapes and questions about what the terminal can do; none of it shows.
            if final == "u" and private == "?" or final == "c":
                return
        elif final == "m":
            self.style = style(self.style, numbers or [0])
        elif final == "K":
            if first == 0:
                del line[self.column:]
            elif first == 2:
                line.clear()
            else:
                raise ValueError(f"unknown erasure {first}")
        elif final == "J":
            if first == 0:
                del line[self.column:]
                del self.lines[self.row + 1:]
            elif first in (2, 3):
                for line in self.lines[self.top():]:
                    line.clear()
        elif final in "AB":
            self.move(self.row + max(first, 1) * (-1 if final == "A" else 1), self.column)
        elif final in "CD":
            self.move(self.row, self.column + max(first, 1) * (-1 if final == "D" else 1))
        elif final in "EF":
            self.move(self.row + max(first, 1) * (-1 if final == "F" else 1), 0)
        elif final == "G":
            self.move(self.row, max(first, 1) - 1)
        elif final in "Hf":
            row, column = (numbers + [1, 1])[:2] if len(numbers) < 2 else numbers[:2]
            self.move(self.top() + max(row, 1) - 1, max(column, 1) - 1)
        elif final == "n" and first == 6:
            answer(f"\x1b[{self.row - self.top() + 1};{self.column + 1}R".encode())
        elif final == "c":
            answer(b"\x1b[?6c")
        else:
            raise ValueError(f"unknown sequence: {numbers} {final!r}")

    def text(self):
        return "\n".join("".join(char for char, _ in line).rstrip() for line in self.lines)


COLORS = ["k", "r", "g", "y", "b", "p", "c", "w"]


def style(old, numbers):
    """The classes of what is drawn next."""
    classes = set(old.split())
    numbers = iter(numbers)
    for number in numbers:
        if number == 0:
            classes.clear()
        elif number in (1, 2, 3, 4):
            classes.add(["bold", "dim", "slant", "line"][number - 1])
        elif number == 22:
            classes -= {"bold", "dim"}
        elif number in (23, 24):
            classes.discard("slant" if number == 23 else "line")
        elif 30 <= number <= 37 or 90 <= number <= 97 or number in (38, 39):
            classes -= set(COLORS)
            if number == 38:
                # Of the 256 colours the first sixteen have names.
                if next(numbers, None) == 5:
                    index = next(numbers, 16)
                    classes |= {COLORS[index % 8]} if index < 16 else set()
                else:
                    [next(numbers, None) for _ in range(3)]
            elif number != 39:
                classes.add(COLORS[number % 10])
        # Backgrounds and the rest are left out: the picture has one background.
    return " ".join(sorted(classes))


def run(command, keys, screen, place, binaries):
    """Runs one command line in a terminal until it ends; it must end well."""
    environment = {
        "HOME": str(place),
        "MC_HOME": str(place / ".magi-code"),
        "PATH": f"{binaries}:/usr/bin:/bin",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    child, terminal = pty.fork()
    if child == 0:
        try:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(place / "greeter")
            os.execve("/bin/sh", ["sh", "-c", f"exec {command}"], environment)
        finally:
            os._exit(127)
    ends = time.monotonic() + STEP_SECONDS
    keys = list(keys)
    seen = len(screen.text())
    while True:
        left = ends - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise SystemExit(f"{command}: does not end within {STEP_SECONDS} s\n{screen.text()}")
        try:
            data = os.read(terminal, 65536)
        except OSError:  # how Linux tells the end of a terminal
            data = b""
        if not data:
            break
        screen.feed(data, lambda said: os.write(terminal, said))
        while keys and keys[0][0] in screen.text()[seen:]:
            seen = len(screen.text())
            os.write(terminal, keys.pop(0)[1].encode())
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status or keys:
        raise SystemExit(f"{command}: exit status {status}, not typed: {keys}\n{screen.text()}")


def record(binaries):
    """The lines that a terminal shows, each a list of characters and their classes."""
    screen = Screen()
    with tempfile.TemporaryDirectory(prefix="first-minute-") as place:
        place = pathlib.Path(place).resolve()
        (place / "greeter").mkdir()
        for name, text in PROJECT.items():
            (place / "greeter" / name).write_text(text)
        for command, keys in STEPS:
            for char, classes in [("$", "g bold"), (" ", "")] + [(char, "bold") for char in command]:
                screen.style = classes
                screen.put(char)
            screen.style = ""
            screen.feed(b"\r\n", None)
            run(command, keys, screen, place, binaries)
            if screen.column:
                screen.feed(b"\r\n", None)
            screen.feed(b"\r\n", None)
        lines = [replaced(line, str(place)) for line in screen.lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def replaced(line, place):
    """The same without what differs from run to run. What is replaced has one look."""
    text = "".join(char for char, _ in line)
    for pattern, by in [(re.compile(re.escape(place)), "~"), *REPLACED]:
        while True:
            found = pattern.search(text)
            if not found or found[0] == by:
                break
            line = line[:found.start()] + [(char, line[found.start()][1]) for char in by] + line[found.end():]
            text = "".join(char for char, _ in line)
    return line


def draw(lines):
    """The picture: one element a run of characters that look alike, placed by its column."""
    wide, high = 8.4, 19
    width, height = int(COLUMNS * wide) + 32, len(lines) * high + 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        "<title>A first minute with magi-code in a terminal</title>",
        "<style>",
        "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d8dee9;white-space:pre}",
        ".bold{font-weight:700}.dim{opacity:.65}.slant{font-style:italic}.line{text-decoration:underline}",
        ".k{fill:#7b88a1}.r{fill:#e0707c}.g{fill:#a3be8c}.y{fill:#ebcb8b}.b{fill:#81a1c1}.p{fill:#b48ead}.c{fill:#88c0d0}.w{fill:#eceff4}",
        "</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#242933"/>',
        '<circle cx="20" cy="18" r="5.5" fill="#e0707c"/><circle cx="38" cy="18" r="5.5" fill="#ebcb8b"/>'
        '<circle cx="56" cy="18" r="5.5" fill="#a3be8c"/>',
    ]
    for number, line in enumerate(lines):
        runs, at = [], 0
        for char, classes in line:
            if runs and runs[-1][1] == classes:
                runs[-1][2].append(char)
            else:
                runs.append((at, classes, [char]))
            at += 1
        spans = []
        for column, classes, chars in runs:
            text = "".join(chars)
            if text.strip():
                look = f' class="{classes}"' if classes else ""
                spans.append(f'<tspan x="{16 + column * wide:g}"{look}>{html.escape(text, quote=False)}</tspan>')
        if spans:
            parts.append(f'<text y="{52 + number * high}" xml:space="preserve">{"".join(spans)}</text>')
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def words(picture):
    """What a picture says, line by line."""
    tree = xml.etree.ElementTree.fromstring(picture)
    return ["".join(line.itertext()) for line in tree.iter("{http://www.w3.org/2000/svg}text")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=HERE.parent.parent / "target/debug", help="the folder of the built programs")
    parser.add_argument("--check", action="store_true", help="write nothing; say whether the picture is still true")
    given = parser.parse_args()
    binaries = pathlib.Path(given.bin).resolve()
    if not shutil.which("magi-code", path=str(binaries)):
        raise SystemExit(f"no magi-code in {binaries}")
    picture = draw(record(binaries))
    if not given.check:
        PICTURE.write_text(picture)
        return
    old, new = words(PICTURE.read_text()), words(picture)
    if old != new:
        told = difflib.unified_diff(old, new, "session.svg", "now", lineterm="")
        raise SystemExit("\n".join(told) + f"\nrun {pathlib.Path(__file__).name} to draw it again")


if __name__ == "__main__":
    sys.exit(main())
