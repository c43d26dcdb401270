"""Messages between a parent and the worker it started, each a line of JSON."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Message = dict[str, Any]


class Channel:
    """The worker's side. Anything printed to standard output goes to standard error instead, to keep
    it out of the messages."""

    def __init__(self):
        # On Windows the default encoding of a pipe is not UTF-8.
        self._out = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
        os.dup2(2, 1)
        self._tasks: queue.Queue[Message] = queue.Queue()

    def say(self, message: Mapping[str, Any]) -> None:
        """Send a message to the parent."""
        print(json.dumps(message), file=self._out, flush=True)

    def tasks(self) -> Iterator[Message]:
        """The parent's messages, without end. If the parent closes the channel or dies, this process
        exits at once."""
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            yield self._tasks.get()

    def _listen(self) -> None:
        for line in sys.stdin:
            self._tasks.put(json.loads(line))
        os._exit(0)  # even in the middle of a computation: files are replaced atomically


class Worker:
    """The parent's side: a process that is started when it is first needed."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]):
        """**Arguments:** the `command` to start, and its environment `env`."""

        self._command, self._env = list(command), dict(env)
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message. If the worker has died, `messages` reports it."""
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
        except OSError:  # its pipe is broken
            pass

    def messages(self) -> Iterator[Message]:
        """The worker's messages until it ends. The next `send` then starts a new process.

        The last message is of the form `{"ended": "signal 9"}` or `{"ended": "exit code 0"}`. It is
        missing if `close` ended the worker.
        """
        process = self._started()
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
        code = process.wait()
        self._process = None
        if not self._closed:
            yield {"ended": f"signal {-code}" if code < 0 else f"exit code {code}"}

    def close(self) -> None:
        """Kill the process."""
        self._closed = True
        process = self._process
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()

    def _started(self) -> "subprocess.Popen[str]":
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env=self._env,
                # Only the parent handles a keyboard interrupt; it then ends its workers.
                start_new_session=True,
            )
        return self._process
