#!/usr/bin/env python3
"""`mty check` and `mty fmt --check` beside `ruff check` and `ruff format --check`, whole processes, by line.

Usage: benches/beside_ruff.py     (needs Python with venv and a package index; builds what it needs)

Both tools read a generated program of ordinary code with the same number of lines, alternating in one run, without
caches. Prints the best of several runs and the ratio for a line; asserts nothing.
"""

import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "beside-ruff"
RUFF = "ruff==0.17.6"

PYTHON_UNIT = '''
class Account{n}:
    """One account with a limit."""

    def __init__(self, owner: str, limit: int = {d}) -> None:
        self.owner = owner
        self.limit = limit
        self.entries: list[int] = []

    def add(self, amount: int) -> bool:
        if self.total() + amount > self.limit:
            return False
        self.entries.append(amount)
        return True

    def total(self) -> int:
        result = 0
        for entry in self.entries:
            result += entry
        return result


def report_{n}(accounts: list[Account{n}]) -> dict[str, int]:
    out: dict[str, int] = {{}}
    for account in accounts:
        if account.total() % {d} == 0:
            out[account.owner] = account.total() * 2
        else:
            out[account.owner] = max(account.total(), {d})
    return out

'''


def python_program(lines: int) -> str:
    units = []
    count = 0
    n = 0
    while count < lines:
        unit = PYTHON_UNIT.format(n=n, d=7 + n % 80)
        units.append(unit)
        count += unit.count("\n")
        n += 1
    return "".join(units).lstrip("\n")


def run(*command: object) -> None:
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True)


def timed(command: list[str]) -> float:
    begun = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    took = time.perf_counter() - begun
    if done.returncode not in (0, 1):
        sys.exit(done.stderr.decode())
    return took


def main() -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    ruff = WORK / "venv" / "bin" / "ruff"
    if not ruff.exists():
        run(sys.executable, "-m", "venv", WORK / "venv")
        run(WORK / "venv" / "bin" / "pip", "install", "--quiet", RUFF)
    run("cargo", "build", "--quiet", "--release", "--bin", "mty")
    mty = ROOT / "target" / "release" / "mty"
    for lines in (10_000, 200_000):
        ours = WORK / f"program_{lines}.mty"
        command = ["cargo", "run", "--quiet", "--release", "-p", "corpus", "--example", "write", "--", str(lines)]
        ours.write_bytes(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
        subprocess.run([mty, "fmt", ours], stderr=subprocess.DEVNULL)
        theirs = WORK / f"program_{lines}.py"
        theirs.write_text(python_program(lines))
        counts = [sum(1 for _ in path.open()) for path in (ours, theirs)]
        for name, our, their in [
            ("check", ["check", ours], ["check", "--no-cache", "--quiet", theirs]),
            ("fmt", ["fmt", "--check", ours], ["format", "--check", "--no-cache", "--quiet", theirs]),
        ]:
            best = [9e9, 9e9]
            for _ in range(15 if lines < 100_000 else 5):
                best[0] = min(best[0], timed([str(part) for part in [mty, *our]]))
                best[1] = min(best[1], timed([str(part) for part in [ruff, *their]]))
            line = [best[i] / counts[i] * 1e6 for i in (0, 1)]
            print(
                f"{name:5} {lines:>7} lines  mty {best[0] * 1e3:7.1f} ms ({line[0]:5.2f} µs a line)  "
                f"ruff {best[1] * 1e3:7.1f} ms ({line[1]:5.2f} µs a line)  ratio {line[0] / line[1]:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
