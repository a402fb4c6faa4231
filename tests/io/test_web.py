"""Models on web servers: where weights are looked for, what servers may send, and what that costs."""

import http.server
import json
import threading
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

import varigrad as vg
from varigrad.io.web import download
from varigrad.io.weights import ModelFileError


class Site:
    """A web server in this process: files by path, the requests that came, and how each path is answered."""

    def __init__(self):
        self.files = {}
        self.answers = {}
        self.requests = []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                site.requests.append(self.path)
                path = unquote(self.path.partition("?")[0])
                if path in site.answers:
                    site.answers[path](self)
                    return
                body = site.files.get(path)
                self.send_response(200 if body is not None else 404)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def publish(self, folder, at="/m/"):
        for file in Path(folder).iterdir():
            self.files[at + file.name] = file.read_bytes()

    def manifest(self, change, at="/m/model.json"):
        document = json.loads(self.files[at])
        change(document["weightsManifest"])
        self.files[at] = json.dumps(document).encode()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def site():
    site = Site()
    yield site
    site.close()


def make():
    return vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3])])


@pytest.fixture
def model(site, tmp_path):
    model = make()
    model.save(tmp_path / "m", weight_shard_size_bytes=10)
    site.publish(tmp_path / "m")
    return model


def same(loaded, model):
    return [w.tolist() for w in loaded.get_weights()] == [w.tolist() for w in model.get_weights()]


@pytest.mark.parametrize("path", ["/m/model.json", "/m/", "/m/model.json?token=x", "/m/?token=x", "/m/model.json#part"])
def test_weights_are_beside_the_json_file_and_keep_its_query(site, model, path):
    assert same(vg.load_layers_model(site.url + path), model)
    query = "?token=x" if "token" in path else ""
    assert site.requests == ["/m/model.json" + query, *(f"/m/group1-shard{i}of4.bin{query}" for i in range(1, 5))]


def test_a_converter_says_where_weights_are(site, model):
    for name in [name for name in site.files if name.endswith(".bin")]:
        site.files["/cdn/" + name.rpartition("/")[2]] = site.files.pop(name)
    with pytest.raises(FileNotFoundError, match="404"):
        vg.load_layers_model(site.url + "/m/model.json")
    loaded = vg.load_layers_model(
        site.url + "/m/model.json", weight_url_converter=lambda name: f"{site.url}/cdn/{name}?signed"
    )
    assert same(loaded, model)


def test_a_converter_works_for_a_model_in_a_folder_too(site, model, tmp_path):
    for file in (tmp_path / "m").glob("*.bin"):
        file.rename(tmp_path / file.name)
    assert same(vg.load_layers_model(tmp_path / "m", weight_url_converter=lambda name: str(tmp_path / name)), model)
    uri = lambda name: (tmp_path / name).as_uri()  # noqa: E731
    assert same(vg.load_layers_model(tmp_path / "m", weight_url_converter=uri), model)
    online = vg.load_layers_model(tmp_path / "m", weight_url_converter=lambda name: f"{site.url}/m/{name}")
    assert same(online, model)
    with pytest.raises(ModelFileError, match="which is no file"):
        vg.load_layers_model(tmp_path / "m", weight_url_converter=lambda name: str(tmp_path / "nothing"))
    with pytest.raises(TypeError, match="must return a URL or a path"):
        vg.load_layers_model(tmp_path / "m", weight_url_converter=lambda name: None)


def test_a_prefix_goes_before_the_names_of_weights(site, model, tmp_path):
    (tmp_path / "w").mkdir()
    for file in (tmp_path / "m").glob("*.bin"):
        site.files[f"/cdn/{file.name}"] = file.read_bytes()
        file.rename(tmp_path / "w" / file.name)
    for path in (site.url + "/m/model.json", tmp_path / "m"):
        for prefix in (f"{site.url}/cdn/", f"{tmp_path}/w/", (tmp_path / "w").as_uri() + "/"):
            assert same(vg.load_layers_model(path, weight_path_prefix=prefix), model)
    with pytest.raises(ValueError, match="not both"):
        vg.load_layers_model(tmp_path / "m", weight_path_prefix="x/", weight_url_converter=str)


@pytest.mark.parametrize("path", ["../w/x.bin", "a/../../x.bin", "/x.bin", "https://elsewhere/x.bin", "%2e%2e/x.bin"])
def test_weights_outside_of_a_prefix_are_not_opened(site, model, tmp_path, path):
    document = json.loads((tmp_path / "m" / "model.json").read_text())
    document["weightsManifest"][0]["paths"] = [path]
    (tmp_path / "m" / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=r"leaves the model's folder|are elsewhere"):
        vg.load_layers_model(tmp_path / "m", weight_path_prefix=f"{site.url}/cdn/")
    assert site.requests == []


def redirect(to):
    def answer(handler):
        handler.send_response(302)
        handler.send_header("Location", to)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def test_redirects_are_followed(site, model):
    site.answers["/old/model.json"] = redirect("/m/model.json")
    for i in range(1, 5):
        site.answers[f"/old/group1-shard{i}of4.bin"] = redirect(f"{site.url}/m/group1-shard{i}of4.bin")
    assert same(vg.load_layers_model(site.url + "/old/model.json"), model)


@pytest.mark.parametrize("to", ["file:///etc/hostname", "ftp://127.0.0.1/x", "/loop"])
def test_redirects_to_anything_else_or_in_circles_are_refused(site, to):
    site.answers["/loop"] = redirect(to)
    with pytest.raises(ModelFileError, match="cannot be read"):
        vg.load_layers_model(site.url + "/loop")


def test_paths_with_spaces_and_escapes_are_asked_for_as_they_are(site, model):
    site.files["/m/my weights é.bin"] = b"".join(site.files[f"/m/group1-shard{i}of4.bin"] for i in range(1, 5))
    for written in ("my weights é.bin", "my%20weights%20%C3%A9.bin"):
        site.manifest(lambda manifest, written=written: manifest[0].update(paths=[written]))
        assert same(vg.load_layers_model(site.url + "/m/model.json"), model)
        assert site.requests[-1] == "/m/my%20weights%20%C3%A9.bin"


@pytest.mark.parametrize("path", ["../x.bin", "a/../../x.bin", "%2e%2e/x.bin", "/x.bin", "http://localhost/x"])
def test_weights_outside_of_the_folder_are_not_asked_for(site, model, path):
    site.manifest(lambda manifest: manifest[0].update(paths=[path]))
    with pytest.raises(ModelFileError, match=r"leaves the model's folder|are elsewhere"):
        vg.load_layers_model(site.url + "/m/model.json")
    assert site.requests == ["/m/model.json"]


def test_a_file_that_is_too_long_or_too_short_is_an_error(site, model):
    first, last = "/m/group1-shard1of4.bin", "/m/group1-shard4of4.bin"
    site.files[first], whole = site.files[first] + bytes(40), site.files[first]
    with pytest.raises(ModelFileError, match="has 50 bytes, more than the 32"):
        vg.load_layers_model(site.url + "/m/model.json")
    site.files[first], site.files[last] = whole, b""
    with pytest.raises(ModelFileError, match="needs 8 bytes, but 6 are left"):
        vg.load_layers_model(site.url + "/m/model.json")


def test_a_server_that_never_ends_is_cut_off_after_what_was_wanted(site, model):
    sent = []

    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        try:
            while len(sent) < 10_000:
                handler.wfile.write(bytes(64 * 1024))
                sent.append(1)
        except OSError:
            pass

    site.answers["/m/group1-shard2of4.bin"] = endless
    with pytest.raises(ModelFileError, match="more bytes than the 22"):
        vg.load_layers_model(site.url + "/m/model.json")
    assert len(sent) < 1000


def test_weights_are_not_believed_to_be_there_before_they_are(site, model):
    # The manifest and the server both claim far more than there is memory.
    def huge(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(4 * 10**15))
        handler.end_headers()
        handler.wfile.write(bytes(1000))

    def change(manifest):
        manifest[0]["weights"] = [{"name": "w", "shape": [10**15], "dtype": "float32"}]
        manifest[0]["paths"] = ["huge.bin"]

    site.answers["/m/huge.bin"] = huge
    site.manifest(change)
    with pytest.raises(ModelFileError, match="ended after 1,000 of"):
        vg.load_layers_model(site.url + "/m/model.json")


@pytest.mark.parametrize("status", [403, 500])
def test_an_error_of_the_server_is_one_here(site, status):
    site.answers["/m/model.json"] = lambda handler: handler.send_error(status)
    with pytest.raises(ModelFileError, match=f"the server answers {status}"):
        vg.load_layers_model(site.url + "/m/model.json")


def test_a_page_in_the_place_of_a_model_is_an_error(site):
    site.files["/m/model.json"] = b"<!doctype html>"
    with pytest.raises(ModelFileError, match=r"/m/model\.json is not a JSON file"):
        vg.load_layers_model(site.url + "/m/")


def test_what_cannot_be_reached_or_stays_silent_is_an_error(site):
    release = threading.Event()
    site.answers["/silent"] = lambda handler: release.wait(5)
    with pytest.raises(ModelFileError, match="timed out"):
        vg.load_layers_model(site.url + "/silent", timeout=0.1)
    release.set()
    with pytest.raises(ModelFileError, match="cannot be read"):
        vg.load_layers_model("http://127.0.0.1:9/model.json", timeout=5)


def test_encoded_answers_are_refused(site):
    def encoded(handler):
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    site.answers["/m/model.json"] = encoded
    with pytest.raises(ModelFileError, match="gzip-encoded"):
        vg.load_layers_model(site.url + "/m/")


def test_large_files_go_to_the_disk_and_come_back_whole(site):
    content = np.random.default_rng(0).bytes(9 * 1024 * 1024)
    site.files["/large"] = content
    with download(site.url + "/large", len(content), 5).file as file:
        assert file.read() == content


def test_weights_alone_are_read_from_a_layers_model(site, model):
    other = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3], name=model.layers[0].name)])
    other.load_weights(site.url + "/m/model.json?token=x")
    assert same(other, model)
    with pytest.raises(ValueError, match=r"download .* first"):
        other.load_weights(site.url + "/w.npz")
    with pytest.raises(ValueError, match="a file is needed here, not the URL"):
        other.save_weights(site.url + "/w.npz")


def test_only_layers_models_are_read_from_the_web(site):
    with pytest.raises(ValueError, match=r"download .* first"):
        vg.load_layers_model(site.url + "/model.h5")
