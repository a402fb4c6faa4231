"""Machine code on disk, arrays in native code, and worker threads."""

import hashlib
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VARIGRAD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def doubled(compile_native):
    x = vg.tensor(np.float32([1, 2, 3]))
    return compile_native(lambda x: x * 2.0, x)(x)[0].tolist()


def test_machine_code_is_kept_on_disk_and_found_again(cache, compile_native, monkeypatch):
    assert doubled(compile_native) == [2, 4, 6]
    (file,) = cache.iterdir()
    from varigrad.backends.native import machine

    def compile_again(text):
        raise AssertionError("compiled again")

    monkeypatch.setattr(machine, "_compile", compile_again)
    assert doubled(compile_native) == [2, 4, 6]
    assert list(cache.iterdir()) == [file]


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: b"nothing",
        lambda whole: b"x" * 5000,
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-1],
        lambda whole: whole[:100] + bytes([whole[100] ^ 1]) + whole[101:],
    ],
)
def test_a_damaged_file_is_ignored_and_replaced(cache, compile_native, damage):
    doubled(compile_native)
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert doubled(compile_native) == [2, 4, 6]
    assert file.read_bytes() == whole


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path, compile_native, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VARIGRAD_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert doubled(compile_native) == [2, 4, 6]


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, "home/.cache/varigrad"),
        ({"XDG_CACHE_HOME": ""}, "home/.cache/varigrad"),
        ({"XDG_CACHE_HOME": "relative"}, "home/.cache/varigrad"),
        ({"XDG_CACHE_HOME": "{tmp}/caches"}, "caches/varigrad"),
        ({"VARIGRAD_CACHE_DIR": "~/mine"}, "home/mine"),
        ({"VARIGRAD_CACHE_DIR": "{tmp}/mine", "XDG_CACHE_HOME": "{tmp}/caches"}, "mine"),
    ],
)
def test_where_the_cache_is(environment, place, tmp_path, monkeypatch):
    from varigrad.backends.native import cache as on_disk

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("VARIGRAD_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    assert on_disk.folder() == tmp_path / place


def test_a_user_without_a_home_has_no_cache(compile_native, monkeypatch):
    def home():
        raise RuntimeError("Could not determine home directory.")

    for name in ("VARIGRAD_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", home)
    assert doubled(compile_native) == [2, 4, 6]


def test_what_cannot_be_put_in_its_place_is_not_left_beside_it(cache, compile_native):
    doubled(compile_native)
    (file,) = cache.iterdir()
    file.unlink()
    file.mkdir()
    assert doubled(compile_native) == [2, 4, 6]
    assert list(cache.iterdir()) == [file]


def numbered(cache, count):
    """Files of a cache, of a kilobyte each and used one after another, and what is not of the cache."""
    cache.mkdir()
    files = [cache / f"{number:064x}.o" for number in range(count)]
    for number, file in enumerate(files):
        file.write_bytes(bytes(1024))
        os.utime(file, (1e9 + number, 1e9 + number))
    (cache / "notes.txt").write_bytes(bytes(4096))
    os.utime(cache / "notes.txt", (1, 1))
    return files


def kept(cache):
    return sorted(file.name for file in cache.iterdir())


def test_of_a_cache_that_is_too_large_the_files_used_longest_ago_go_first(cache):
    from varigrad.backends.native import cache as on_disk

    files = numbered(cache, 20)
    left_behind = cache / "varigrad-abc.new"  # by a process that was stopped
    left_behind.write_bytes(bytes(1024))
    os.utime(left_behind, (1e9, 1e9))
    on_disk.reduce(cache, 21 * 1024)
    assert len(kept(cache)) == 22
    on_disk.reduce(cache, 16 * 1024)
    assert kept(cache) == [*[file.name for file in files[8:]], "notes.txt"]
    on_disk.reduce(cache, 0)
    assert kept(cache) == ["notes.txt"]


def test_machine_code_that_is_used_stays(cache, compile_native):
    from varigrad.backends.native import cache as on_disk

    numbered(cache, 20)
    before = set(cache.iterdir())
    doubled(compile_native)
    (file,) = set(cache.iterdir()) - before
    os.utime(file, (1, 1))
    assert doubled(compile_native) == [2, 4, 6]
    assert file.stat().st_mtime > 1e9
    on_disk.reduce(cache, file.stat().st_size + 2048)
    assert file.exists()


def test_writing_keeps_to_the_limit(cache, monkeypatch):
    from varigrad.backends.native import cache as on_disk

    monkeypatch.setenv("VARIGRAD_CACHE_SIZE", "1")
    for number in range(300):
        key = hashlib.sha256(bytes([number % 256, number // 256])).hexdigest()
        on_disk.write(key, bytes(8192))
        assert on_disk.read(key) == bytes(8192)
    total = sum(file.stat().st_size for file in cache.iterdir())
    assert 0.5 * 2**20 < total < 1.2 * 2**20  # of 2.4 MB


def test_a_limit_of_0_keeps_nothing(cache, compile_native, monkeypatch):
    monkeypatch.setenv("VARIGRAD_CACHE_SIZE", "0")
    assert doubled(compile_native) == [2, 4, 6]
    assert not cache.exists()


@pytest.mark.parametrize(("given", "megabytes"), [("", 256), ("3", 3), (" 40 ", 40), ("much", 256), ("-1", 256)])
def test_the_limit_is_a_number_of_megabytes(given, megabytes, monkeypatch):
    from varigrad.backends.native import cache as on_disk

    monkeypatch.setenv("VARIGRAD_CACHE_SIZE", given)
    assert on_disk.limit() == megabytes * 2**20


def test_several_may_make_room_at_once(cache):
    from varigrad.backends.native import cache as on_disk

    files = numbered(cache, 400)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: on_disk.reduce(cache, 200 * 1024), range(8)))
    assert kept(cache) == [*[file.name for file in files[250:]], "notes.txt"]


def test_files_that_go_meanwhile_and_folders_that_are_not_there_are_no_errors(cache, monkeypatch):
    from varigrad.backends.native import cache as on_disk

    on_disk.reduce(cache, 1)
    numbered(cache, 4)
    unlink = os.unlink

    def gone(path):
        unlink(path)
        unlink(path)

    monkeypatch.setattr(os, "unlink", gone)
    on_disk.reduce(cache, 2048)
    assert len(kept(cache)) == 2


def test_processes_that_compile_the_same_at_once(cache):
    code = """
        import numpy as np
        import varigrad as vg
        f = vg.jit(lambda x: vg.tanh(x).sum(), executor="native")
        x = vg.tensor(np.linspace(-1, 1, 100, dtype=np.float32))
        f(x)
        assert abs(f(x).item()) < 1e-5
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    processes = [subprocess.Popen(command, env={**os.environ, "VARIGRAD_CACHE_DIR": str(cache)}) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert len(list(cache.iterdir())) == 1


def test_a_program_is_called_from_several_threads(compile_native):
    random = np.random.default_rng(0)
    inputs = [random.normal(size=(64, 96)).astype("f") for _ in range(24)]
    w = vg.tensor(random.normal(size=(96, 80)).astype("f"))
    compiled = compile_native(lambda x, w: vg.relu(vg.mat_mul(x, w)).sum(1), vg.tensor(inputs[0]), w)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: compiled(vg.tensor(x), w)[0], inputs))
    for x, y in zip(inputs, found, strict=True):
        np.testing.assert_allclose(y, np.maximum(x @ w.numpy(), 0).sum(1), rtol=1e-4)


def test_workers_sleep_and_wake_while_several_threads_call():
    code = """
        import random, threading, time
        from concurrent.futures import ThreadPoolExecutor
        from pathlib import Path
        import numpy as np
        import varigrad as vg
        from tests.jit.random_graphs import share_everything
        share_everything()
        numbers = np.random.default_rng(0)
        w = numbers.normal(size=(96, 80)).astype("f")
        inputs = [numbers.normal(size=(64, 96)).astype("f") for _ in range(8)]
        compiled = vg.jit(lambda x, w: vg.relu(vg.mat_mul(x, w)).sum(1), executor="native")
        def call(number):
            x = inputs[number % 8]
            right = np.maximum(x @ w, 0).sum(1)
            np.testing.assert_allclose(compiled(vg.tensor(x), vg.tensor(w)).numpy(), right, rtol=1e-3, atol=1e-3)
            time.sleep(random.Random(number).choice([0, 0, 1e-4, 1e-3]))
        call(0)
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(call, range(3000)))
        workers = [t.native_id for t in threading.enumerate() if t.name.startswith("varigrad worker")]
        for worker in workers:
            stat = Path(f"/proc/self/task/{worker}/stat")
            while stat.read_text().rpartition(")")[2].split()[0] != "S":
                time.sleep(0.01)
    """
    environment = {**os.environ, "VARIGRAD_NUM_THREADS": "3"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=environment, check=True, cwd=ROOT, timeout=300)


def test_large_steps_are_the_same_on_one_thread_and_on_two():
    code = """
        import numpy as np
        import varigrad as vg
        from varigrad.backends.native import program
        class Always(program.Choice):
            second = True
            def __init__(self): pass
            def note(self, second, nanoseconds): pass
        program.Choice = Always
        random = np.random.default_rng(0)
        x, w = (vg.tensor(random.normal(size=s).astype("f")) for s in ((301, 200), (200, 333)))
        images, filters = (vg.tensor(random.normal(size=s).astype("f")) for s in ((9, 16, 16, 8), (3, 3, 8, 32)))
        def f(x, w, images, filters):
            y = vg.softmax(vg.mat_mul(x, w) * 0.1)
            return y, y.sum(0), vg.exp(x), vg.conv2d(images, filters, 1, "same"), x.transpose()
        compiled = vg.jit(f, executor="native")
        right = [np.asarray(v) for v in f(x, w, images, filters)]
        for _ in range(50):
            for ours, value in zip(compiled(x, w, images, filters), right, strict=True):
                np.testing.assert_allclose(np.asarray(ours), value, rtol=1e-4, atol=1e-4)
    """
    environment = {**os.environ, "VARIGRAD_NUM_THREADS": "3"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=environment, check=True, timeout=300)


def test_text_and_assembly_can_be_seen(compile_native):
    x = vg.tensor(np.float32([1, 2, 3]))
    program = compile_native(lambda x: vg.exp(x), x).program
    assert "define void @kernel_0" in program.ir()
    assert "kernel_0:" in program.asm()


def test_a_timeline_names_kernels_and_lines():
    w = vg.variable(np.ones((4, 3), np.float32))  # 3 columns fill no vector: what follows is a kernel of its own
    f = vg.jit(lambda x: vg.cumsum(vg.exp(vg.mat_mul(x, w)) + 1.0, 0), executor="native")
    x = vg.tensor(np.ones((3, 4), np.float32))
    f(x)
    lines = f.timeline(x).splitlines()[1:-1]
    kernels = [line.split(None, 1)[1].partition("    #")[0] for line in lines]
    assert kernels == ["BatchMatMul", "Exp, Add", "Cumsum"]
    assert all(__file__ in line for line in lines)
