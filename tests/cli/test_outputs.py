"""No command overwrites what it reads, and bad places for results are told before the work."""

import os
import subprocess
import sys

import jax
import pandas as pd
import pytest

import shootax as sx

pytestmark = pytest.mark.usefixtures("standard_promotion")

TABLE = "x,y\n" + "".join(f"{i % 7},{i % 5}.5\n" for i in range(20))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table and a net, and nothing that may be computed."""
    from shootax import export
    from shootax.sklearn import _training as training

    def work(*_, **__):
        raise AssertionError("The work has begun.")

    for module, name in (
        (training, "train"),
        (sx, "compress"),
        (export, "write"),
    ):
        monkeypatch.setattr(module, name, work)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text(TABLE)
    sx.save("net", sx.Net(sx.Affine(2), particles=2, key=jax.random.key(0)))
    return tmp_path


COMMANDS = {
    "fit": ("fit", "d.csv", "--target", "y", "--out"),
    "predict": ("predict", "net", "d.csv", "--out"),
    "compress": ("compress", "net", "--out"),
    "export": ("export", "net", "--to", "onnx", "--out"),
}


@pytest.mark.parametrize(
    ("command", "source"),
    [("fit", "d.csv"), ("predict", "net"), ("predict", "d.csv"), ("compress", "net"),
     ("export", "net")],
)  # fmt: skip
def test_inputs_are_spared(shootax, here, command, source):
    os.link(source, "other.csv")
    before = (here / source).read_bytes()
    for out in (source, f"./{source}", "other.csv"):
        code, _, _ = shootax(*COMMANDS[command], out)
        assert "would overwrite" in code
        assert (here / source).read_bytes() == before


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("out", "message"), [(".", "is a folder"), ("no/m", "There is no folder")])
def test_bad_places_are_told_first(shootax, here, command, out, message):
    code, _, _ = shootax(*COMMANDS[command], out)
    assert message in code


@pytest.mark.parametrize("out", ["p.xlsx", "p", "p.json", "p.csv.zip"])
def test_formats_that_are_not_written_are_refused(shootax, here, out):
    code, _, _ = shootax("predict", "net", "d.csv", "--out", out)
    assert "Choose one of: .csv, .csv.gz, .tsv" in code
    assert not (here / out).exists()


def test_every_format_holds_what_its_name_says(tmp_path):
    from shootax.cli import tables

    frame = pd.DataFrame({"a": [1.5, 2.0], "b": ["x,y", "z"]})
    for name in tables.ENDINGS:
        tables.write(frame, tmp_path / f"t{name}")
        pd.testing.assert_frame_equal(tables.read(tmp_path / f"t{name}"), frame)
    packed = (tmp_path / "t.csv.gz").read_bytes()
    assert packed[:2] == b"\x1f\x8b"
    tables.write(frame, tmp_path / "t.csv.gz")
    assert (tmp_path / "t.csv.gz").read_bytes() == packed  # without a time or a name in it
    assert (tmp_path / "t.tsv").read_text().startswith("a\tb\n")
    assert (tmp_path / "t.parquet").read_bytes()[:4] == b"PAR1"


def test_without_the_calls_that_only_linux_has(tmp_path):
    """As on macOS and Windows: no affinity, no locks, no folder of processes."""
    program = (
        "import os, sys\n"
        "for name in ('sched_getaffinity', 'sched_setaffinity'): delattr(os, name)\n"
        "sys.modules['fcntl'] = None\n"
        "from shootax.sweeps import available_cores\n"
        "assert len(available_cores()) == os.cpu_count()\n"
        "from shootax.cli import main\n"
        "main()\n"
    )
    for arguments, word in ((["--help"], "fit"), (["reproduce", "--list"], "circles")):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert word in done.stdout


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet", "t.csv.bz2", "t.csv.zip", "t.csv.xz"])
def test_a_damaged_table_is_refused_in_our_words(tmp_path, name):
    from shootax.cli import tables

    path, frame = tmp_path / name, pd.DataFrame({"a": range(500), "b": ["x", "y"] * 250})
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path, index=False)
    data = path.read_bytes()
    for spoiled in (data[: len(data) // 2], data[:40] + bytes(60) + data[100:], b"nonsense"):
        path.write_bytes(spoiled)
        with pytest.raises(ValueError, match=rf"{name} cannot be read as a table: \w"):
            tables.read(path)
