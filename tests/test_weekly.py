"""The weekly look outside says what differs, and the workflow runs what the Makefile has."""

import json
import re
import subprocess
from importlib import metadata

import weekly
import yaml

MAKEFILE = (weekly.ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOW = yaml.safe_load((weekly.ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8"))
COPYLEFT = {
    "anki",  # only the makers' tests import it
    "docutils",  # in the public domain but for its Emacs mode, which nothing here uses
}
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]


def test_a_broken_link_is_named_once_with_its_page():
    link = {"uri": "https://x.example", "status": "broken", "filename": "book/map.md", "info": "404"}
    lines = "\n".join(
        json.dumps(one) for one in (link, link, link | {"uri": "https://y", "status": "working"})
    )
    assert weekly.broken(lines) == ["- https://x.example in `book/map.md`: 404"]


def test_an_architecture_that_came_went_or_turned_otherwise_is_named():
    old = [{"name": "a", "layout": "half_split", "lines": 1}, {"name": "b"}, {"name": "c", "lines": 1}]
    new = [{"name": "a", "layout": "interleaved", "lines": 2}, {"name": "c", "lines": 9}, {"name": "d"}]
    assert weekly.differences(old, new) == [
        "- `d` rotates, and is not in the census",
        "- `b` is in the census, and rotates no more",
        '- `a`: layout was "half_split", is "interleaved"',
    ]


def test_there_is_no_report_where_nothing_differs():
    assert weekly.report({"Links": [], "Census": []}) == ""
    assert weekly.report({"Links": ["- one"], "Census": []}) == "## Links\n\n- one\n"


def test_the_two_minor_versions_before_the_newest_are_looked_at_too():
    assert weekly.before("5.24.0") == ["5.23.*", "5.22.*"]
    assert weekly.before("6.1.2") == ["6.0.*"]


def test_a_family_that_has_changed_is_named_with_the_version(tmp_path, monkeypatch):
    (tmp_path / "transformers-5.24.0.dist-info").mkdir()

    def ran(command, **options):
        assert options["env"]["PYTHONPATH"].startswith(str(tmp_path))
        said = "### transformers 5.24.0, 2 families\n\n- `model` on `llama`: exit status was 0, is 2. Why.\n"
        return subprocess.CompletedProcess(command, 1, said, "")

    monkeypatch.setattr(weekly.subprocess, "run", ran)
    assert weekly.families(str(tmp_path)) == ["- 5.24.0: `model` on `llama`: exit status was 0, is 2. Why."]


def test_every_target_that_the_workflow_makes_exists():
    made = re.findall(r"\bmake ([a-z]+)", " ".join(step.get("run", "") for step in STEPS))
    assert {"library", "dist", "mutants", "weekly"} == set(made)
    assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in made)


def test_no_script_of_the_workflow_holds_what_others_may_write():
    assert not [step["run"] for step in STEPS if "${{" in step.get("run", "")]


def test_every_version_of_python_that_is_promised_is_tried_on_three_systems():
    matrix = WORKFLOW["jobs"]["library"]["strategy"]["matrix"]
    promised = re.search(r"Python (3\.\d+)–(3\.\d+)", (weekly.ROOT / "README.md").read_text(encoding="utf-8"))
    assert (matrix["python"][0], matrix["python"][-1]) == promised.groups()
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_nothing_is_published_before_its_tests():
    for job in ("pages", "release"):
        assert {"library", "whole", "dist"} <= set(WORKFLOW["jobs"][job]["needs"])


def test_a_known_vulnerability_is_named_with_the_version_that_mends_it():
    known = {"id": "PYSEC-1", "fix_versions": ["2.0"], "aliases": [], "description": ""}
    audit = {
        "dependencies": [
            {"name": "a", "version": "1", "vulns": [known]},
            {"name": "b", "skip_reason": "none"},
        ]
    }
    assert weekly.vulnerabilities(json.dumps(audit)) == ["- a 1: PYSEC-1, fixed in 2.0"]


def test_actions_are_pinned_by_commit():
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert used
    assert not [action for action in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action)]


def test_what_is_copyleft_among_the_pinned_packages_is_known():
    pinned = re.findall(r"^([\w.-]+)==", (weekly.ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M)
    copyleft = set()
    for name in pinned:
        try:
            about = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue
        stated = [
            about.get("License-Expression"),
            (about.get("License") or "")[:80],
            *(about.get_all("Classifier") or []),
        ]
        if re.search(r"\b[AL]?GPL|General Public License", " ".join(filter(None, stated))):
            copyleft.add(name.lower())
    assert copyleft <= COPYLEFT, copyleft - COPYLEFT
