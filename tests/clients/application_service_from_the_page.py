"""A client of application-service that was written from docs/protocols/application-service.md and nothing else. Comments
name the heading that says so. `application_service_from_the_page.py BINARY` runs in the workspace, prints what it saw as one JSON
object and exits 0, or says what the page did not prepare it for."""

import json
import subprocess
import sys

NEEDED = {"initialize", "status", "session.open", "session.replay", "session.close", "turn.start", "turn.cancel"}
EVENTS = {"turn.started", "turn.assistant_delta", "turn.activity", "turn.terminal",
          "auth.login.progress", "auth.login.terminal"}  # Events; those of a login come to whoever starts one


class Refused(Exception):
    """A response with an error (Response of failure)."""


class Service:
    def __init__(self, binary):
        self.process = subprocess.Popen([binary, "--app", "service"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.events, self.requests = [], 0

    def receive(self):
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            return None
        assert len(line) <= 65536, "Framing"
        record = json.loads(line)
        assert record["protocol_version"] == 1 and record["kind"] in ("response", "event"), record
        if record["kind"] == "event":
            assert record["event"] in EVENTS, record
        else:
            # Envelope: all members always; a success has error null, a failure payload null.
            assert (record["error"] is None) != (record["payload"] is None), record
        return record

    def send(self, method, payload, session=None):
        self.requests += 1
        request = {"protocol_version": 1, "kind": "request", "request_id": f"q{self.requests}", "session_id": session,
                   "method": method, "payload": payload}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        return request["request_id"]

    def call(self, method, payload, session=None):
        request_id = self.send(method, payload, session)
        while True:
            record = self.receive()
            if record["kind"] == "event":
                self.events.append(record)
            elif record["request_id"] == request_id:
                if record["error"] is not None:
                    raise Refused(record["error"]["code"])
                return record["payload"]

    def initialize(self):
        told = self.call("initialize", {"supported_protocol_versions": [1]})
        # Order, 1: compare what is advertised, all events included.
        assert NEEDED <= set(told["capabilities"]["operations"]) and set(told["capabilities"]["events"]) <= EVENTS

    def turn(self, prompt, session=None, cancel_at=None):
        """One turn, to its terminal event (Order, 2 to 5)."""
        accepted = self.call("turn.start", {"prompt": prompt}, session)
        turn, last, text, cancelled = accepted["turn_id"], -1, "", None
        while True:
            event = self.events.pop(0) if self.events else self.receive()
            payload = event["payload"]
            assert payload["turn_id"] == turn and event["session_id"] == accepted["session_id"], event
            assert payload["sequence"] > last, "Order, 4: it only grows"
            assert (event["event"] == "turn.started") == (last == -1), "Order, 3: the first event, with 0"
            last = payload["sequence"]
            if event["event"] == "turn.assistant_delta":
                text += payload["text"]
                if cancel_at is not None and cancel_at in text and cancelled is None:
                    cancelled = self.call("turn.cancel", {"turn_id": turn})["status"]
            if event["event"] == "turn.terminal":
                assert payload["assistant_text"] == text, "Order, 4: text is never dropped"
                return accepted["session_id"], {"status": payload["status"], "text": text, "cancelled": cancelled}

    def replay(self, session):
        """All that is stored, page by page (Order, 6)."""
        messages, after = [], None
        while True:
            page = self.call("session.replay", {"after": after, "limit": 2}, session)
            assert not page["resync_required"] and not page["gap"]
            for item in page["events"]:
                if item["kind"] == "message" and item["part"] == 0:
                    messages.append([item["role"], ""])
                if item["kind"] == "message":
                    messages[-1][1] += item["text"]
            after = page["next_cursor"]
            if not page["truncated"]:
                return messages

    def end(self):
        self.process.stdin.close()
        assert self.receive() is None
        return self.process.wait(60)


def main(binary):
    service, seen = Service(binary), {}
    try:
        service.call("status", {})
    except Refused as refused:
        seen["refused"] = str(refused)
    service.initialize()
    session, seen["first"] = service.turn("Look.")
    _, seen["second"] = service.turn("Again.", session, cancel_at="Half of ")
    seen["closed"] = service.call("session.close", {}, session)["status"]
    seen["status"] = service.end()
    service = Service(binary)
    service.initialize()
    seen["replay"] = service.replay(session)
    service.end()
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
