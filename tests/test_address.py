"""The setup cells follow from the address in ``_config.yml``, and the deposit from the citation."""

import json
import re
import shutil

import address
import nbformat
import pytest
import yaml
from address import ROOT, Address

from notebooks import as_text, prefix_of, tidy

ELSEWHERE = Address("ada-l/turn.book", "https://ada.example/book/", released=True)
CELL = "# Setup. Old.\ntry:\n{}    import rope_book\nexcept ModuleNotFoundError:\n    old\nimport math\n"


@pytest.fixture
def root(tmp_path):
    """Copy the files that the address concerns."""
    for name in ("_config.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    return tmp_path


def configured(root, **values: str) -> None:
    """Set values of ``_config.yml``."""
    path = root / "_config.yml"
    text = path.read_text(encoding="utf-8")
    for key, value in values.items():
        assert len(re.findall(rf"^  {key}:", text, re.MULTILINE)) == 1, key
        text = re.sub(rf"^  {key}:.*$", f"  {key}: {value}", text, flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")


def test_what_is_committed_follows_from_the_config():
    assert address.main(["--check"]) == 0, "run `make address`"


def test_every_setup_cell_follows_the_address_and_comes_back_byte_for_byte(root):
    before = {path.name: path.read_bytes() for path in (root / "notebooks").glob("*.ipynb")}
    configured(root, url="https://github.com/ada/book", branch="0a1b2c3")
    assert address.read(root) == Address("ada/book", ref="0a1b2c3")
    assert address.main(["--check"], root) == 1
    assert address.main([], root) == 0
    assert address.main(["--check"], root) == 0
    for path in (root / "notebooks").glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert text.count("@0a1b2c3") == 3, path.name
        notebook = nbformat.reads(text, as_version=4)
        tidy(notebook, prefix_of(path))
        assert as_text(notebook) == text, path.name
    configured(root, url='""', branch="main")
    assert address.main([], root) == 0
    assert {path.name: path.read_bytes() for path in (root / "notebooks").glob("*.ipynb")} == before


@pytest.mark.parametrize("extra", [[], ["torch"]])
def test_a_setup_cell_without_an_address_says_how_to_install_what_is_missing(extra):
    source = address.setup(
        CELL.format("".join(f"    import {name}\n\n" for name in extra)), Address(), "0.1.0"
    ).replace("import rope_book\n", "import a_room_that_is_not_there\n")
    with pytest.raises(
        ModuleNotFoundError, match=r"a_room_that_is_not_there is not installed: .*pip install"
    ) as told:
        exec(source.replace("import torch\n", "import math\n"), {})
    assert str(told.value).endswith('.. ../doctor "../book[torch]"' if extra else ".. ../doctor ../book")
    assert source.endswith("\nimport math\n")


@pytest.mark.parametrize("ref", ["main", "v0.1.0"])
def test_before_a_release_a_setup_cell_installs_all_three_packages_of_one_commit(ref):
    source = address.setup(CELL.format("    import torch\n"), Address("ada/book", ref=ref), "0.1.0")
    wanted = re.findall(
        r'"([\w\[\]-]+) @ git\+https://github\.com/ada/book@([\w.]+)(?:#subdirectory=(\w+))?"', source
    )
    assert wanted == [
        ("rope-edu", ref, ""),
        ("rope-doctor", ref, "doctor"),
        ("rope-book[torch]", ref, "book"),
    ]
    assert "    import torch\nimport math" in source


def test_a_released_library_is_installed_by_its_minor_number():
    assert '%pip install -q "rope-book==0.3.*"' in address.setup(CELL.format(""), ELSEWHERE, "0.3.1")


def test_the_address_of_the_site_ends_with_a_slash(root):
    configured(root, favicon="book/assets/logo.svg\n  baseurl: https://ada.example/book")
    assert address.read(root).site == ELSEWHERE.site


def test_a_repository_elsewhere_is_refused(root):
    configured(root, url="https://git.example/ada/book")
    with pytest.raises(
        ValueError, match=r"must be https://github\.com/owner/name, got 'https://git\.example"
    ):
        address.read(root)


def test_the_deposit_says_what_the_citation_says():
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    deposit = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert deposit["title"] == cff["title"]
    assert deposit["version"] == cff["version"]
    assert deposit["publication_date"] == str(cff["date-released"])
    assert deposit["license"] == cff["license"]
    assert deposit["keywords"] == cff["keywords"]
    assert deposit["creators"] == cff["authors"]
