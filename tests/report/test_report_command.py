"""`shootax report`."""

import numpy as np
import pytest
from models import regression, regressor, sequences

import shootax as sx

pytest.importorskip("plotly", reason="needs Plotly: pip install 'shootax[report]'")
pytestmark = pytest.mark.usefixtures("standard_promotion")


def test_a_net_with_a_table(shootax, tmp_path):
    net, x, y = regression()
    sx.save(tmp_path / "net.safetensors", net, record={"seed": 7, "history": {"objective": [1.0]}})
    table = "a,b\n" + "".join(f"{u:.6f},{v:.6f}\n" for u, v in zip(x[:, 0], y[:, 0], strict=True))
    (tmp_path / "data.csv").write_text(table)
    out = tmp_path / "report.html"
    code, printed, _ = shootax(
        "report", tmp_path / "net.safetensors", "--data", tmp_path / "data.csv", "--target", "b",
        "--out", out,
    )  # fmt: skip
    assert code == 0
    assert "Written" in printed
    text = out.read_text(encoding="utf-8")
    checksum = sx.load_record(tmp_path / "net.safetensors")["checksum"]
    assert checksum in text
    assert '<th scope="row">seed</th><td>7</td>' in text
    assert '"training":{"objective":[1.0]}' in text


def test_a_net_with_arrays(shootax, tmp_path):
    net, x, y = sequences()
    sx.save(tmp_path / "net.safetensors", net)
    np.savez(tmp_path / "data.npz", x=x, y=y, times=np.linspace(0, 1, 6))
    out = tmp_path / "report.html"
    code, _, _ = shootax(
        "report", tmp_path / "net.safetensors", "--data", tmp_path / "data.npz", "--out", out
    )
    assert code == 0
    assert '"kind":"sequences"' in out.read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_estimator_without_data(shootax, tmp_path):
    model, _, _ = regressor()
    model.save(tmp_path / "model.safetensors")
    out = tmp_path / "report.html"
    code, _, _ = shootax("report", tmp_path / "model.safetensors", "--out", out)
    assert code == 0
    assert "ShootingRegressor" in out.read_text(encoding="utf-8")


def test_requests_that_make_no_sense(shootax, tmp_path):
    net, x, _ = regression()
    path = tmp_path / "net.safetensors"
    sx.save(path, net)
    out = tmp_path / "report.html"
    assert "would overwrite" in shootax("report", path, "--out", path)[0]
    assert "give the table with --data" in shootax("report", path, "--target", "b", "--out", out)[0]
    np.savez(tmp_path / "data.npz", inputs=x)
    message = shootax("report", path, "--data", tmp_path / "data.npz", "--out", out)[0]
    assert "no array called x" in message
    (tmp_path / "data.csv").write_text("a,b\n1,red\n2,blue\n")
    message = shootax("report", path, "--data", tmp_path / "data.csv", "--out", out)[0]
    assert "'b'" in message
    assert not out.exists()


@pytest.mark.slow
def test_a_model_of_a_table_knows_its_columns(shootax, tmp_path):
    rows = [f"{i / 30},{'red' if i % 3 else 'blue'},{(i / 30) ** 2}" for i in range(30)]
    data, model, out = (tmp_path / n for n in ("data.csv", "model.safetensors", "report.html"))
    data.write_text("\n".join(["size,<b>colour</b>,price", *rows]))
    code, _, _ = shootax("fit", data, "--target", "price", "--out", model, "--epochs", 2)
    assert code == 0
    code, _, _ = shootax("report", model, "--data", data, "--out", out)
    assert code == 0
    text = out.read_text(encoding="utf-8")
    assert "&lt;b&gt;colour&lt;/b&gt;" in text
    assert "<b>colour" not in text
    assert '"kind":"numbers","names":["price"]' in text
