"""The three sentences under each chapter's title, as the page that gathers them needs them."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("in_short", ROOT / "book" / "extensions" / "in_short.py")
EXTENSION = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(EXTENSION)
CHAPTERS = [path for _, paths in EXTENSION.parts(ROOT) for path in paths]
SHORT = {path.stem: EXTENSION.read(path)[1] for path in CHAPTERS}


def test_every_chapter_is_on_the_page_once_and_in_order():
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert [path for path in notebooks if path.name[:2] not in ("00", "P1")] == CHAPTERS


@pytest.mark.parametrize("name", SHORT)
def test_the_sentences_are_three_in_one_paragraph_without_links(name):
    text = SHORT[name]
    assert "](" not in text
    assert "\n\n" not in text
    bare = re.sub(r"\$[^$]*\$|`[^`]*`", "X", text.replace("\n", " "))
    assert len(re.findall(r"[.!?](?= [A-ZΘ*\"“]|$)", bare)) == 3, bare


def test_the_sentences_are_read_whole_and_nothing_else(tmp_path):
    source = "# A title\n\n> **In short.** One\n> two. Three.\n> Four.\n\n[A link](x)\n\n> a quotation"
    notebook = {"cells": [{"cell_type": "markdown", "source": [source]}]}
    (tmp_path / "24_x.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    assert EXTENSION.read(tmp_path / "24_x.ipynb") == ("A title", "One\ntwo. Three.\nFour.")
