"""The book's address in ``_config.yml``, and the setup cells of the notebooks, which follow from it.

    python book/tools/address.py                       write every setup cell as the address asks
    python book/tools/address.py --check               change nothing; exit with 1 if a cell is out of step

Under ``repository``, ``_config.yml`` has the ``url`` on GitHub, the ``branch`` (or a tag or commit), and
``released: true`` once the packages are on PyPI; under ``html``, ``baseurl`` is the site. Without a repository a
setup cell says how to install the packages; with one, it installs them. Needs only Python and PyYAML.
"""

import json
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
GITHUB = "https://github.com/"
FOLDERS = {"rope-edu": "", "rope-doctor": "#subdirectory=doctor", "rope-book": "#subdirectory=book"}
SETUP = re.compile(
    r"# Setup\..*\ntry:\n(?P<tries>(?:    import \w+\n|\n)+)except ModuleNotFoundError.*\n(?:    .*\n)+"
)


@dataclass(frozen=True)
class Address:
    """The book's address: its GitHub repository, its site, and whether PyPI has the packages; all may be missing.

    `ref` is the branch, tag or commit that setup cells install.
    """

    slug: str = ""
    site: str = ""
    released: bool = False
    ref: str = "main"

    @property
    def repository(self) -> str:
        """The repository's URL, or "" without one."""
        return f"{GITHUB}{self.slug}" if self.slug else ""


def read(root: Path) -> Address:
    """Return the address given in ``_config.yml``; raise ValueError for a repository that is not on GitHub."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    url = config["repository"]["url"]
    if url and not re.fullmatch(rf"{GITHUB}[\w-]+/[\w.-]+", url):
        raise ValueError(f"repository url must be {GITHUB}owner/name, got {url!r}")
    site = config["html"].get("baseurl", "")
    released = config["repository"].get("released", False)
    return Address(
        url.removeprefix(GITHUB), site and site.rstrip("/") + "/", released, config["repository"]["branch"]
    )


def setup(source: str, address: Address, version: str) -> str:
    """Return a setup cell that installs missing packages, all three at one commit, or says how to install them."""
    head = SETUP.match(source)
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
    lines = [
        f'"{name}{extras if name == "rope-book" else ""} @ {source}{folder}"'
        for name, folder in FOLDERS.items()
    ]
    return "    %pip install -q " + " \\\n        ".join(lines) + "\n"


def notebook(text: str, address: Address, version: str) -> str:
    """Return a notebook with its setup cell, leaving all other lines unchanged."""
    read = json.loads(text)
    for cell in read["cells"]:
        if "setup" in cell["metadata"].get("tags", []):
            cell["source"] = setup("".join(cell["source"]), address, version).splitlines(keepends=True)
    return json.dumps(read, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write every setup cell; with --check, only list those that would change, and return 1 if there are any."""
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changed = []
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        if (new := notebook(text, read(root), version)) != text:
            changed.append(path.name)
            if "--check" not in arguments:
                path.write_text(new, encoding="utf-8", newline="\n")
    print("\n".join(changed) or "every setup cell is in step")
    return int("--check" in arguments and bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
