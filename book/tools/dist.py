"""Package the built book for distribution: python book/tools/dist.py [--books] [--wheel] [--tag v0.1.0]

The site (``_build/html``) gets every page as Markdown, ``llms.txt`` and ``llms-full.txt``, every figure as a
file for other websites (``embed/``), and, if ``_config.yml`` names the site, ``sitemap.xml`` and ``404.html``.
``_build/dist`` gets a zip of the site that opens from a folder, one of the students' notebooks, the slides of
the lecture, with ``--books`` a PDF and an EPUB, with ``--wheel`` the wheels of the three packages and of the
test vectors, and ``SHA256SUMS`` of all files.
"""

import hashlib
import html
import re
import shutil
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

import address
import dates
import embed
import slides
import students
from as_markdown import markdown
from outline import ABOUT, BUILT, EPOCH, ROOT, TITLE, all_pages, pages, write
from wheels import vectors_wheel, wheels

NAME = "rope-turn-by-turn"
LOST = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex" />
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'" />
    <title>No such page: {title}</title>
  </head>
  <body>
    <main>
      <h1>There is no page at this address</h1>
      <p>Addresses that were published lead on; this one never was, or was mistyped.</p>
      <p><a href="{site}book/index.html">The first page</a> · <a href="{site}search.html">Search</a></p>
    </main>
  </body>
</html>
"""


def write_markdown(root: Path, built: Path) -> None:
    """Write every page as Markdown into the site, and two files that collect them."""
    index, whole = [f"# {TITLE}", "", f"> {ABOUT}", ""], []
    for caption, names in pages(root):
        index += [f"## {caption}", ""] if caption else []
        for name in names:
            text = markdown(root, built, name)
            write(built / "html" / f"{name}.md", text)
            title = re.search(r"^# (.+)$", text, re.MULTILINE)[1]
            index.append(f"- [{title}]({name}.md)")
            whole.append(f"<!-- {name}.md -->\n\n{text}")
        index.append("")
    write(built / "html" / "llms.txt", "\n".join(index))
    write(built / "html" / "llms-full.txt", "\n".join(whole))


def write_for_site(root: Path, built: Path, site: str) -> None:
    """Write the files of a site with an address: the list of its pages, and the page for unknown addresses."""
    names = [name for _, part in all_pages(root) for name in part]
    urls = "".join(
        f"  <url><loc>{html.escape(f'{site}{name}.html')}</loc>{lastmod(root, name)}</url>\n"
        for name in names
    )
    opening = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    )
    write(built / "html" / "sitemap.xml", f"{opening}\n{urls}</urlset>\n")
    write(built / "html" / "404.html", LOST.format(title=TITLE, site=html.escape(site)))


def lastmod(root: Path, name: str) -> str:
    """Return the sitemap's element for the day on which a page was last changed."""
    day = dates.of_page(root, name)
    return f"<lastmod>{day}</lastmod>" if day else ""


def zipped(site: Path, target: Path) -> None:
    """Pack a site into a folder of the zip's name; equal files give equal bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for path in site.rglob("*") if path.is_file() and path.name != ".buildinfo"):
            entry = zipfile.ZipInfo(f"{target.stem}/{path.relative_to(site).as_posix()}", EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, path.read_bytes())


def sums(folder: Path) -> str:
    """Return the checksums of a folder's files in the format of ``sha256sum --check``."""
    paths = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)


def books(stem: Path, root: Path, built: Path) -> None:
    """Make the PDF and the EPUB; exit with the errors that epubcheck reports."""
    import epub
    import pdf

    pdf.make(Path(f"{stem}.pdf"), (), root, built)
    book = Path(f"{stem}.epub")
    epub.make(book, (), root, built)
    if (errors := epub.errors(book)) is None:
        print("no Java here: the EPUB was not checked")
    elif errors:
        sys.exit("epubcheck: " + "\n".join(errors))


def main(arguments: list[str], root: Path = ROOT, built: Path = BUILT) -> None:
    """Write everything, replacing earlier files."""
    target = built / "dist"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if "--tag" in arguments and (tag := arguments[arguments.index("--tag") + 1]) != f"v{version}":
        sys.exit(f"the tag is {tag}, but pyproject.toml says {version}")
    write_markdown(root, built)
    for name in ("sitemap.xml", "404.html"):
        (built / "html" / name).unlink(missing_ok=True)
    if site := address.read(root).site:
        write_for_site(root, built, site)
    embed.write(built / "html" / "embed")
    zipped(built / "html", target / f"{NAME}-{version}.zip")
    with tempfile.TemporaryDirectory() as folder:
        students.write(Path(folder) / "notebooks")
        zipped(Path(folder), target / f"{NAME}-students-{version}.zip")
    slides.write(target / f"{NAME}-slides-{version}.html")
    if "--books" in arguments:
        books(target / f"{NAME}-{version}", root, built)
    if "--wheel" in arguments:
        wheels(root, target)
        vectors_wheel(root, target)
    write(target / "SHA256SUMS", sums(target))
    for path in sorted(target.iterdir()):
        print(f"{path.stat().st_size / 1e6:7.2f} MB  {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
