"""Addresses that were published lead on: of pages that are gone, of sections that moved or became detours."""

import importlib.util
import json
import threading
from functools import partial

import pytest

from .conftest import ROOT, SITE, Quiet, Server, at_rest


def loaded(path):
    """Return a module by its file: an extension and a tool have the same name."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = loaded(ROOT / "book" / "tools" / "moved.py")
EXTENSION = loaded(ROOT / "book" / "extensions" / "moved.py")
PUBLISHED = json.loads(TOOL.PUBLISHED.read_text(encoding="utf-8"))
TABLE = EXTENSION.table()


@pytest.mark.parametrize("page", PUBLISHED)
def test_every_published_section_leads_to_one_that_is_there(page):
    lost = [section for section in PUBLISHED[page] if not TOOL.leads_to(page, section, TABLE)]
    assert not lost, "`python book/tools/moved.py` proposes entries of book/data/moved.yml for these"


@pytest.mark.parametrize("page", TABLE)
def test_every_entry_is_of_a_published_address_and_is_needed(page):
    for section in TABLE[page]:
        assert section == "" or section in PUBLISHED[page], f"{page}#{section} was never published"
        assert section not in TOOL.ids(page), f"{page}#{section} is still there"


OLD = "notebooks/00_an_old_page"
ENTRIES = {OLD: {"": "book/glossary", "first": "book/notation#notation", "second": "book/map#map"}}
NOW = "book/map"


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """Serve a site with a page that is gone and one with sections that moved or became detours; its address."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("notebooks", "book"):
        (folder / name).mkdir()
    (folder / "_static").symlink_to(SITE / "_static")
    for name in ("glossary", "notation"):
        (folder / "book" / f"{name}.html").symlink_to(SITE / "book" / f"{name}.html")
    gone = EXTENSION.leading_on(OLD, ENTRIES[OLD], "Glossary")
    (folder / f"{OLD}.html").write_text(gone, encoding="utf-8")
    island = EXTENSION.island(
        NOW, {"moved-away": "book/notation#notation", "renamed": "#map", "__proto__": "#map"}
    )
    text = (SITE / f"{NOW}.html").read_text(encoding="utf-8")
    fold = '<section id="detour-aside"><details class="detour"><summary>…</summary>Inside</details></section>'
    text = text.replace("</article>", f'{island}{fold}<h2 id="plain">Plain</h2></article>')
    (folder / f"{NOW}.html").write_text(text, encoding="utf-8")
    with Server(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()


LEADS = [
    (f"{OLD}.html", "book/glossary.html"),
    (f"{OLD}.html#term-YaRN", "book/glossary.html#term-YaRN"),
    (f"{OLD}.html#first", "book/notation.html#notation"),
    (f"{NOW}.html#moved-away", "book/notation.html#notation"),
    (f"{NOW}.html#renamed", f"{NOW}.html#map"),
    (f"{NOW}.html#aside", f"{NOW}.html#detour-aside"),
    (f"{NOW}.html#detour-plain", f"{NOW}.html#plain"),
    (f"{NOW}.html#never-was", f"{NOW}.html#never-was"),
    (f"{NOW}.html#constructor", f"{NOW}.html#constructor"),
]


@pytest.mark.browser
@pytest.mark.parametrize("host", ["server", "folder"])
@pytest.mark.parametrize(("asked", "wanted"), LEADS, ids=[asked.rpartition("/")[2] for asked, _ in LEADS])
def test_a_reader_is_led_on(tab, old, asked, wanted, host):
    folder, address = old
    root = address if host == "server" else folder.as_uri() + "/"
    seen = tab(asked, root=root, wait=False, bypass_csp=False)
    seen.page.wait_for_url(root + wanted)
    if asked.endswith("aside"):
        seen.page.wait_for_selector("#detour-aside details[open]")
    at_rest(seen.page)
    assert seen.page.url == root + wanted, "it leads on"
    seen.assert_clean()


@pytest.mark.browser
def test_a_reader_is_led_on_where_no_script_runs(reader, old):
    seen = reader.open(f"{OLD}.html", root=old[1], wait=False, java_script_enabled=False)
    seen.page.wait_for_url(old[1] + "book/glossary.html")
    seen.page.close()


@pytest.mark.browser
def test_a_link_that_arrives_later_is_led_on_too(tab, old):
    page = tab(f"{NOW}.html", root=old[1], wait=False).page
    page.evaluate("location.hash = 'moved-away'")
    page.wait_for_url(old[1] + "book/notation.html#notation")
