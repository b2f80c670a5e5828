"""A server on this machine, an empty cache, and the real sets if they are available."""

import os
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from rankad.datasets.loader import load

DATA_FOLDER = os.environ.get("RANKAD_DATA")


@dataclass
class FileServer:
    """Server of files at 127.0.0.1 that can ignore ranges or break off some of its answers."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    honors_ranges: bool = True
    shifts_ranges: bool = False
    states_length: bool = True
    status: int | None = None
    n_answers_to_cut: int = 0
    n_bytes_before_cut: int = 100_000
    ranges_asked: list[str | None] = field(default_factory=list)

    def answer(self, request):
        asked = request.headers.get("Range")
        self.ranges_asked.append(asked)
        body = self.files.get(request.path)
        if body is None or self.status:
            request.send_error(self.status or 404)
            return
        start = int(asked[6:-1]) if asked and self.honors_ranges else 0
        if start >= len(body) > 0:
            request.send_response(416)
            request.send_header("Content-Range", f"bytes */{len(body)}")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        self.send(request, body, start)

    def send(self, request, body, start):
        first = start - 1 if self.shifts_ranges and start else start
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
        if self.states_length:
            request.send_header("Content-Length", str(len(body) - first))
        request.end_headers()
        n_bytes = len(body)
        if self.n_answers_to_cut:
            self.n_answers_to_cut -= 1
            n_bytes = first + self.n_bytes_before_cut
        request.wfile.write(body[first:n_bytes])


@pytest.fixture
def server():
    files = FileServer()

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self):
            files.answer(self)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        files.url = f"http://127.0.0.1:{listening.server_port}"
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield files
        listening.shutdown()
        thread.join(timeout=10)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache folder, no data folder, no proxy, and no waiting between attempts."""
    monkeypatch.delenv("RANKAD_DATA", raising=False)
    monkeypatch.setenv("RANKAD_CACHE", str(tmp_path / "cache"))
    # urlopen keeps the proxies of its first call, so a change of the environment has no effect.
    monkeypatch.setattr("urllib.request._opener", build_opener(ProxyHandler({})))
    monkeypatch.setattr("rankad.datasets.download.time.sleep", lambda seconds: None)
    return tmp_path / "cache"


@pytest.fixture
def refused_url():
    """An address on this machine at which no server listens."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as closed:
        port = closed.server_port
    return f"http://127.0.0.1:{port}"


@pytest.fixture
def real_set():
    """Function that loads a set from the folder that RANKAD_DATA names."""
    return lambda name: load(name, folder=Path(DATA_FOLDER), download=False)
