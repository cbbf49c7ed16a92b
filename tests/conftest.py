"""Settings and fixtures of all tests."""

import gc
import sys
from collections import Counter
from zlib import crc32

import coverage
import pytest
from hypothesis import settings

settings.register_profile(
    "no deadline", deadline=None
)  # a busy machine is no failure; time is for benchmarks
settings.load_profile("no deadline")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the nightly run all but every third of a sampled test's parameters; of `sampled(n)`, every nth.

    Tests begin to count at different parameters, so that each figure, chapter and model is met by some of them; but
    all tests of a module's pages begin at the same one, since a page is opened once for all of them.
    """
    met: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark and not item.get_closest_marker("nightly"):
            every = mark.args[0] if mark.args else 3
            test = item.nodeid.partition("[")[0]
            paged = "page" in item.callspec.params
            begun = crc32((item.nodeid.partition("::")[0] if paged else test).encode())
            if (met[test] + begun) % every:
                item.add_marker(pytest.mark.nightly)
            met[test] += 1


def pytest_collection_finish() -> None:
    """Spare what stays until the end, libraries and ten thousand tests, from every search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _reach(request):
    """Leave a test marked "long" out of the measure of what tests reach, by which it would take twice as long."""
    measure = coverage.Coverage.current() if request.node.get_closest_marker("long") else None
    if measure:
        measure.stop()
    yield
    if measure:
        measure.start()


@pytest.fixture
def somebodys_module(tmp_path, monkeypatch):
    """Write a module into a folder of its own, make that the current one, and forget the module afterwards."""
    written, path = [], list(sys.path)
    monkeypatch.chdir(tmp_path)

    def write(name, source):
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        written.append(name)

    yield write
    sys.path[:] = path  # the commands put the current folder first
    for name in written:
        sys.modules.pop(name, None)
