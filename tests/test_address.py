"""One command gives the book its address, moves it, and takes it away."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import address
import nbformat
import pytest
import yaml
from address import ROOT, Address

from notebooks import as_text, prefix_of, tidy

GIVEN = address.read(ROOT)
HERE = Address("/".join(["first", "book"]))  # so that this file does not name it
ELSEWHERE = Address("ada-l/turn.book", "https://ada.example/book/", released=True)
IN_USE = [*address.places(HERE, ""), ".zenodo.json", "notebooks"]
LINK = re.compile(r"https?://(?:github\.com|colab\.research\.google\.com)/[\w./-]+")


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    """Copy the repository, without what is built or installed."""
    copy = tmp_path_factory.mktemp("pristine")
    for path in address.files(ROOT):
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return copy


@pytest.fixture
def root(pristine, tmp_path) -> Path:
    """Copy the files that have an address, and set one."""
    for name in IN_USE:
        source, target = pristine / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)
    address.move(tmp_path, HERE)
    return tmp_path


def state(root: Path) -> dict[str, str]:
    """Return {file: digest of its bytes}."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in address.files(root)
    }


def ours(root: Path, name: str) -> list[str]:
    """Return the links to GitHub and Colab in the cells or text of a file."""
    return LINK.findall((root / name).read_text(encoding="utf-8"))


def test_what_is_committed_follows_from_the_config():
    assert not address.changes(ROOT, GIVEN), "run `make address`"


def test_the_old_name_is_found_nowhere_after_a_move(pristine):
    address.move(pristine, HERE)
    assert address.left(pristine, HERE.slug)
    assert (
        address.main(["--repo", "ada-l/turn.book", "--site", "https://ada.example/book", "--pypi"], pristine)
        == 0
    )
    assert not address.left(pristine, HERE.slug)
    assert not address.left(pristine, GIVEN.slug) or not GIVEN.slug
    assert address.read(pristine) == ELSEWHERE


@pytest.mark.parametrize("there", [ELSEWHERE, Address()], ids=["another", "none"])
def test_a_second_run_changes_nothing_and_the_way_back_brings_the_same_bytes(root, there):
    before = state(root)
    assert address.move(root, there)
    moved = state(root)
    assert moved != before
    assert address.move(root, there) == []
    assert address.main([], root) == 0  # from _config.yml alone
    assert state(root) == moved
    address.move(root, HERE)
    assert state(root) == before


def test_only_the_places_change(root):
    before = state(root)
    changed = set(address.move(root, ELSEWHERE))
    assert {name for name, digest in state(root).items() if before.get(name) != digest} == changed
    assert all(name in IN_USE or name.startswith("notebooks/") for name in changed)


def test_without_an_address_no_place_has_a_link_to_one(root):
    address.move(root, Address())
    assert not address.left(root, HERE.slug)
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    assert not config["repository"]["url"]
    assert not config["launch_buttons"]["colab_url"]
    assert not config["html"]["use_repository_button"]
    assert not config["html"]["use_issues_button"]
    for name in address.places(HERE, ""):
        assert not any("/blob/" in link or "/issues" in link for link in ours(root, name)), name
    for path in (root / "notebooks").glob("*.ipynb"):
        assert "colab.research" not in path.read_text(encoding="utf-8"), path.name


def test_a_site_is_named_wherever_a_reader_looks_for_it(root):
    address.move(root, ELSEWHERE)
    site = ELSEWHERE.site
    for name in ("_config.yml", *address.PYPROJECTS, "CITATION.cff", ".zenodo.json", "README.md"):
        assert site in (root / name).read_text(encoding="utf-8"), name
    assert yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["html"]["baseurl"] == site
    chooser = yaml.safe_load((root / ".github/ISSUE_TEMPLATE/config.yml").read_text(encoding="utf-8"))
    assert [link["url"] for link in chooser["contact_links"]] == [site]


@pytest.mark.parametrize("there", [HERE, ELSEWHERE, Address()], ids=["repository", "released", "none"])
def test_notebooks_stay_in_order(root, there):
    address.move(root, there)
    for path in (root / "notebooks").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        tidy(notebook, prefix_of(path))
        assert as_text(notebook) == path.read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize("extra", [[], ["torch"]])
def test_a_setup_cell_without_an_address_says_how_to_install_what_is_missing(extra):
    tries = "".join(f"    import {name}\n\n" for name in extra) + "    import rope_book\n"
    cell = f"# Setup. Old.\ntry:\n{tries}except ModuleNotFoundError:\n    old\nimport math\n"
    source = address.setup(cell, Address(), "0.1.0").replace(
        "import rope_book\n", "import a_room_that_is_not_there\n"
    )
    with pytest.raises(
        ModuleNotFoundError, match=r"a_room_that_is_not_there is not installed: .*pip install"
    ) as told:
        exec(source.replace("import torch\n", "import math\n"), {})
    assert str(told.value).endswith('.. ../doctor "../book[torch]"' if extra else ".. ../doctor ../book")
    assert source.endswith("\nimport math\n")


@pytest.mark.parametrize("ref", ["main", "v0.1.0"])
def test_before_a_release_a_setup_cell_installs_all_three_packages_of_one_commit(ref):
    tries = "    import rope_book\n    import torch\n"
    cell = f"# Setup. Old.\ntry:\n{tries}except ModuleNotFoundError:\n    old\nimport math\n"
    source = address.setup(cell, Address("ada/book", ref=ref), "0.1.0")
    wanted = re.findall(
        r'"([\w\[\]-]+) @ git\+https://github\.com/ada/book@([\w.]+)(?:#subdirectory=(\w+))?"', source
    )
    assert wanted == [
        ("rope-edu", ref, ""),
        ("rope-doctor", ref, "doctor"),
        ("rope-book[torch]", ref, "book"),
    ]
    assert "    import torch\nimport math" in source


def test_links_and_cells_name_the_commit_that_is_asked_for(root):
    assert address.main(["--repo", "ada/book", "--ref", "0a1b2c3"], root) == 0
    assert address.read(root) == Address("ada/book", ref="0a1b2c3")
    text = (root / "notebooks" / "04_rotate_one_pair.ipynb").read_text(encoding="utf-8")
    assert "blob/0a1b2c3/notebooks/04_rotate_one_pair.ipynb" in text
    assert text.count("@0a1b2c3") == 3


def test_a_released_library_is_installed_by_its_minor_number():
    cell = "# Setup. Old.\ntry:\n    import rope_book\nexcept ModuleNotFoundError:\n    old\nimport math\n"
    assert '%pip install -q "rope-book==0.3.*"' in address.setup(cell, ELSEWHERE, "0.3.1")


def test_the_deposit_says_what_the_citation_says():
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    deposit = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert deposit["title"] == cff["title"]
    assert deposit["version"] == cff["version"]
    assert deposit["publication_date"] == str(cff["date-released"])
    assert deposit["license"] == cff["license"]
    assert deposit["keywords"] == cff["keywords"]
    assert deposit["creators"] == cff["authors"]


@pytest.mark.parametrize(
    "wrong", ["--repo=one", "--repo=a/b/c", "--site=https://x.example", "--pypi", "--ref=v1"]
)
def test_an_address_that_is_none_is_refused_and_nothing_is_written(root, wrong, capsys):
    before = state(root)
    assert address.main([wrong], root) == 2
    assert capsys.readouterr().err
    assert state(root) == before


def test_a_site_without_its_scheme_is_refused(root):
    assert address.main(["--repo=a/b", "--site=x.example"], root) == 2


def test_the_address_is_taken_from_gits_remote_when_asked(root):
    run = {"cwd": root, "check": True, "env": os.environ | {"GIT_CONFIG_GLOBAL": os.devnull}}
    subprocess.run(["git", "init", "-q"], **run)
    subprocess.run(["git", "remote", "add", "origin", "git@github.com:ada-l/turn.book.git"], **run)
    assert address.main(["--repo", "git"], root) == 0
    assert address.read(root) == Address("ada-l/turn.book")


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ([], ""),
        (["REPO="], ' --repo ""'),
        (["REPO=a/b", "SITE=https://x.example", "PYPI=1"], ' --repo "a/b" --site "https://x.example" --pypi'),
        (["REPO=git", "REF=v0.1.0"], ' --repo "git" --ref "v0.1.0"'),
    ],
)
def test_make_hands_on_what_is_typed(typed, meant):
    command = ["make", "--dry-run", f"PYTHON={sys.executable}", "address", *typed]
    run = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "REPO": "no/no"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert " ".join(run.stdout.split()) == f"{sys.executable} book/tools/address.py{meant}"
