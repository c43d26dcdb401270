"""The file: self-contained, small, and no text in it is taken for markup."""

import json
import re
import warnings

import numpy as np
import pytest
from models import HOSTILE, KEY, regression, regressor

import shootax as sx
from shootax.report._encode import decoded, embedded, floats, small_integers

plotly = pytest.importorskip("plotly", reason="needs Plotly: pip install 'shootax[report]'")
pytestmark = pytest.mark.usefixtures("standard_promotion")

PAYLOAD = re.compile(r'<script type="application/json" id="payload">(.*?)</script>', re.DOTALL)


def ours(text):
    """The page without plotly.js."""
    from plotly.offline import get_plotlyjs

    return text.replace(get_plotlyjs(), "")


def test_a_report_is_one_small_file_without_links(tmp_path):
    net, x, y = regression()
    path = sx.report.write(net, tmp_path / "report.html", x, y, history={"objective": [2.0, 1.0]})
    assert path.stat().st_size <= 6_000_000
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["'](?!#|data:,)""", ours(text))
    assert "http://" not in ours(text)
    assert "https://" not in ours(text)
    assert "default-src 'none'" in text
    for name in ("flow", "function", "weights", "energy", "particles", "training", "results"):
        assert f'<section id="{name}">' in text
    made = json.loads(PAYLOAD.search(text)[1])
    assert made["training"] == {"objective": [2.0, 1.0]}


@pytest.mark.slow
def test_a_large_model_makes_no_large_file(tmp_path):
    """All that could grow is there at once: particles, samples, outputs, matrices."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    field = sx.UpDown(2, 40, activation="tanh")
    net = sx.Net(field, particles=80, readout=6, integrator=sx.RK4(steps=30), key=KEY)
    path = sx.report.write(net, tmp_path / "report.html", x, rng.normal(size=(400, 6)))
    assert path.stat().st_size <= 6_000_000


def test_hostile_names_are_text(tmp_path):
    model, table, y = regressor()
    title = "</title><script>alert(2)</script>"
    record = {"note": "</script><img src=x onerror=alert(3)>"}
    path = sx.report.write(model, tmp_path / "report.html", table, y, title=title, record=record)
    text = ours(path.read_text(encoding="utf-8"))
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    made = json.loads(PAYLOAD.search(text)[1])
    assert made["nets"][0]["function"]["names"][0] == HOSTILE
    assert made["title"] == title


def test_nothing_closes_the_script_that_holds_the_numbers():
    value = {"</script>": ["<!--", "a&b", "\u2028", float("nan"), np.float32(2)]}
    text = embedded(value)
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == {"</script>": ["<!--", "a&b", "\u2028", None, 2.0]}


def test_arrays_come_back():
    values = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_allclose(decoded(floats(values)), values, rtol=1e-7)
    np.testing.assert_array_equal(decoded(small_integers([[0, 255]])), [[0, 255]])
    with warnings.catch_warnings(action="error"):  # beyond single precision
        assert np.isinf(decoded(floats(np.array([1e300, 1.0])))).tolist() == [True, False]


def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        sx.report.write(regression()[0], tmp_path)


def test_something_that_is_no_model():
    with pytest.raises(ValueError, match="got int"):
        sx.report.write(3, "report.html")
    with pytest.raises(ValueError, match="contains no net to report on"):
        sx.report.write(sx.nn.IdentityReadout(), "report.html")
