"""Earlier versions of the book beside the newest: unpacked from the zips of releases, and linked page by page."""

import zipfile

import pytest
import versions
from dist import zipped

PAGE = '<html><head></head><body><footer class="bd-footer-content">\n<p>{}</p></footer></body></html>'


@pytest.fixture
def built(tmp_path, monkeypatch):
    """The site of version 0.3.0, and a folder with the zips of two earlier ones; the older lacks a page."""
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.3.0"\n')
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    everywhere = {"book/index.html", "notebooks/04_rotate.html"}
    for version, names in {"0.1.0": everywhere, "0.2.0": {*everywhere, "notebooks/24_find.html"}}.items():
        site(tmp_path / version, version, names)
        zipped(tmp_path / version, earlier / f"rope-turn-by-turn-{version}.zip")
    (earlier / "rope-turn-by-turn-students-0.2.0.zip").write_bytes(b"no site")
    site(tmp_path / "html", "0.3.0", {*everywhere, "notebooks/24_find.html"})
    return tmp_path / "html"


def site(folder, version, names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(PAGE.format(version))


def run(built):
    versions.main([str(built.parent / "earlier")], built)
    return {path.relative_to(built).as_posix(): path.read_text() for path in built.rglob("*.html")}


def test_each_page_leads_to_itself_in_every_version_or_to_the_first_page(built):
    pages = run(built)
    new, old = pages["notebooks/24_find.html"], pages["v0.1.0/book/index.html"]
    assert '<a href="../v0.2.0/notebooks/24_find.html">0.2.0</a>' in new
    assert '<a href="../v0.1.0/book/index.html">0.1.0</a>' in new
    assert "Version 0.3.0</summary>" in new
    assert "noindex" not in new
    assert '<a href="../../book/index.html">0.3.0</a>' in old
    assert '<a href="../../v0.2.0/book/index.html">0.2.0</a>' in old
    assert "Version 0.1.0; the newest is 0.3.0</summary>" in old
    assert versions.ROBOTS in old


def test_every_link_of_every_version_leads_to_a_page(built):
    for name, text in run(built).items():
        for address in versions.re.findall(r'href="([^"]+)"', text):
            assert ((built / name).parent / address).resolve().is_file(), f"{name}: {address}"


def test_running_it_twice_changes_nothing(built):
    assert run(built) == run(built)


def test_without_an_earlier_version_nothing_changes(built, tmp_path):
    (tmp_path / "none").mkdir()
    before = {path: path.read_text() for path in built.rglob("*.html")}
    versions.main([str(tmp_path / "none")], built)
    assert {path: path.read_text() for path in built.rglob("*.html")} == before


@pytest.mark.parametrize("name", ["../out.html", "other/page.html", "rope-turn-by-turn-0.2.1/../../out.html"])
def test_a_file_that_would_leave_its_folder_is_refused(built, name):
    with zipfile.ZipFile(built.parent / "earlier" / "rope-turn-by-turn-0.2.1.zip", "w") as archive:
        archive.writestr(name, "x")
    with pytest.raises(SystemExit, match=r"which is not in rope-turn-by-turn-0\.2\.1/"):
        run(built)
    assert not (built.parent / "out.html").exists()


def test_a_damaged_zip_is_named(built):
    path = built.parent / "earlier" / "rope-turn-by-turn-0.2.0.zip"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(SystemExit, match=r"rope-turn-by-turn-0\.2\.0\.zip is no zip"):
        run(built)
