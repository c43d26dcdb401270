"""What a sweep shows: bars in a terminal, plain lines elsewhere."""

import io

import pytest
from rich.console import Console

from shootax.sweeps import Group, duration
from shootax.sweeps._display import display

GROUP = Group("dynamic-a16-k15-s0-1", "dynamic-particles α=16 K=15", {}, (0, 1))
RUNS = [
    {"status": "ok", "seconds": 2.0, "reason": None},
    {"status": "diverged", "seconds": 2.0, "reason": "It went [too] far."},
]


def shown(terminal):
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=120)
    with display("quadratic", 4, console) as told:
        told.begin(GROUP)
        told.progress(GROUP, {"done": 3, "total": 500, "text": "loss 7"})
        told.progress(GROUP, {"text": "measuring"})
        told.end(GROUP, RUNS)
    return file.getvalue()


def test_plain_lines():
    text = shown(terminal=False)
    first, second = text.splitlines()
    assert first.startswith("[2/4] dynamic-particles α=16 K=15: 1 ok, 1 diverged; 4 s; about ")
    assert second.strip() == "It went [too] far."


def test_bars():
    text = shown(terminal=True)
    assert "quadratic" in text
    assert "2/4 runs" in text
    assert "[2/4] dynamic-particles α=16 K=15" in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(9.6, "10 s"), (150, "2 min"), (5940, "99 min"), (7500, "2 h 05 min")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text
