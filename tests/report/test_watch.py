"""The live view: what it reads, what it answers, and what it refuses."""

import http.client
import json
import os

import numpy as np
import pytest
from models import regression

import shootax as sx
from shootax.report._progress import progress
from shootax.report._watch import _Server

pytest.importorskip("plotly", reason="needs Plotly: pip install 'shootax[report]'")


@pytest.fixture
def folder(tmp_path):
    """A sweep of four runs, two of which are finished, 60 seconds apart."""
    place = tmp_path / "sweep"
    (place / "runs").mkdir(parents=True)
    (place / "checkpoints").mkdir()
    settings = {"configurations": [{"x": 1}, {"x": 2}], "seeds": [0, 1]}
    (place / "sweep.json").write_text(json.dumps({"settings": settings}))
    for seed in (0, 1):
        path = place / "runs" / f"x-1-s{seed}.json"
        run = {"x": 1, "seed": seed, "status": "ok", "test_mse": 0.5, "long": [1, 2]}
        path.write_text(json.dumps([run]))
        os.utime(path, (1000 + 60 * seed,) * 2)
    return place


def ask(watch, path, *, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", watch.port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    if host != "":
        connection.putheader("Host", f"127.0.0.1:{watch.port}" if host is None else host)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_what_is_finished_and_what_is_left(folder):
    now = progress(folder)
    assert (now["finished"], now["total"], now["left"]) == (2, 4, 2)
    assert now["seconds_left"] == pytest.approx(120)
    assert now["statuses"] == {"ok": 2}
    assert now["runs"][0] == {"x": 1, "seed": 0, "status": "ok", "test_mse": 0.5}


def test_the_number_of_runs_of_an_experiment(tmp_path):
    from shootax.paper import EXPERIMENTS, make_settings, planned

    experiment = EXPERIMENTS["quadratic"]
    settings = make_settings(experiment, "smoke", "paper")
    text = json.dumps({"settings": settings.as_json()})
    (tmp_path / "sweep.json").write_text(text)
    assert progress(tmp_path)["total"] == sum(
        len(group.seeds) for group in planned(experiment, settings)
    )


@pytest.mark.usefixtures("standard_promotion")
def test_the_curve_of_a_checkpointed_training(tmp_path):
    net, x, y = regression()
    sx.fit(net, x, y, epochs=3, batch_size=30, checkpoint=tmp_path / "run.safetensors")
    sx.save(tmp_path / "model.safetensors", net)  # a model is not a training
    (curve,) = progress(tmp_path)["curves"]
    assert curve["name"] == "run"
    assert [epoch for epoch, _ in curve["columns"]["objective"]] == [1, 2, 3]
    assert progress(tmp_path)["damaged"] == []


def test_damaged_files_are_named_and_passed_over(folder):
    (folder / "runs" / "bad.json").write_text("[{")
    (folder / "runs" / "odd.json").write_text('{"a": 1}')
    (folder / "checkpoints" / "cut.safetensors").write_bytes(b"\x10")
    now = progress(folder)
    assert now["finished"] == 2
    assert now["damaged"] == ["bad.json", "cut.safetensors", "odd.json"]


def test_a_compact_copy_of_a_sweep_has_its_results_alone(tmp_path):
    (tmp_path / "results.json").write_text('[{"seed": 0, "status": "ok", "test_mse": 0.5}]')
    assert progress(tmp_path)["runs"] == [{"seed": 0, "status": "ok", "test_mse": 0.5}]


def test_links_out_of_the_folder_are_not_followed(folder, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('[{"status": "ok", "seed": 9, "password": "1234"}]')
    (folder / "runs" / "linked.json").symlink_to(secret)
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "there.json").write_text(secret.read_text())
    (folder / "checkpoints").rmdir()
    (folder / "checkpoints").symlink_to(outside)
    assert "1234" not in json.dumps(progress(folder))


def test_routes_and_headers(folder):
    with sx.report.Watch(folder) as watch:
        for path in ("/", "/watch.js", "/watch.css", "/plotly.js", "/progress.json"):
            answer, body = ask(watch, path)
            assert answer.status == 200
            assert len(body) == int(answer.headers["Content-Length"])
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["Cache-Control"] == "no-store"
        assert json.loads(ask(watch, "/progress.json")[1])["finished"] == 2
        assert ask(watch, "/", method="HEAD")[1] == b""


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "//etc/passwd",
        "/runs/x-1-s0.json",
        "/sweep.json",
        "/progress.json?file=../secret.txt",
        "/progress.json/../../secret.txt",
        "http://127.0.0.1/",
    ],
)
def test_nothing_but_the_routes(folder, path):
    (folder.parent / "secret.txt").write_text("1234")
    with sx.report.Watch(folder) as watch:
        answer, body = ask(watch, path)
    assert answer.status == 404
    assert b"1234" not in body


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "[::1]:80", ""])
def test_other_hosts_are_refused(folder, host):
    with sx.report.Watch(folder) as watch:
        answer, body = ask(watch, "/progress.json", host=host)
    assert answer.status == 403
    assert b"finished" not in body


def test_localhost_is_this_machine(folder):
    with sx.report.Watch(folder) as watch:
        assert ask(watch, "/", host=f"localhost:{watch.port}")[0].status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_it_is_read_only(folder, method):
    before = sorted(path.name for path in folder.rglob("*"))
    with sx.report.Watch(folder) as watch:
        assert ask(watch, "/", method=method)[0].status == 501
        ask(watch, "/progress.json")
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_it_listens_on_the_loopback_address_alone(folder):
    with sx.report.Watch(folder) as watch:
        assert watch._server.server_address[0] == "127.0.0.1"


def test_hostile_text_is_escaped(tmp_path):
    place = tmp_path / "<img src=x>"
    (place / "runs").mkdir(parents=True)
    run = {"status": "</script><script>alert(1)</script>", "seed": 0, "<b>": np.pi}
    (place / "runs" / "a.json").write_text(json.dumps([run]))
    with sx.report.Watch(place) as watch:
        page = ask(watch, "/")[1].decode()
        numbers = ask(watch, "/progress.json")[1].decode()
    assert "<img" not in page
    assert "&lt;img src=x&gt;" in page
    assert "<" not in numbers
    assert json.loads(numbers)["runs"] == [run]


def test_a_folder_that_is_not_there(tmp_path, shootax):
    with pytest.raises(ValueError, match="There is no folder"):
        sx.report.Watch(tmp_path / "nothing")
    assert "There is no folder" in shootax("watch", tmp_path / "nothing")[0]


def test_a_port_is_free_again_at_once_but_never_shared():
    """Windows would share it."""
    assert _Server.allow_reuse_address == (os.name != "nt")
