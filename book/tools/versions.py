"""Put earlier versions of the book next to the built one: python book/tools/versions.py FOLDER

FOLDER has zips of the site as attached to releases, ``rope-turn-by-turn-0.1.0.zip``. Each is unpacked into
``_build/html/v0.1.0/``; the footer of every page then links to the same page of the other versions, or to their
first page if they lack it. The links are plain HTML without a script; the zip of the newest version, made earlier,
has none. An old version is hidden from search engines, and each of its pages names the newest one. Running the tool
twice changes nothing.
"""

import os
import re
import shutil
import sys
import tomllib
import zipfile
from html import escape
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
ZIP = re.compile(r"rope-turn-by-turn-(\d+(?:\.\d+)*)\.zip")
UNPACKED = re.compile(r"v\d+(\.\d+)*")
FOOT = re.compile(
    r'(<footer class="bd-footer-content">\s*)(?:<details class="rl-versions">.*?</details>\s*)?', re.DOTALL
)
ROBOTS = '<meta name="robots" content="noindex" />'
FIRST = "book/index.html"


def number(version: str) -> tuple[int, ...]:
    """Return the sort key of a version."""
    return tuple(int(part) for part in version.split("."))


def unpack(archive: Path, target: Path) -> None:
    """Unpack a site; raise ValueError if the zip is damaged or has a file outside its folder."""
    try:
        with zipfile.ZipFile(archive) as packed:
            if damaged := packed.testzip():
                raise ValueError(f"{archive.name} is damaged: {damaged} cannot be read")
            for entry in packed.infolist():
                path = PurePosixPath(entry.filename)
                if path.parts[:1] != (archive.stem,) or ".." in path.parts or "\\" in entry.filename:
                    raise ValueError(
                        f"{archive.name} holds {entry.filename!r}, which is not in {archive.stem}/"
                    )
            packed.extractall(target.parent / f".{target.name}")
    except zipfile.BadZipFile as error:
        raise ValueError(f"{archive.name} is no zip: {error}") from None
    shutil.rmtree(target, ignore_errors=True)
    (target.parent / f".{target.name}" / archive.stem).rename(target)
    (target.parent / f".{target.name}").rmdir()


def pages(site: Path) -> list[str]:
    """Return the pages of one version."""
    every = (path.relative_to(site) for path in site.rglob("*.html"))
    return sorted(
        path.as_posix()
        for path in every
        if "_static" not in path.parts and not UNPACKED.fullmatch(path.parts[0])
    )


def link(page: str, root: str, site: Path) -> str:
    """Return the address of a page in another version, whose relative root is `root`."""
    return f"{root}{page if (site / page).is_file() else FIRST}"


def switch(page: str, version: str, sites: dict[str, Path]) -> str:
    """Return the version line of a page's footer: its own version, and links to the others, newest first."""
    site = sites[version]
    rows = []
    for other in sorted(sites, key=number, reverse=True):
        root = os.path.relpath(sites[other], (site / page).parent).replace(os.sep, "/") + "/"
        rows.append(
            f"<li>{escape(other)}, this one</li>"
            if other == version
            else f'<li><a href="{link(page, root, sites[other])}">{escape(other)}</a></li>'
        )
    newest = max(sites, key=number)
    old = "" if version == newest else f"; the newest is {escape(newest)}"
    summary = f"<summary>Version {escape(version)}{old}</summary>"
    return f'<details class="rl-versions">{summary}<ul>{"".join(rows)}</ul></details>\n'


def mark(version: str, sites: dict[str, Path]) -> None:
    """Write the switch into every page of a version, and hide an old one from search engines."""
    old = version != max(sites, key=number)
    for page in pages(sites[version]):
        path = sites[version] / page
        text = FOOT.sub(
            lambda foot, page=page: foot[1] + switch(page, version, sites), path.read_text(encoding="utf-8")
        )
        if old and ROBOTS not in text:
            text = text.replace("<head>", f"<head>{ROBOTS}", 1)
        path.write_text(text, encoding="utf-8", newline="\n")


def main(arguments: list[str], built: Path = ROOT / "_build" / "html") -> None:
    """Unpack versions older than the built book, and link all of them; without any, change nothing."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        sys.exit("give the folder that holds the zips of earlier versions: versions.py FOLDER")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sites = {project["version"]: built}
    for archive in sorted(Path(arguments[0]).iterdir()):
        match = ZIP.fullmatch(archive.name)
        if match and number(match[1]) < number(project["version"]):
            sites[match[1]] = built / f"v{match[1]}"
            try:
                unpack(archive, sites[match[1]])
            except ValueError as error:
                sys.exit(str(error))
    for version in sites if len(sites) > 1 else ():
        mark(version, sites)
    print(f"{len(sites) - 1} earlier versions: {', '.join(sorted(sites, key=number)[:-1]) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])
