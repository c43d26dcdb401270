"""Reports and the live view in a real browser: `make test-browser`."""

import contextlib
import json
import pathlib
import shutil
import time

import numpy as np
import pytest
from models import HOSTILE, classes, images, latent, regression, regressor, sequences

import shootax as sx

playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs Playwright: pip install 'shootax[browser]'"
)
pytest.importorskip("plotly", reason="needs Plotly: pip install 'shootax[report]'")

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]
SECTIONS = ("flow", "function", "weights", "energy", "particles", "training", "results", "facts")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.usefixtures("standard_promotion"),
    pytest.mark.skipif(BROWSER is None, reason=f"no browser found: none of {', '.join(NAMES)}"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    profile = tmp_path_factory.mktemp("profile")
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=BROWSER, headless=True, args=FLAGS
        )
        yield context
        context.close()


@contextlib.contextmanager
def opened(browser, address, allowed=None, width=1100, webgl=False):
    """A page that is drawn; at the end, whether it complained or asked the network.

    Without a graphics card a browser warns of its own slowness in three dimensions.
    """
    page = browser.new_page()
    page.set_default_timeout(60_000)
    page.set_viewport_size({"width": width, "height": 900})
    complaints, requests = [], []
    quiet = ("log", "warning") if webgl else ("log",)
    page.on("console", lambda m: complaints.append(m.text) if m.type not in quiet else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    page.wait_for_selector("html[data-ready=true]", timeout=60_000)
    yield page
    page.close()
    assert complaints == []
    own = allowed or address
    outside = [url for url in requests if not url.startswith((own, "data:", "blob:"))]
    assert outside == []


def written(tmp_path, model, *data, **options):
    path = sx.report.write(model, tmp_path / "report.html", *data, **options)
    return pathlib.Path(path).resolve().as_uri()


def points(page):
    """Where the dots are, as the page has drawn them."""
    data = page.evaluate("[...document.getElementById('flow-plot').data[0].x]")
    return np.array(data), np.array(
        page.evaluate("[...document.getElementById('flow-plot').data[0].y]")
    )


def wait_until(page, expression, seconds=20):
    """Asks from outside: the page does not let a text be run as a program."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(100)


CASES = {
    "regression": (regression, {"results-plot", "function-plot", "energy-plot", "training-plot"}),
    "classifier": (classes, {"results-plot", "function-plot", "energy-plot", "particles-loss"}),
    "sequences": (sequences, {"results-plot", "results-time", "weights-matrix"}),
    "latent": (latent, {"results-plot", "results-true", "results-time"}),
    "baked": (lambda: (sx.bake(regression()[0]), *regression()[1:]), {"weights-norms"}),
    "images": (images, {"results-plot", "flow-plot"}),
    "estimator": (regressor, {"results-plot", "training-plot", "function-plot"}),
}


@pytest.mark.parametrize("name", CASES)
def test_every_section_is_there(browser, tmp_path, name):
    make, wanted = CASES[name]
    model, x, y = make()
    history = {"objective": [3.0, 2.0], "learning_rate": [0.1, 0.05]}
    address = written(tmp_path, model, x, y, **({"history": history} if wanted else {}))
    with opened(browser, address) as page:
        for section in SECTIONS:
            assert page.locator(f"section#{section} .about").inner_text()
            empty = page.evaluate(
                "(s) => !document.querySelector(`#${s} .plot .main-svg, #${s} .note, #${s} table`)",
                section,
            )
            assert not empty, section
        for plot in {*wanted, "flow-plot", "weights-norms"}:
            assert page.locator(f"#{plot}").count() == 1, plot
        page.keyboard.press("Tab")
        page.evaluate("setDepth(now().times.length - 1)")


def test_the_slider_moves_the_points(browser, tmp_path):
    net, x, y = regression()
    with opened(browser, written(tmp_path, net, x, y)) as page:
        times = page.evaluate("payload.nets[0].times")
        states = np.asarray(net.states(x, np.asarray(times)))
        slider = page.locator("#depth")
        slider.focus()
        for key, frame in (("ArrowRight", 1), ("ArrowRight", 2), ("End", -1), ("Home", 0)):
            page.keyboard.press(key)
            drawn = points(page)
            np.testing.assert_allclose(drawn[0], states[:, frame, 0], atol=1e-4)
            np.testing.assert_allclose(drawn[1], states[:, frame, 1], atol=1e-4)
        assert slider.get_attribute("aria-valuetext") == "depth t = 0"
        # The picture itself follows, not only the numbers behind it.
        first = "document.querySelector('#flow-plot .points path').getAttribute('transform')"
        before = page.evaluate(first)
        page.keyboard.press("End")
        wait_until(page, f"{first} !== {json.dumps(before)}")


def test_other_coordinates_can_be_chosen(browser, tmp_path):
    net, x, y = regression()
    with opened(browser, written(tmp_path, net, x, y)) as page:
        page.select_option("#flow-x", label="v3")
        page.evaluate("setDepth(2)")
        time = page.evaluate("payload.nets[0].times[2]")
        expected = np.asarray(net.states(x, [time]))[:, 0, 3]
        np.testing.assert_allclose(points(page)[0], expected, atol=1e-4)
        arrows = page.evaluate("document.getElementById('flow-plot').data.map((d) => d.name)")
        assert {"particles", "momenta"} <= set(arrows)
        page.uncheck("#flow-particles")
        arrows = page.evaluate("document.getElementById('flow-plot').data.map((d) => d.name)")
        assert "momenta" not in arrows


def test_three_dimensions(browser, tmp_path):
    net, x, y = regression()
    with opened(browser, written(tmp_path, net, x, y), webgl=True) as page:
        page.select_option("#flow-z", label="v2")
        page.evaluate("setDepth(1)")
        time = page.evaluate("payload.nets[0].times[1]")
        drawn = page.evaluate("[...document.getElementById('flow-plot').data[0].z]")
        expected = np.asarray(net.states(x, [time]))[:, 0, 2]
        np.testing.assert_allclose(drawn, expected, atol=1e-4)


def test_play_and_pause(browser, tmp_path):
    net, x, y = regression()
    with opened(browser, written(tmp_path, net, x, y)) as page:
        button = page.locator("#play")
        button.focus()
        page.keyboard.press("Space")
        assert button.get_attribute("aria-pressed") == "true"
        wait_until(page, "shown.frame >= 2")
        button.click()
        assert button.inner_text() == "Play"
        stopped = page.evaluate("shown.frame")
        page.wait_for_timeout(500)
        assert page.evaluate("shown.frame") == stopped


def test_a_slider_over_time_for_sequences(browser, tmp_path):
    model, first, frames = latent()
    with opened(browser, written(tmp_path, model, first, frames)) as page:
        page.locator("#results-time").focus()
        page.keyboard.press("End")
        drawn = page.evaluate("document.getElementById('results-plot').data[0].z")
        np.testing.assert_allclose(drawn, model(first)[0, -1], atol=1e-4)


def test_hostile_names_are_shown_as_they_are(browser, tmp_path):
    model, table, y = regressor()
    with opened(browser, written(tmp_path, model, table, y)) as page:
        assert HOSTILE in page.locator("#flow-colour").inner_text()
        assert HOSTILE in page.locator("section#facts").inner_text()
        title = page.locator("#function-plot .xtitle")
        assert title.text_content() == HOSTILE


@pytest.mark.parametrize("name", ["regression", "estimator"])
def test_it_fits_a_phone(browser, tmp_path, name):
    model, x, y = CASES[name][0]()
    with opened(browser, written(tmp_path, model, x, y), width=360) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        widths = page.evaluate("[...document.querySelectorAll('.plot')].map((p) => p.scrollWidth)")
        assert max(widths) <= 360


def test_the_live_view_follows_a_sweep(browser, tmp_path):
    (tmp_path / "runs").mkdir()
    settings = {"configurations": [{"x": 1}], "seeds": [0, 1]}
    (tmp_path / "sweep.json").write_text(json.dumps({"settings": settings}))
    run = {"x": 1, "seed": 0, "status": "ok", "test_mse": 0.5, "why": HOSTILE}
    (tmp_path / "runs" / "a.json").write_text(json.dumps([run]))
    with sx.report.Watch(tmp_path) as watch, opened(browser, watch.url, watch.url) as page:
        assert "1 of 2 runs are finished" in page.locator("#state").inner_text()
        assert HOSTILE in page.locator("#runs").inner_text()
        (tmp_path / "runs" / "b.json").write_text(json.dumps([{**run, "seed": 1}]))
        wait_until(page, "document.getElementById('state').textContent.startsWith('2 of 2')")
        assert page.locator("#runs tr").count() == 3
