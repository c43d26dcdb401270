"""A page on this machine alone that shows how trainings go on."""

import functools
import html
import http.server
import os
import pathlib
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from shootax import _checks as checks
from shootax.report._encode import embedded
from shootax.report._page import asset, plotly_script
from shootax.report._progress import progress

ADDRESS = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src data: blob: 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HTML, SCRIPT = "text/html; charset=utf-8", "text/javascript; charset=utf-8"


class Watch:
    """Serves the progress of a sweep, or of checkpointed trainings, on the loopback address.

    It reads files of the folder and writes nothing; the trainings do not know of it.

    !!! example

        ```python
        import shootax as sx

        with sx.report.Watch(".") as watch:
            print(watch.url.startswith("http://127.0.0.1:"))  # True
        ```
    """

    def __init__(self, folder: Any, port: int = 0):
        """**Arguments:** the `folder`, and the `port`, 0 for any that is free."""
        self.folder = pathlib.Path(checks.path(folder, "folder"))
        if not self.folder.is_dir():
            raise ValueError(f"There is no folder {folder} to watch.")
        self.folder = self.folder.resolve()
        self._server = _Server((ADDRESS, port), _routes(self.folder))
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        """Where to look."""
        return f"http://{ADDRESS}:{self.port}/"

    def serve(self) -> None:
        """Answers until interrupted."""
        try:
            self._server.serve_forever()
        finally:
            self._server.server_close()

    def __enter__(self) -> "Watch":
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()


Route = tuple[str, Callable[[], str]]


def _routes(folder: pathlib.Path) -> dict[str, Route]:
    """All that there is to ask for. No part of a request is ever taken for the name of a file."""

    @functools.cache
    def plotly() -> str:
        return plotly_script()

    return {
        "/": (HTML, lambda: _page(folder)),
        "/watch.js": (SCRIPT, lambda: asset("watch.js")),
        "/plotly.js": (SCRIPT, plotly),
        "/watch.css": ("text/css; charset=utf-8", lambda: asset("report.css")),
        "/progress.json": ("application/json", lambda: embedded(progress(folder))),
    }


def _page(folder: pathlib.Path) -> str:
    name = html.escape(folder.name)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{name}</title>
<link rel="stylesheet" href="/watch.css">
</head>
<body>
<header><h1>{name}</h1></header>
<main>
<p id="state" role="status" aria-live="polite">Reading…</p>
<section><h2>Trainings under way</h2>
<p class="about">The curves in the checkpoints, which a training renews every half minute or so.</p>
<div id="curves-body"></div></section>
<section><h2>Finished runs</h2>
<p class="about">Each mark is one run; choose what to compare.</p>
<div class="controls" id="choices"></div><div id="runs-body"></div></section>
<section><h2>Table of runs</h2><div class="wide"><table id="runs"></table></div></section>
<section><h2>Settings</h2><table id="settings"></table></section>
</main>
<script src="/plotly.js"></script>
<script src="/watch.js"></script>
</body>
</html>
"""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    # A view that was killed can be started again at once. Windows would let two share a port.
    allow_reuse_address = os.name != "nt"

    def __init__(self, address: tuple[str, int], routes: dict[str, Route]):
        self.routes = routes
        http.server.ThreadingHTTPServer.__init__(self, address, _Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    server_version, sys_version = "shootax", ""
    timeout = 30

    def do_GET(self) -> None:
        self._answer(True)

    def do_HEAD(self) -> None:
        self._answer(False)

    def _answer(self, with_body: bool) -> None:
        server = self.server
        assert isinstance(server, _Server)
        hosts = {f"{name}:{server.server_address[1]}" for name in (ADDRESS, "localhost")}
        # A page elsewhere may let its own name lead here; it must not get to read this one.
        if (
            self.headers.get_all("Host") is None
            or not set(self.headers.get_all("Host", [])) <= hosts
        ):
            self._send(
                HTTPStatus.FORBIDDEN,
                "text/plain",
                "This server answers on this machine alone.\n",
                with_body,
            )
            return
        route = server.routes.get(self.path)
        if route is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "There is no such page.\n", with_body)
            return
        kind, made = route
        self._send(HTTPStatus.OK, kind, made(), with_body)

    def _send(self, status: HTTPStatus, kind: str, text: str, with_body: bool) -> None:
        body = text.encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: the page asks every few seconds."""
