# SPDX-License-Identifier: MIT
"""A stand-in for a registry: it serves one image, which podman has saved as an OCI directory, under any name, to be pulled."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        parts = self.path.split("/")
        blobs = self.server.directory / "blobs/sha256"
        manifest = json.loads((self.server.directory / "index.json").read_text())["manifests"][0]
        if self.path == "/v2/":
            return self.reply(200, "application/json", b"{}")
        if parts[-2] == "manifests":
            self.server.pulled.append("/".join(parts[2:-2]))
            return self.reply(200, manifest["mediaType"], (blobs / manifest["digest"][7:]).read_bytes(), manifest["digest"])
        if parts[-2] == "blobs" and (blobs / parts[-1][7:]).is_file():
            return self.reply(200, "application/octet-stream", (blobs / parts[-1][7:]).read_bytes(), parts[-1])
        return self.reply(404, "application/json", b'{"errors":[]}')

    do_HEAD = do_GET

    def reply(self, status, kind, data, digest=None):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        if digest:
            self.send_header("docker-content-digest", digest)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)


class RegistryStub(ThreadingHTTPServer):
    """Serves until close(). `pulled` are the names that were asked for."""

    daemon_threads = True

    def __init__(self, directory):
        super().__init__(("127.0.0.1", 0), Handler)
        self.directory = directory
        self.pulled = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def name(self):
        return "127.0.0.1:%d" % self.server_port

    def handle_error(self, request, client_address):
        """podman closes its connections as it likes."""

    def close(self):
        self.shutdown()
        self.server_close()
