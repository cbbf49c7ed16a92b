"""The mutation run: which changes it makes, in which rooms, and whether it sees that a test fails."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import mutant_forks
import mutants

CODE = '''def f(x, *, n=2):
    """Return 1 + 1."""
    if not x and n < 3:  # a comment + 1
        return max(x, n) - 0.5
'''
SCRIPT = """// 1 + 1
const f = (x) => x === 2 && /[+] "/.test("1 + 1");
function g(x) { return !f(x) || `${x + 1}`; }
"""
KNOWN = mutants.tomllib.loads(mutants.EQUIVALENT.read_text(encoding="utf-8"))["mutant"]


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A repository with a file of Python, its test, and a script."""
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    (tmp_path / "code.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "script.js").write_text(SCRIPT, encoding="utf-8")
    test = "from code_ import f\n\ndef test_f():\n    assert f(0) == 1.5\n"
    (tmp_path / "test_code.py").write_text(test, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        (
            "code.py",
            "2→(2 + 1), not→, and→or, <→<=, 3→(3 + 1), return→return not, max→min, -→+, 0.5→(0.5 + 1)",
        ),
        ("script.js", "===→!==, 2→(2 + 1), &&→||, return→return !, !→, ||→&&"),
    ],
    ids=["Python", "scripts"],
)
def test_operators_numbers_and_words_are_changed_but_no_text_and_no_comment(house, path, changes):
    assert ", ".join(f"{old.strip()}→{new.strip()}" for _, _, old, new in mutants.mutants(path)) == changes


def test_every_change_of_python_that_is_drawn_compiles_and_one_seed_draws_the_same(house):
    chosen = mutants.drawn(["code.py"], 100, "1")
    assert len(chosen) == 9
    assert all(mutants.compiles("code.py", mutant.applied(CODE)) for mutant in chosen)
    assert mutants.drawn(["code.py"], 100, "1") == chosen != mutants.drawn(["code.py"], 100, "2")


def test_a_change_is_told_by_its_line(house):
    change = next(mutant for mutant in mutants.mutants("code.py") if mutant.old == "<")
    assert change.line(CODE) == (3, "if not x and n <= 3:  # a comment + 1")


def test_the_examples_of_a_judge_are_the_numbers_of_tuples_lists_and_constants():
    text = "TRIED = 7, [8]\nπ = 4\nif x[0, 1] in (2, -3): π = f(5)\n"
    assert sorted(int(text[place]) for place in mutants.examples(text)) == [2, 3, 7, 8]
    (judge, *_) = sorted((mutants.ROOT / "book/rope_book/check").glob("chapter_*.py"))
    path = mutants.relative(judge)
    every = set(mutants.of_text(path, judge.read_text(encoding="utf-8")))
    assert set(mutants.mutants(path)) < every


@pytest.mark.nightly
def test_changes_are_noticed_in_a_fork_or_a_process_of_their_own_and_the_copy_is_as_before(house, capsys):
    code = CODE + "LEVEL = 1.5\n\ndef unreached():\n    return 7\n"
    (house / "code_.py").write_text(code, encoding="utf-8")
    test = "import code_\n\ndef test_f():\n    assert code_.f(0) == 1.5 == code_.LEVEL\n"
    (house / "test_code.py").write_text(test + "\ndef test_none():\n    assert False\n", encoding="utf-8")
    chosen = [mutant for mutant in mutants.mutants("code_.py") if mutant.old in ("-", "<", "1.5", "7")]
    alive = mutants.survivors(house, chosen, ["test_code.py"])
    assert alive == ["code_.py:3: if not x and n <= 3:  # a comment + 1", "code_.py:8: return (7 + 1)"]
    assert (house / "code_.py").read_text(encoding="utf-8") == code
    assert capsys.readouterr().out.splitlines() == [
        "fails without any change: test_code.py::test_none",
        "noticed  code_.py:4: return max(x, n) + 0.5",
        "survives code_.py:3: if not x and n <= 3:  # a comment + 1",
        "noticed  code_.py:5: LEVEL = (1.5 + 1)",
        "survives code_.py:8: return (7 + 1)",
    ]


def test_the_branch_of_a_change_is_the_changed_function_and_there_is_none_outside_functions():
    def value(source, n=None):
        space = {"is_changed": lambda asked: asked == str(n)}
        exec(compile(source, "code.py", "exec"), space)
        return [repr(space["f"](x)) for x in (-1, 0, 2)]

    changes = dict(enumerate(mutants.of_text("code.py", CODE)))
    tree, branches = mutant_forks.with_branches(CODE, changes)
    assert [changes[n].old for n in changes.keys() - branches] == ["2"]  # a default
    assert value(tree) == value(CODE)
    for n in branches:
        assert value(tree, n) == value(changes[n].applied(CODE)), changes[n]


def test_the_nearest_and_quickest_tests_come_first_and_the_others_of_their_files_last():
    tests = ["t/test_a.py::one", "t/test_a.py::two", "t/test_rotate_pair.py::three", "t/test_b.py::four"]
    items = [SimpleNamespace(nodeid=test, name=test.partition("::")[2]) for test in tests]
    room = object.__new__(mutant_forks.Room)
    reach = {tests[1]: 2.0, tests[2]: 9.0}
    order = [item.nodeid for item in room.nearest(items, reach, "js/figures/rotate_pair.js")]
    assert order == [tests[2], tests[1], tests[0]]


def test_rooms_have_shares_in_proportion_to_their_changes(house, monkeypatch):
    monkeypatch.setattr(mutants, "rooms", lambda: {"a": (["code.py"], []), "b": (["script.js"], [])})
    draws = mutants.draws_of(["a", "b"], 10, 1)
    assert {room: len(draw) for room, draw in draws.items()} == {"a": 6, "b": 4}


def test_every_room_has_files_and_tests():
    rooms = mutants.rooms()
    assert {"plain", "encodings", "attention", "clinic", "config", "check", "widgets", "lib", "maths"} <= set(
        rooms
    )
    for room, (files, tests) in rooms.items():
        assert files, room
        assert tests, room


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known["line"])
def test_what_is_listed_as_equivalent_is_a_change_of_its_file_and_has_a_reason(known):
    text = (mutants.ROOT / known["file"]).read_text(encoding="utf-8")
    assert known["line"] in {mutant.line(text)[1] for mutant in mutants.mutants(known["file"])}
    assert known["because"].endswith(".")
