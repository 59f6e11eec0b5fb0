#!/usr/bin/env python3
"""How long a key and a server's byte take to a terminal in `magi-code chat`: a terminal of its own (pty) and a server on
loopback that speaks OpenAI's chat completions.

    cargo build --release --bin magi-code && python3 benches/chat_latency.py target/release/magi-code

Prints p50, p99 and the worst of each, in milliseconds. Only what comes out of the terminal counts, so the figures hold two
processes (the chat and its server), their pipe, and this script's own reading.
"""

import json
import os
import pty
import select
import statistics
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEYS = 300
WORDS = 300

sent = {}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

        def event(delta, end=None):
            choice = {"index": 0, "delta": delta, "finish_reason": end}
            data = json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [choice]})
            self.wfile.write(f"data: {data}\n\n".encode())
            self.wfile.flush()

        for number in range(WORDS):
            word = f"w{number:04}w"
            sent[word] = time.perf_counter()
            event({"content": word + " "})
            time.sleep(0.01)
        event({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


def read(terminal, patience):
    ready, _, _ = select.select([terminal], [], [], patience)
    if not ready:
        raise SystemExit("nothing came from the chat")
    return os.read(terminal, 65536)


def until(terminal, word):
    seen = b""
    while word not in seen:
        chunk = read(terminal, 30)
        seen += chunk
        # Where the editor asks for the cursor, a terminal answers.
        if b"\x1b[6n" in chunk:
            os.write(terminal, b"\x1b[1;1R")
    return seen


def tell(what, seconds):
    ms = sorted(1000 * it for it in seconds)
    p99 = ms[min(len(ms) - 1, int(len(ms) * 0.99))]
    print(f"{what}: p50 {statistics.median(ms):.2f} ms, p99 {p99:.2f} ms, worst {ms[-1]:.2f} ms ({len(ms)} of them)")


def main():
    program = os.path.abspath(sys.argv[1])
    server = HTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = tempfile.mkdtemp()
    base = f"http://127.0.0.1:{server.server_port}/v1"
    settings = {"provider": "own", "model": "m", "providers": {"own": {"api": "openai-chat", "base_url": base}}}
    os.makedirs(f"{place}/mc")
    with open(f"{place}/mc/settings.json", "w") as file:
        json.dump(settings, file)
    env = {"PATH": os.environ["PATH"], "HOME": place, "MC_HOME": f"{place}/mc", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(place)
        os.execve(program, [program, "chat"], env)
    until(terminal, "›".encode())
    time.sleep(0.3)

    keys = []
    for number in range(KEYS):
        key = bytes([ord("a") + number % 26])
        began = time.perf_counter()
        os.write(terminal, key)
        until(terminal, key)
        keys.append(time.perf_counter() - began)
        time.sleep(0.005)
        while select.select([terminal], [], [], 0)[0]:
            os.read(terminal, 65536)
    tell("a key to the screen", keys)

    os.write(terminal, b"\x03")
    until(terminal, "›".encode())
    time.sleep(0.3)
    os.write(terminal, b"hi\r")
    words, seen = [], b""
    while len(words) < WORDS:
        seen += read(terminal, 30)
        now = time.perf_counter()
        while True:
            word = f"w{len(words):04}w"
            at = seen.find(word.encode())
            if at < 0:
                break
            words.append(now - sent[word])
            seen = seen[at + len(word):]
            if len(words) == WORDS:
                break
    tell("a server's word to the screen", words)
    os.write(terminal, b"\x04")
    os.close(terminal)
    os.waitpid(pid, 0)


main()
