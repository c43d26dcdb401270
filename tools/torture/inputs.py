"""Bad inputs, by mistake or on purpose: each is refused with an error of the library.

The table of mistakes is that of the tests. Commands are tried as well, and a folder full of traps for the
live view.
"""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
from typing import Any

import jax

from tools.torture import jobs
from tools.torture.ledger import LOST, SILENT, SURVIVED, UNCLEAR, Ledger, described

TESTS = pathlib.Path(__file__).parents[2] / "tests"
TABLE = "a,b,y\n1,x,2\n2,y,3\n3,x,5\n"

# Commands in a folder with `net`, `d.csv` and the files below, each with words of its message.
COMMANDS: list[tuple[list[str], str]] = [
    (["fit", "none.csv", "--target", "y"], "There is no file none.csv"),
    (["fit", "d.csv", "--target", "z"], "There is no column 'z'"),
    (["fit", "d.csv", "--target", "y", "--out", "d.csv"], "would overwrite"),
    (["fit", "d.csv", "--target", "y", "--out", "soft.csv"], "would overwrite"),
    (["fit", "d.csv", "--target", "y", "--out", "hard.csv"], "would overwrite"),
    (["fit", "d.csv", "--target", "y", "--out", "no/m"], "There is no folder"),
    (["fit", "d.csv", "--target", "y", "--out", "."], "is a folder"),
    (["fit", "junk", "--target", "y"], "junk has no rows"),
    (["fit", "cut.csv.gz", "--target", "y"], "cannot be read as a table"),
    (["fit", "huge.csv", "--target", "y"], "infinity in row 1"),
    (["predict", "junk", "d.csv"], "is not a model file"),
    (["predict", "net", "d.csv"], "no estimator"),
    (["predict", "net", "d.csv", "--out", "net"], "would overwrite"),
    (["predict", "net", "d.csv", "--out", "p.xlsx"], "Choose one of"),
    (["info", "junk"], "is not a model file"),
    (["info", "claim"], "is not a model file"),
    (["info", "."], "is a folder"),
    (["export", "net", "--to", "pickle", "--out", "x"], "format"),
    (["export", "net", "--to", "onnx", "--out", "net"], "would overwrite"),
    (["compress", "net", "--out", "net"], "would overwrite"),
    (["compress", "net", "--particles", "a"], "--particles must be whole numbers"),
    (["report", "net", "--out", "net"], "would overwrite"),
    (["report", "net", "--data", "junk.npz", "--out", "r.html"], "cannot be read as arrays"),
    (["report", "net", "--out", "dangling"], "There is no folder"),
    (["certify", "net", "--data", "junk.npy"], "cannot be read as an array"),
    (["certify", "net", "--data", "d.csv"], "not numeric"),
    (["watch", "none"], "There is no folder none"),
    (["reproduce", "no-such-experiment", "--out", "o"], "no-such-experiment"),
    (["plot", "."], "has no results"),
]


def run(seed: int, scale: float, folder: pathlib.Path, ledger: Ledger) -> None:
    """Try all of them; `scale` has no effect."""
    jax.config.update("jax_enable_x64", True)
    _table(ledger)
    _commands(folder, ledger)
    _watched(folder, ledger)


def _table(ledger: Ledger) -> None:
    sys.path.insert(0, str(TESTS))
    import test_bad_inputs as tests  # pyright: ignore[reportMissingImports]

    for parameters, more in ((tests.ALL, ()), (tests.FILES, (pathlib.Path(tempfile.mkdtemp()),))):
        for parameter in parameters:
            case = parameter.values[0]
            ledger.begin("calls", case.name)
            try:
                case.call(*more)
            except case.error as error:
                missing = [words for words in case.words if words not in str(error)]
                outcome = UNCLEAR if missing else SURVIVED
                ledger.note("calls", outcome, f"{case.name}: {described(error)}")
            except Exception as error:
                ledger.note("calls", UNCLEAR, f"{case.name}: {described(error)}")
            else:
                ledger.note("calls", SILENT, f"{case.name} was accepted")


def _commands(folder: pathlib.Path, ledger: Ledger) -> None:
    import gzip

    import shootax as sx
    from shootax.cli import main

    here = folder / "commands"
    here.mkdir()
    os.chdir(here)
    sx.save("net", jobs.net())
    for name, text in (("d.csv", TABLE), ("junk", "nonsense"), ("huge.csv", "a,y\n1e400,1\n2,3\n")):
        pathlib.Path(name).write_text(text, encoding="utf-8")
    for name in ("junk.npz", "junk.npy"):
        pathlib.Path(name).write_bytes(b"nonsense")
    pathlib.Path("cut.csv.gz").write_bytes(gzip.compress(TABLE.encode() * 50)[:30])
    pathlib.Path("claim").write_bytes((2**62).to_bytes(8, "little") + b"{}")
    os.symlink("d.csv", "soft.csv")
    os.link("d.csv", "hard.csv")
    os.symlink("nowhere/file", "dangling")
    before = _contents(here)
    for arguments, words in COMMANDS:
        ledger.begin("commands", " ".join(arguments))
        said: Any = "it succeeded"
        sys.argv, output = ["shootax", *arguments], io.StringIO()
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                main()
        except SystemExit as end:
            said = end.code
        except BaseException as error:
            ledger.note("commands", UNCLEAR, f"{arguments}: {described(error)}")
            continue
        message = f"{said} {output.getvalue()}"
        if (after := _contents(here)) != before:
            ledger.note("commands", LOST, f"{arguments} changed {sorted({*after} ^ {*before})}")
            before = after
        elif said in (0, None):
            ledger.note("commands", SILENT, f"{arguments} succeeded")
        else:
            clear = words in message and "Traceback" not in message
            ledger.note("commands", SURVIVED if clear else UNCLEAR, f"{arguments}: {message[:300]}")
    os.chdir(folder)


def _contents(here: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()}


def _watched(folder: pathlib.Path, ledger: Ledger) -> None:
    """Check that the live view of a folder with traps answers, and shows the valid files."""
    import http.client

    from shootax import report

    place = folder / "watched"
    (place / "checkpoints").mkdir(parents=True)
    (place / "runs").mkdir()
    texts = {
        "deep": "[" * 100_000, "digits": f'[{{"a": {"9" * 5000}}}]', "nan": '[{"a": NaN, "b": 1e999}]',
        "twice": '[{"a": 1, "a": 2}]', "half": '[{"a"', "surrogate": '[{"status": "\\ud800"}]',
        "<img src=x>": '[{"status": "</script><b>"}]', "sound": '[{"seed": 1, "status": "ok"}]',
    }  # fmt: skip
    for name, text in texts.items():
        (place / "runs" / f"{name}.json").write_text(text, encoding="utf-8")
    (place / "runs" / "folder.json").mkdir()
    os.mkfifo(place / "runs" / "pipe.json")
    os.mkfifo(place / "checkpoints" / "pipe.safetensors")
    os.symlink("/etc/passwd", place / "runs" / "out.json")
    os.symlink("round.json", place / "runs" / "round.json")
    header = json.dumps(
        {"__metadata__": {"program": "shootax", "checkpoint": "3"},
         "history.0.a": {"dtype": "F64", "shape": [10**12], "data_offsets": [0, 8 * 10**12]}}
    ).encode()  # fmt: skip
    claim = len(header).to_bytes(8, "little") + header
    (place / "checkpoints" / "claim.safetensors").write_bytes(claim)
    (place / "checkpoints" / "length.safetensors").write_bytes(b"\xff" * 8 + b"{}")
    with report.Watch(place) as watch:
        for path, status in (
            ("/", 200), ("/progress.json", 200), ("/../../etc/passwd", 404), ("//etc/passwd", 404),
            ("/%2e%2e/%2e%2e/etc/passwd", 404), ("/runs/sound.json", 404), ("http://evil.test/", 403),
        ):  # fmt: skip
            ledger.begin("watch", path)
            connection = http.client.HTTPConnection("127.0.0.1", watch.port, timeout=60)
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read().decode()
            wrong = []
            if answer.status != status:
                wrong.append((UNCLEAR, f"{path} was answered with {answer.status}"))
            if "root:" in body or "<img" in body or "</script><b>" in body:
                wrong.append((LOST, f"{path} shows what it should not"))
            if path == "/progress.json" and not _is_sound(json.loads(body)):
                wrong.append((LOST, f"the sound run is not shown: {body[:300]}"))
            ledger.judge("watch", wrong)


def _is_sound(found: dict[str, Any]) -> bool:
    damaged = {"deep.json", "digits.json", "half.json", "folder.json", "pipe.json", "out.json"}
    return {"seed": 1, "status": "ok"} in found["runs"] and damaged <= {*found["damaged"]}


if __name__ == "__main__":
    run(int(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3]), Ledger("inputs"))
