"""A local web page that shows the progress of trainings."""

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
    """A local web server for the progress of a sweep, or of trainings with checkpoints.

    It listens on the loopback address. It only reads files of the folder, writes nothing, and does not
    affect the trainings.

    !!! example

        ```python
        import shootax as sx

        with sx.report.Watch(".") as watch:
            print(watch.url.startswith("http://127.0.0.1:"))  # True
        ```
    """

    def __init__(self, folder: Any, port: int = 0):
        """**Arguments:**

        - `folder`: the folder of the sweep or of the checkpoints.
        - `port`: the port, 0 for a free one.
        """
        self.folder = pathlib.Path(checks.path(folder, "folder"))
        if not self.folder.is_dir():
            raise ValueError(f"There is no folder {folder} to watch. Check the path.")
        self.folder = self.folder.resolve()
        self._server = _Server((ADDRESS, port), _routes(self.folder))
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{ADDRESS}:{self.port}/"

    def serve(self) -> None:
        """Serve until interrupted."""
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
    """All paths that the server answers. No part of a request is ever used as a file name."""

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
<section><h2>Running trainings</h2>
<p class="about">The curves in the checkpoints, which a training updates about every 30 seconds.</p>
<div id="curves-body"></div></section>
<section><h2>Finished runs</h2>
<p class="about">Each mark is a run. Choose what to compare.</p>
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
    # A server that was killed can be restarted at once. On Windows, two could share a port.
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
        # Another site may resolve its own host name to this address (DNS rebinding). It must not read
        # this page.
        if (
            self.headers.get_all("Host") is None
            or not set(self.headers.get_all("Host", [])) <= hosts
        ):
            self._send(
                HTTPStatus.FORBIDDEN,
                "text/plain",
                "This server only answers on this machine.\n",
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
        """Log nothing, because the page sends a request every few seconds."""
