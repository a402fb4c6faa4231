"""The real client in the real place: a page in headless Chromium loads models that were saved here, predicts, and
trains on.

Needs Chromium (Debian's chromium-headless-shell, or a program that VARIGRAD_CHROMIUM names). Without it the test is
skipped, unless VARIGRAD_REQUIRE_BROWSER is set.
"""

import functools
import http.server
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg

from .conftest import PACKAGES

HERE = Path(__file__).parent
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("VARIGRAD_CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("VARIGRAD_REQUIRE_BROWSER"), reason="Chromium is not installed"
)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and keeps what is posted to it."""

    def do_POST(self):
        self.server.result = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
        self.server.posted.set()

    def log_message(self, *arguments):
        pass


def opened_in_chromium(folder):
    """What the page posts that is in the folder."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    server.posted = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/browser.html"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
        ]
        browser = subprocess.Popen(
            [CHROMIUM, *options, url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            assert server.posted.wait(90), "the page did not answer"
        finally:
            os.killpg(browser.pid, signal.SIGKILL)  # what is started is a script that starts the browser
            browser.wait()
            server.shutdown()
            server.server_close()
    return json.loads(server.result)


def sequential():
    layers = [
        vg.layers.conv2d(filters=3, kernel_size=3, activation="relu", input_shape=[8, 8, 1]),
        vg.layers.batch_normalization(),
        vg.layers.flatten(),
        vg.layers.dense(units=4, activation="softmax"),
    ]
    return vg.sequential(layers=layers)


def graph():
    x, y = vg.input(shape=[5, 3]), vg.input(shape=[4])
    z = vg.layers.concatenate()([vg.layers.lstm(units=4)(x), vg.layers.dense(units=2, activation="swish")(y)])
    return vg.model(inputs=[x, y], outputs=[vg.layers.dense(units=1)(z), vg.layers.dense(units=2)(z)])


MODELS = {
    "sequential": (sequential, {}),
    "graph": (graph, {"weight_shard_size_bytes": 100}),
    "quantized": (sequential, {"quantize": {"uint16": "*/kernel"}}),
}


def test_a_page_loads_models_predicts_the_same_and_trains_on(tmp_path):
    rng = np.random.default_rng(0)
    given, expected = [], {}
    for name, (make, options) in MODELS.items():
        model = make()
        model.compile(optimizer="adam", loss="mean_squared_error")
        inputs = [rng.normal(size=[3, *x.shape[1:]]) for x in model.inputs]
        targets = [rng.normal(size=[3, *y.shape[1:]]) for y in model.outputs]
        train = functools.partial(
            model.train_on_batch, *(each[0] if len(each) == 1 else each for each in (inputs, targets))
        )
        train()
        model.save(tmp_path / name, include_optimizer=True, **options)
        loaded = vg.load_layers_model(tmp_path / name)
        prediction = loaded.predict(inputs[0] if len(inputs) == 1 else inputs)
        outputs = prediction if isinstance(prediction, list) else [prediction]
        expected[name] = [y.numpy() for y in outputs], np.asarray(train()).reshape(-1)[0]
        given.append({"name": name, "inputs": [x.tolist() for x in inputs], "targets": [y.tolist() for y in targets]})
    (tmp_path / "given.json").write_text(json.dumps(given))
    shutil.copy(HERE / "browser.html", tmp_path)
    shutil.copy(PACKAGES / "@tensorflow" / "tfjs" / "dist" / "tf.min.js", tmp_path)
    results = opened_in_chromium(tmp_path)
    assert results.keys() == MODELS.keys(), results
    for name, (outputs, loss) in expected.items():
        for there, here in zip(results[name]["prediction"], outputs, strict=True):
            np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-5)
        first, second = results[name]["losses"]
        assert first == pytest.approx(loss, rel=1e-2 if name == "quantized" else 1e-4)
        assert second < first
