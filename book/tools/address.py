"""Give the book its address, or take it away.

    python book/tools/address.py                                  bring every place into line with _config.yml
    python book/tools/address.py --repo owner/name                on GitHub
    python book/tools/address.py --repo git                       at git's remote `origin`
    python book/tools/address.py --repo owner/name --site https://… --pypi
    python book/tools/address.py --repo git --ref v0.1.0          links and setup cells name a tag or a commit
    python book/tools/address.py --repo ""                        no address

`_config.yml` is the single source: `repository: url`, `repository: branch` for the branch, tag or commit,
`html: baseurl` for the site, and `repository: released` if the packages are on PyPI. Everything else follows
from it. Without an address there are no buttons or links that need one, and the setup cell of a notebook says
how to install the packages. A second run changes nothing. Needs only Python.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GITHUB = "https://github.com/"
COLAB = "https://colab.research.google.com"
LEFT_OUT = {
    ".git",
    ".venv",
    "_build",
    "node_modules",
    "__pycache__",
    ".hypothesis",
    ".ruff_cache",
    ".mypy_cache",
    "build",
}
PYPROJECTS = ("pyproject.toml", "doctor/pyproject.toml", "book/pyproject.toml")
SITE_IN_README = re.compile(r"^(?:\[An interactive book\]\([^)]*\)|An interactive book) on ", re.MULTILINE)


@dataclass(frozen=True)
class Address:
    """The book's address: its GitHub repository, its site, and whether PyPI has the packages; all may be missing.

    `ref` is the branch, tag or commit that links open and that setup cells install.
    """

    slug: str = ""
    site: str = ""
    released: bool = False
    ref: str = "main"

    @property
    def repository(self) -> str:
        """The repository's URL, or "" without one."""
        return f"{GITHUB}{self.slug}" if self.slug else ""

    def colab(self, notebook: str) -> str:
        """Return the address that opens a notebook in Colab."""
        return f"{COLAB}/github/{self.slug}/blob/{self.ref}/notebooks/{notebook}"


@dataclass(frozen=True)
class Sentence:
    """A sentence with an address, and the sentence that replaces it without an address."""

    given: str
    missing: str

    def put(self, text: str, address: Address) -> str:
        """Return the text with whichever of the two applies."""
        pattern = re.escape(self.given).replace(r"\{url\}", r"https://github\.com/[\w.-]+/[\w.-]+")
        either = re.compile(f"{pattern}|{re.escape(self.missing)}")
        right = self.given.replace("{url}", address.repository) if address.slug else self.missing
        changed, count = either.subn(lambda _: right, text)
        if count != 1:
            raise ValueError(f"expected one sentence like {self.given!r} or {self.missing!r}, found {count}")
        return changed


IN_MAP = Sentence(
    "[Open an issue]({url}/issues) with the paper; a row is an entry of", "Add a row: it is an entry of"
)
IN_INDEX = Sentence(
    "Each chapter opens in Colab from the link at its top; its first cell installs what is missing. The same",
    "Jupyter opens each chapter in a copy of the book; its first cell says what is missing. The same",
)
IN_README = Sentence(
    "each has a Colab link at its top; locally, `make lab` opens them in JupyterLab.",
    "`make lab` opens them in JupyterLab.",
)


def slug_of(text: str) -> str:
    """Return owner/name from an address or a remote.

    >>> slug_of("git@github.com:ada/book.git"), slug_of("https://github.com/ada/book/"), slug_of("ada/book")
    ('ada/book', 'ada/book', 'ada/book')
    """
    slug = re.sub(r"^(https://github\.com/|(ssh://)?git@github\.com[:/])", "", text.strip()).rstrip("/")
    slug = slug.removesuffix(".git")
    if slug and not re.fullmatch(r"[\w-]+/[\w.-]+", slug):
        raise ValueError(f"a repository is owner/name on GitHub, got {text!r}")
    return slug


def site_of(text: str) -> str:
    """Return the address of a site with the trailing slash that a base needs."""
    if text and not re.fullmatch(r"https?://[^\s/]+(/\S*)?", text):
        raise ValueError(f"a site begins with https://, got {text!r}")
    return text.rstrip("/") + "/" if text else ""


def value(config: str, key: str) -> str:
    """Return the plain value of a unique key of ``_config.yml``, or ""."""
    match = re.search(rf"^  {key}:[ ]*(.*?)[ ]*(?:#.*)?$", config, re.MULTILINE)
    return match[1].strip("\"'") if match else ""


def read(root: Path) -> Address:
    """Return the address given in ``_config.yml``."""
    config = (root / "_config.yml").read_text(encoding="utf-8")
    released = value(config, "released") == "true"
    return Address(slug_of(value(config, "url")), value(config, "baseurl"), released, value(config, "branch"))


def with_line(text: str, under: str, key: str, line: str) -> str:
    """Return YAML with ``key`` as the first line under ``under``, or without it if ``line`` is empty."""
    text = re.sub(rf"^  {key}:.*\n", "", text, flags=re.MULTILINE)
    return text.replace(f"\n{under}:\n", f"\n{under}:\n  {key}: {line}\n", 1) if line else text


def config(text: str, address: Address) -> str:
    """Return ``_config.yml`` with the address and the buttons that need one."""
    there = str(bool(address.slug)).lower()
    for key, new in {
        "url": address.repository or '""',
        "branch": address.ref,
        "colab_url": COLAB if address.slug else '""',
        "use_repository_button": there,
        "use_issues_button": there,
    }.items():
        text = re.sub(rf"^(  {key}:).*$", rf"\1 {new}", text, flags=re.MULTILINE)
    text = with_line(text, "html", "baseurl", address.site)
    return with_line(text, "repository", "released", "true" if address.released else "")


def pyproject(text: str, address: Address) -> str:
    """Return the ``pyproject.toml`` of a package with the addresses that PyPI shows."""
    text = re.sub(r"\[project\.urls\]\n(?:\w+ = .*\n)+\n", "", text)
    urls = {
        "Homepage": address.site,
        "Repository": address.repository,
        "Issues": address.slug and f"{address.repository}/issues",
        "Changelog": address.slug and f"{address.repository}/blob/main/CHANGELOG.md",
    }
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items() if url)
    table = f"[project.urls]\n{lines}\n" if lines else ""
    return text.replace("[project.optional-dependencies]", f"{table}[project.optional-dependencies]", 1)


def citation(text: str, address: Address) -> str:
    """Return ``CITATION.cff`` with the repository and the site."""
    text = re.sub(r"^(repository-code|url): .*\n", "", text, flags=re.MULTILINE)
    lines = {"repository-code": address.repository, "url": address.site}
    links = "".join(f'{key}: "{url}"\n' for key, url in lines.items() if url)
    return re.sub(r"^(license: .*\n)", lambda match: match[1] + links, text, count=1, flags=re.MULTILINE)


def zenodo(cff: str) -> str:
    """Return ``.zenodo.json``, made entirely from ``CITATION.cff``."""

    def field(key: str) -> str:
        return re.search(rf'^{key}: "?(.*?)"?$', cff, re.MULTILINE)[1]

    related = re.findall(r'^(?:repository-code|url): "(.*)"$', cff, re.MULTILINE)
    record = {
        "title": field("title"),
        "upload_type": field("type"),
        "version": field("version"),
        "publication_date": field("date-released"),
        "access_right": "open",
        "license": field("license"),
        "creators": [{"name": name} for name in re.findall(r'^  - name: "(.*)"$', cff, re.MULTILINE)],
        "keywords": re.findall(r'^  - (?!name:)"?(.*?)"?$', cff, re.MULTILINE),
        "related_identifiers": [{"identifier": url, "relation": "isSupplementTo"} for url in related],
    }
    kept = {key: content for key, content in record.items() if content}
    return json.dumps(kept, indent=2, ensure_ascii=False) + "\n"


def changelog(text: str, address: Address) -> str:
    """Return ``CHANGELOG.md`` with a link to the changes of each version."""
    text = re.sub(r"^\[[^\]]+\]: https://github\.com/.*\n", "", text, flags=re.MULTILINE).rstrip("\n") + "\n"
    if not address.slug:
        return text
    versions = re.findall(r"^## \[(\d[^\]]*)\]", text, re.MULTILINE)
    newest = f"v{versions[0]}...main" if versions else "main"
    lines = [f"[Unreleased]: {address.repository}/compare/{newest}"]
    lines += [f"[{version}]: {address.repository}/releases/tag/v{version}" for version in versions]
    return text + "\n" + "\n".join(lines) + "\n"


def readme(text: str, address: Address) -> str:
    """Return ``README.md`` with a link to the site, and a mention of Colab if it opens notebooks."""
    book = f"[An interactive book]({address.site})" if address.site else "An interactive book"
    changed, count = SITE_IN_README.subn(f"{book} on ", text)
    if count != 1:
        raise ValueError("README.md no longer says 'An interactive book on …' once")
    return IN_README.put(changed, address)


def issue_chooser(text: str, address: Address) -> str:
    """Return GitHub's page for choosing an issue template, with a link to the site."""
    text = re.sub(r"^contact_links:\n(?:  .*\n)+", "", text, flags=re.MULTILINE)
    if not address.site:
        return text
    return text + (
        f'contact_links:\n  - name: "The book"\n    url: "{address.site}"\n'
        '    about: "Search finds every section, figure and function."\n'
    )


def front(source: str, notebook: str, address: Address) -> str:
    """Return a notebook's first cell with its link to Colab, below *In short* or else below the title."""
    source = re.sub(r"^\[Open in Colab\]\([^)]*\)\n\n?", "", source, flags=re.MULTILINE)
    if not address.slug:
        return source
    above = r"\A# .*\n\n(?:(?:>.*\n)+\n)?"
    return re.sub(
        above, lambda match: f"{match[0]}[Open in Colab]({address.colab(notebook)})\n\n", source, count=1
    )


def setup(source: str, address: Address, version: str) -> str:
    """Return a setup cell that installs missing packages, all three at one commit, or says how to install them."""
    head = re.match(
        r"# Setup\..*\ntry:\n(?P<tries>(?:    import \w+\n|\n)+)except ModuleNotFoundError.*\n(?:    .*\n)+",
        source,
    )
    if head is None:
        raise ValueError(f"a setup cell begins otherwise: {source[:80]!r}")
    others = [name for name in re.findall(r"import (\w+)", head["tries"]) if name != "rope_book"]
    names, extras = " or ".join(["rope_book", *others]), f"[{','.join(others)}]" if others else ""
    if address.slug:
        says = f" (Colab has {' and '.join(others)})" if others else ""
        where = f"Where {names} is missing{'' if others else ' (Colab)'}, this installs it{says}."
        otherwise = f"except ModuleNotFoundError:\n{installs(address, version, extras)}"
        otherwise += "".join(f"    import {name}\n" for name in others)
    else:
        where = f"Where {names} is missing, this says how to install it."
        how = "in the folder notebooks, run %pip install .. ../doctor "
        how = f"""'{how}"../book{extras}"'""" if extras else f'"{how}../book"'
        otherwise = (
            "except ModuleNotFoundError as missing:\n"
            f"    how = {how}\n"
            '    raise ModuleNotFoundError(f"{missing.name} is not installed: {how}") from None\n'
        )
    return f"# Setup. {where}\ntry:\n{head['tries']}{otherwise}{source[head.end() :]}"


def installs(address: Address, version: str, extras: str) -> str:
    """Return the lines of a setup cell that install the packages, released ones or else those of one commit."""
    if address.released:
        return f'    %pip install -q "rope-book{extras}=={version.rpartition(".")[0]}.*"\n'
    source = f"git+{address.repository}@{address.ref}"
    wanted = {
        "rope-edu": "",
        "rope-doctor": "#subdirectory=doctor",
        f"rope-book{extras}": "#subdirectory=book",
    }
    lines = [f'"{name} @ {source}{folder}"' for name, folder in wanted.items()]
    return "    %pip install -q " + " \\\n        ".join(lines) + "\n"


def notebook(text: str, name: str, address: Address, version: str) -> str:
    """Return a notebook with its link and its setup cell, leaving all other lines unchanged."""
    read = json.loads(text)
    changed = False
    for number, cell in enumerate(read["cells"]):
        source = "".join(cell["source"])
        new = source
        if number == 0:
            new = front(source, name, address)
        elif "setup" in cell["metadata"].get("tags", []):
            new = setup(source, address, version)
        if new != source:
            cell["source"], changed = new.splitlines(keepends=True), True
    return json.dumps(read, indent=1, sort_keys=True, ensure_ascii=False) + "\n" if changed else text


def places(address: Address, version: str) -> dict[str, Callable[[str], str]]:
    """Return {file: the function that corrects its text}."""
    return {
        "_config.yml": lambda text: config(text, address),
        **{name: lambda text: pyproject(text, address) for name in PYPROJECTS},
        "CITATION.cff": lambda text: citation(text, address),
        "CHANGELOG.md": lambda text: changelog(text, address),
        "README.md": lambda text: readme(text, address),
        "book/index.md": lambda text: IN_INDEX.put(text, address),
        "book/map.md": lambda text: IN_MAP.put(text, address),
        ".github/ISSUE_TEMPLATE/config.yml": lambda text: issue_chooser(text, address),
    }


def changes(root: Path, address: Address) -> dict[Path, str]:
    """Return {path: new text} of all files that the address changes."""
    metadata = (root / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.*)"$', metadata, re.MULTILINE)[1]
    texts = {root / name: make for name, make in places(address, version).items()}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        texts[path] = lambda text, name=path.name: notebook(text, name, address, version)
    new = {}
    for path, make in texts.items():
        old = path.read_text(encoding="utf-8")
        try:
            text = make(old)
        except ValueError as error:
            raise ValueError(f"{path.relative_to(root)}: {error}") from error
        if text != old:
            new[path] = text
    cff = root / "CITATION.cff"
    record, deposit = zenodo(new.get(cff, cff.read_text(encoding="utf-8"))), root / ".zenodo.json"
    if not deposit.exists() or deposit.read_text(encoding="utf-8") != record:
        new[deposit] = record
    return new


def move(root: Path, address: Address) -> list[str]:
    """Write the address everywhere; return the names of the changed files."""
    new = changes(root, address)
    for path, text in new.items():
        path.write_text(text, encoding="utf-8", newline="\n")
    return [path.relative_to(root).as_posix() for path in new]


def files(root: Path) -> Iterator[Path]:
    """Yield every file of the repository except built and installed ones."""
    for folder, names, file_names in os.walk(root):
        names[:] = [name for name in names if name not in LEFT_OUT and not name.endswith(".egg-info")]
        yield from (Path(folder) / name for name in file_names)


def left(root: Path, old: str) -> list[str]:
    """Return the files that still name a repository, as owner/name or in a link."""
    name = re.compile(rb"(?<![\w-])" + re.escape(old.encode()) + rb"(?![\w-])")
    return [path.relative_to(root).as_posix() for path in files(root) if name.search(path.read_bytes())]


def remote(root: Path) -> str:
    """Return git's remote `origin`."""
    command = ["git", "remote", "get-url", "origin"]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if result.returncode:
        raise ValueError("git knows no remote `origin` here: name the repository, owner/name")
    return result.stdout


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Set, move or remove the address; return 1 if an old one is still named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--repo", help="owner/name on GitHub, `git` for its remote, or nothing for no address"
    )
    parser.add_argument("--site", help="https://… of the published pages")
    parser.add_argument("--pypi", action="store_true", help="the packages are on PyPI")
    parser.add_argument("--ref", default="main", help="the branch, tag or commit to open and install (main)")
    parser.add_argument("--check", action="store_true", help="change nothing; say what is out of step")
    options = parser.parse_args(arguments)
    before = read(root)
    try:
        address = before
        if options.repo is not None:
            slug = slug_of(remote(root) if options.repo == "git" else options.repo)
            address = Address(slug, site_of(options.site or ""), options.pypi, options.ref)
        elif options.site or options.pypi or options.ref != "main":
            raise ValueError("--site, --pypi and --ref need --repo")
        changed = [path.relative_to(root).as_posix() for path in changes(root, address)]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if options.check:
        print("\n".join(changed) or "every place is in step")
        return int(bool(changed))
    move(root, address)
    print(f"address: {address.repository or 'none'}; {len(changed)} files changed")
    stale = left(root, before.slug) if before.slug not in ("", address.slug) else []
    if stale:
        print(f"{before.slug} is still named in: {', '.join(stale)}", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
