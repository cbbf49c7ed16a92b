"""What a published site needs is loaded only where it can work, and then it works."""

import importlib.util
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PATH = ROOT / "book" / "extensions" / "published.py"
SPEC = importlib.util.spec_from_file_location("published", PATH)
published = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(published)
LOGO = ROOT / "book" / "assets" / "logo.svg"
SITE = "https://ada.example/turns/"
CONFIG = """import sys
sys.path.append({folder!r})
html_title, html_theme, html_baseurl = "The book", "sphinx_book_theme", {site!r}
extensions = ["description", "published"]
html_logo = {logo!r}
"""


def git(folder: Path, *arguments: str) -> None:
    """Run git as nobody."""
    name = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


def built(source: Path, site: str) -> Path:
    """Build a small book, strictly; return the folder of its pages."""
    (source / "conf.py").write_text(
        CONFIG.format(folder=str(PATH.parent), site=site, logo=str(LOGO)), encoding="utf-8"
    )
    command = [sys.executable, "-m", "sphinx", "-n", "-W", "--keep-going", "-q", source, source / "_build"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return source / "_build"


@pytest.fixture
def source(tmp_path) -> Path:
    """Write a book of two pages and commit it twice, so that a clone of depth 1 is shallow."""
    folder = tmp_path / "whole"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "other.rst").write_text("Other\n=====\n\nAnother page, with a sentence that is long enough.\n")
    for words in ("One.", "A page of a book that has a sentence of some length."):
        text = f"Turns\n=====\n\n{words}\n\n.. toctree::\n\n   other\n"
        (folder / "index.rst").write_text(text, encoding="utf-8")
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", words, "--date", "2026-02-01T12:00:00Z")
    return folder


def test_a_shallow_clone_without_an_address_builds_strictly_and_has_no_day(source, tmp_path):
    git(tmp_path, "clone", "--quiet", "--depth", "1", source.as_uri(), "shallow")
    assert published.has_history(source)
    assert not published.has_history(tmp_path / "shallow")
    site = built(tmp_path / "shallow", "")
    page = (site / "index.html").read_text(encoding="utf-8")
    assert "Last updated" not in page
    assert "og:" not in page
    assert page.count('name="description"') == 1
    assert not (site / "sitemap.xml").exists()
    assert not (site / "404.html").exists()


def test_a_copy_without_git_has_no_history(tmp_path):
    assert not published.has_history(tmp_path)
    assert published.parts("", published.has_history(tmp_path)) == []


def test_with_an_address_and_the_history_a_page_has_its_tags_its_day_and_its_place_in_the_sitemap(source):
    site = built(source, SITE)
    page = (site / "index.html").read_text(encoding="utf-8")
    assert f'<meta property="og:url" content="{SITE}index.html" />' in page
    assert 'property="og:title" content="Turns"' in page
    assert 'property="og:site_name" content="The book"' in page
    assert "og:image" not in page
    (own,) = re.findall(r'name="description" content="([^"]*)"', page)
    assert f'property="og:description" content="{own}"' in page
    assert page.count('name="description"') == 1
    assert re.search(r"Last updated on\s*20\d\d-[01]\d-[0-3]\d", page)
    (url,) = [url for url in ET.parse(site / "sitemap.xml").getroot() if url[0].text == f"{SITE}index.html"]
    assert re.match(r"20\d\d-", url[1].text)


def test_the_page_for_unknown_addresses_works_at_any_depth(source):
    lost = (built(source, SITE) / "404.html").read_text(encoding="utf-8")
    links = re.findall(r'(?:href|src)="([^"#][^"]*)"', lost)
    assert links
    assert all(link.startswith(("/turns/", "http", "data:")) for link in links), links


pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")
