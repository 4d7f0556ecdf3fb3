"""What `make test` makes of a test that fails."""

import json
from pathlib import Path

import pytest

from tests.support import repeats, run_all

SHAKY = """
from pathlib import Path
def test_first_time(): assert True
def test_second_time():
    mark = Path(__file__).with_name("mark")
    tried, _ = mark.exists(), mark.touch()
    assert tried
"""
BROKEN = "def test_never(): assert False\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`run(source)`: a part with these tests, after its first and, where it gets one, second run."""
    monkeypatch.setattr(run_all, "ROOT", tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # none is needed, and each costs

    def once(source: str) -> run_all.Part:
        (tmp_path / "test_it.py").write_text(source)
        part = run_all.Part("SQLite: one file", ["test_it.py"], sqlite=True)
        run_all.run_part(part, [], tmp_path)
        assert part.code == run_all.TESTS_FAILED
        run_all.try_again(part, [], tmp_path)
        return part

    return once


@pytest.mark.parametrize(("source", "code"), [(SHAKY, 0), (SHAKY + BROKEN, run_all.TESTS_FAILED)])
def test_what_passes_alone_is_named_and_refuses_nothing_and_what_fails_again_has_failed(run, source, code):
    part = run(source)
    assert (part.code, part.unsteady) == (code, ["test_it.py::test_second_time"])


def test_many_failures_are_not_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(run_all, "ROOT", tmp_path / "nowhere")  # where nothing can be started
    part = run_all.Part("SQLite: one file", ["test_it.py"], sqlite=True, code=run_all.TESTS_FAILED)
    noted = tmp_path / part.folder / "v" / "cache" / "lastfailed"
    noted.parent.mkdir(parents=True)
    noted.write_text(json.dumps({f"test_it.py::test_{number}": True for number in range(run_all.FEW + 1)}))
    run_all.try_again(part, [], tmp_path)
    assert (part.code, part.unsteady) == (run_all.TESTS_FAILED, [])


def test_a_part_whose_process_died_has_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(run_all, "ROOT", tmp_path)  # where there is nothing to start
    forks = {is_measured: run_all.Forks(tmp_path, is_measured=is_measured) for is_measured in (False, True)}
    part = run_all.Part("MariaDB: one file", ["test_it.py"])
    assert part.code == run_all.TESTS_FAILED, "as one that never ran"
    run_all.run_part(part, [], tmp_path, forks)
    for each in forks.values():
        each.close()
    assert part.code == run_all.TESTS_FAILED
    assert "The process died." in part.output


def test_what_is_left_out_on_sqlite_is_there():
    """A line whose test has another name by now is taken out, and the test runs until the list is made again."""
    named = [name.partition("::") for name in repeats.read_names()]
    sources = {path: (run_all.ROOT / path).read_text() for path, _, _ in named if (run_all.ROOT / path).exists()}
    assert [f"{path}::{test}" for path, _, test in named if f"def {test}(" not in sources.get(path, "")] == []


def test_what_is_about_locks_and_order_is_not_left_out_on_sqlite():
    assert [name for name in sorted(repeats.read_names()) if repeats.KEPT.match(name)] == []


def test_every_test_file_is_in_one_part_of_mariadbs():
    """A folder that nobody named is in the rest; a file in two parts would count twice, in none not at all."""
    taken = [path for part in run_all.parts() if not part.sqlite for path in part.paths]
    files = [path for path in run_all.TESTS.rglob("test_*.py") if "support" not in path.parts]
    for path in files:
        place = path.relative_to(run_all.ROOT)
        assert sum(str(place) == name or Path(name) in place.parents for name in taken) == 1, place
