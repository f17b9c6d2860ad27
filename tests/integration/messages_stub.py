# SPDX-License-Identifier: MIT
"""A stand-in for the Messages API, enough for a whole turn of the real claude: to a question with tools it answers with a call of
Bash, to that call's result with a text that repeats it."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GUEST_ADDRESS = "169.254.1.2"  # where pasta shows the host's own address to a guest


def host_address():
    """The machine's address towards others; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("198.51.100.1", 9))
        return s.getsockname()[0]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.reply("text/plain", b"")

    do_GET = do_HEAD

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        self.server.requests.append(body)
        content = (body.get("messages") or [{}])[-1].get("content")
        results = [b for b in content if b.get("type") == "tool_result"] if isinstance(content, list) else []
        if results:
            self.answer(body, {"type": "text", "text": "RESULT " + json.dumps(results[0]["content"])}, "end_turn")
        elif body.get("tools"):
            call = {"command": self.server.command, "description": "look"}
            self.answer(body, {"type": "tool_use", "id": "toolu_01", "name": "Bash", "input": call}, "tool_use")
        else:
            self.answer(body, {"type": "text", "text": "{}"}, "end_turn")

    def answer(self, body, block, stop_reason):
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_01", "type": "message", "role": "assistant", "model": body.get("model"), "content": [block],
                   "stop_reason": stop_reason, "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            return self.reply("application/json", json.dumps(message).encode())

        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start, delta = dict(block, input={}), {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events = [
            {"type": "message_start", "message": dict(message, content=[], stop_reason=None)},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        text = "".join("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e)) for e in events)
        return self.reply("text/event-stream", text.encode())

    def reply(self, kind, data):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class MessagesStub(ThreadingHTTPServer):
    """Serves until close(). `requests` are the bodies that came; `command` is what the model asks Bash for."""

    daemon_threads = True

    def __init__(self, command):
        super().__init__((host_address(), 0), Handler)
        self.requests = []
        self.command = command
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def environment(self):
        """Lines for a profile's .env."""
        return ("ANTHROPIC_BASE_URL=http://%s:%d\nANTHROPIC_API_KEY=x\nIS_SANDBOX=1\n" % (GUEST_ADDRESS, self.server_port))

    def close(self):
        self.shutdown()
        self.server_close()
