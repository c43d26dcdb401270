"""`shootax reproduce --engine`: what belongs to which engine is said before anything runs."""

import pytest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "slurm"], "Unknown --engine 'slurm'. Choose one of: local, ray."),
        (["--engine", "ray", "--jobs", "2"], "--jobs is for --engine local"),
        (["--address", "auto"], "--address, --gpus and --retries are for --engine ray."),
        (["--gpus", "1"], "are for --engine ray"),
    ],
)
def test_options_of_another_engine_are_refused(shootax, tmp_path, options, message):
    code, out, err = shootax(
        "reproduce", "cubic", "--preset", "smoke", "--out", tmp_path / "out", *options
    )
    assert code not in (0, None)
    assert message in " ".join(f"{code} {out} {err}".split())
    assert not (tmp_path / "out").exists()
