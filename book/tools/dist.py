"""Package the built book for distribution: python book/tools/dist.py [--books] [--wheel] [--tag v0.1.0]

The site (``_build/html``) gets every figure as a file for other websites (``embed/``), and the slides of the
lecture (``slides/``), which use these files. If it has an address, each page gets a card for networks.
``_build/dist`` gets a zip of the site that opens from a folder, one of the students' notebooks, with ``--books`` a
PDF and an EPUB, with ``--wheel`` the wheels of the three packages and of the test vectors, and ``SHA256SUMS`` of
all files.
"""

import hashlib
import shutil
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

import cards
import embed
import students
from outline import BUILT, EPOCH, ROOT, write
from wheels import vectors_wheel, wheels

NAME = "rope-turn-by-turn"


def zipped(site: Path, target: Path) -> None:
    """Pack a site, without a model's weights, into a folder of the zip's name; equal files give equal bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        paths = (path for path in site.rglob("*") if path.is_file() and path.suffix != ".gguf")
        for path in sorted(path for path in paths if path.name != ".buildinfo"):
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
    embed.write(built / "html" / "embed")
    if cards.addressed(built / "html"):
        cards.write(built / "html")
    shutil.copytree(root / "book" / "slides", built / "html" / "slides", dirs_exist_ok=True)
    zipped(built / "html", target / f"{NAME}-{version}.zip")
    with tempfile.TemporaryDirectory() as folder:
        students.write(Path(folder) / "notebooks")
        zipped(Path(folder), target / f"{NAME}-students-{version}.zip")
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
