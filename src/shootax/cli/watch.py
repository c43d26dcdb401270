"""A live view of a folder of trainings."""

import contextlib
import pathlib

from shootax import report
from shootax.cli.text import say


def run(folder: pathlib.Path, port: int) -> None:
    """Serve the view until interrupted."""
    try:
        watch = report.Watch(folder, port)
    except OSError as error:
        raise ValueError(
            f"Port {port} cannot be used ({error.strerror}). Choose another with --port."
        ) from error
    say(f"Watching {folder}: open {watch.url} in a browser. Press Ctrl-C to stop.")
    with contextlib.suppress(KeyboardInterrupt):
        watch.serve()
