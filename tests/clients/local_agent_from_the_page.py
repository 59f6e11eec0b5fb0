"""A client of local-agent that was written from docs/protocols/local-agent.md and nothing else: no other page, no
source, no library of this repository. Comments name the heading that says so. `local_agent_from_the_page.py BINARY` runs in the
workspace, prints what it saw as one JSON object and exits 0, or says what the page did not prepare it for."""

import json
import queue
import subprocess
import sys
import threading

PROTOCOL, VERSION = "magi-code.local-agent", 1  # Envelope, Request
NEEDED = ["initialize", "status", "shutdown", "session.create", "session.open", "history.page", "turn.start",
          "turn.cancel", "approval.answer"]
EVENTS = {"input.persisted", "message.delta", "message.reconcile", "activity", "approval.requested", "diagnostic",
          "run.finished"}  # Events
PATIENCE = 60


class Refused(Exception):
    """The request failed with a code (Response of failure)."""


class Child:
    def __init__(self, binary):
        # Launch: these arguments, pipes, the current directory is the workspace.
        self.process = subprocess.Popen([binary, "serve", "--stdio"], bufsize=0, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.frames = queue.Queue()
        self.events = []
        self.instance, self.seq, self.requests = None, 0, 0
        # Launch: read from the first moment on, in a task of its own.
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        buffer = b""
        while chunk := self.process.stdout.read(65536):
            buffer += chunk
            *lines, buffer = buffer.split(b"\n")  # Framing: collect bytes up to LF
            for line in lines:
                self.frames.put(line)
        self.frames.put(None)  # Framing: a last line without LF is dropped

    def receive(self):
        line = self.frames.get(timeout=PATIENCE)
        if line is None:
            return None
        assert len(line) + 1 <= 65536, "Framing: an output frame has at most 65,536 bytes"
        frame = json.loads(line)
        # Envelope: stop at an unknown protocol, version, type or event.
        assert (frame["protocol"], frame["version"]) == (PROTOCOL, VERSION), frame
        assert frame["type"] in ("response", "event"), frame
        self.instance = self.instance or frame["instance_id"]
        assert frame["instance_id"] == self.instance, "Envelope: the same in all frames of a child"
        assert frame["seq"] > self.seq, "Response: strictly increasing"
        self.seq = frame["seq"]
        if frame["type"] == "event":
            assert frame["event"] in EVENTS, frame
        return frame

    def send(self, method, params, request_id=None):
        if request_id is None:
            self.requests += 1
            request_id = f"r{self.requests}"  # Envelope: each id used once
        self.write({"protocol": PROTOCOL, "version": VERSION, "id": request_id, "method": method, "params": params})
        return request_id

    def write(self, frame):
        line = json.dumps(frame, ensure_ascii=False).encode() + b"\n"
        assert len(line) - 1 <= 65536, "Framing: a request has at most 65,536 bytes"
        self.process.stdin.write(line)

    def response(self, request_id):
        """The response to a request; events that come first are kept (Order: correlate by id)."""
        while True:
            frame = self.receive()
            assert frame is not None, "the child has ended"
            if frame["type"] == "event":
                self.events.append(frame)
            elif frame["id"] == request_id:
                if "error" in frame:
                    raise Refused(frame["error"]["code"])
                return frame["result"]

    def call(self, method, params):
        return self.response(self.send(method, params))

    def event(self):
        if self.events:
            return self.events.pop(0)
        frame = self.receive()
        assert frame is not None and frame["type"] == "event", frame
        return frame

    def initialize(self):
        result = self.call("initialize", {"required_capabilities": NEEDED})
        assert set(NEEDED) <= set(result["capabilities"])
        assert result["status"]["readiness"] == "ready" and result["status"]["state"] == "idle"
        return result

    def end(self):
        """Closing: the end of the input ends the child; 0 says that everything was delivered."""
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


def turn(child, session, prompt, answer=None, stop_at=None):
    """One run, to its last event (Order, 3 to 7)."""
    run = child.call("turn.start", {"session_id": session, "prompt": prompt})
    assert run["accepted"] is True
    identity = {"session_id": session, "run_id": run["run_id"]}
    durable, shown, whole, parts, tools, acknowledged = False, {}, {}, {}, {}, []
    while True:
        frame = child.event()
        name, data = frame["event"], frame["data"]
        assert data["session_id"] == session and data["run_id"] == run["run_id"]
        if name == "input.persisted":
            assert not durable and data["durable"] is True
            durable = True
            continue
        assert durable or name == "run.finished", "Order, 4: input.persisted is the first event"
        if name == "message.delta":
            shown[data["message_id"]] = shown.get(data["message_id"], "") + data["text"]
            if stop_at is not None and stop_at in shown[data["message_id"]] and not acknowledged:
                acknowledged.append(child.call("turn.cancel", identity))
        elif name == "message.reconcile":
            gathered = parts.setdefault(data["message_id"], [])
            assert data["part"] == len(gathered), "Order, 5: numbers of its own from 0"
            gathered.append(data["text"])
            if data["last_part"]:
                whole[data["message_id"]] = "".join(gathered)
        elif name == "activity":
            assert data["state"] in ("started", "completed", "failed"), data
            assert (data["state"] == "started") == (data["activity_id"] not in tools), "Order, 6"
            tools[data["activity_id"]] = [data["name"], data["state"]]
        elif name == "approval.requested":
            reply = dict(identity, approval_id=data["approval_id"], allow=answer(data["summary"]))
            assert child.call("approval.answer", reply) == {"recorded": True}
        elif name == "run.finished":
            assert not acknowledged or acknowledged == [{"cancellation_requested": True}]
            return {"text": "|".join(whole.values()), "outcome": data["outcome"], "persistence": data["persistence"],
                    "tools": list(tools.values())}, data["revision"]


def history(child, session, revision):
    """All pages under one revision, messages put together from their parts (history.page, Entry)."""
    entries, cursor = [], None
    while True:
        page = child.call("history.page", {"session_id": session, "revision": revision, "cursor": cursor})
        assert page["revision"] == revision and len(page["entries"]) <= 100
        for entry in page["entries"]:
            if entry["part"] == 0:
                entries.append({"id": entry["message_id"], "kind": entry["kind"], "text": ""})
            assert entries[-1]["id"] == entry["message_id"]
            entries[-1]["text"] += entry["text"]
        cursor = page["next_cursor"]
        if cursor is None:
            assert page["complete"] is True
            return entries


def refusal(act):
    try:
        act()
    except Refused as refused:
        return str(refused)
    raise AssertionError("it was not refused")


def main(binary):
    seen = {"refusals": []}
    child = Child(binary)
    # Not this: what people try first is refused, has no id that could be read, and the connection goes on.
    child.write({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    seen["refusals"].append(refusal(lambda: child.response(None)))
    child.initialize()
    assert child.call("status", {})["session_id"] is None
    child.send("status", {}, "twice")
    child.response("twice")
    child.send("status", {}, "twice")
    seen["refusals"].append(refusal(lambda: child.response("twice")))
    seen["refusals"].append(refusal(lambda: child.call("session.open", {"session_id": "no-such-session"})))
    created = child.call("session.create", {})
    assert created["durable"] is False
    session = created["session_id"]
    seen["first"], revision = turn(child, session, "Look.", answer=lambda summary: "yes.txt" in summary)
    assert history(child, session, revision)
    seen["second"], revision = turn(child, session, "Again.", stop_at="Half of ")
    statuses = [child.end()]

    # The session is durable, so a later child opens it and shows the same.
    child = Child(binary)
    child.initialize()
    opened = child.call("session.open", {"session_id": session})
    assert opened["durable"] is True
    entries = history(child, session, opened["revision"])
    seen["history"] = {
        "assistant": "|".join(entry["text"] for entry in entries if entry["kind"] == "assistant"),
        "user": [entry["text"] for entry in entries if entry["kind"] == "user"],
    }
    assert child.call("shutdown", {}) == {"state": "stopping"}
    assert child.receive() is None, "Closing: nothing comes behind the answer"
    seen["statuses"] = statuses + [child.process.wait(PATIENCE)]
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
