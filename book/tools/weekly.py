"""Check links and the newest transformers: python book/tools/weekly.py [report.md]

Checks every link of the book, and compares the census of architectures with the newest transformers, fetched into a
temporary folder. Differences are written as Markdown; the exit status is 1 if there are any, else 0.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOUND = ROOT / "_build" / "linkcheck" / "output.json"
PLACES = {"lines", "line", "source", "where"}  # where facts are found, which changes with every version


def broken(lines: str) -> list[str]:
    """Return one line per broken link of Sphinx's linkcheck."""
    links = [json.loads(line) for line in lines.splitlines() if line.strip()]
    seen = {link["uri"]: link for link in links if link["status"] == "broken"}
    return [f"- {uri} in `{link['filename']}`: {link['info'][:200]}" for uri, link in sorted(seen.items())]


def differences(ours: list[dict], newest: list[dict]) -> list[str]:
    """Return one line per architecture that was added, removed or changed."""
    old, new = ({entry["name"]: entry for entry in entries} for entries in (ours, newest))
    lines = [f"- `{name}` rotates, and is not in the census" for name in sorted(new.keys() - old.keys())]
    lines += [f"- `{name}` is in the census, and rotates no more" for name in sorted(old.keys() - new.keys())]
    for name in sorted(old.keys() & new.keys()):
        for key in sorted((old[name].keys() | new[name].keys()) - PLACES):
            before, now = (json.dumps(entry[name].get(key), sort_keys=True) for entry in (old, new))
            if before != now:
                lines.append(f"- `{name}`: {key} was {before}, is {now}")
    return lines


def fetched(folder: str) -> Path:
    """Fetch the newest transformers without dependencies; return its folder."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", folder]
    subprocess.run([*pip, "transformers"], check=True)
    return Path(folder) / "transformers"


def report(parts: dict[str, list[str]]) -> str:
    """Return the differences as Markdown, or "" if there are none."""
    return "\n".join(f"## {title}\n\n" + "\n".join(lines) + "\n" for title, lines in parts.items() if lines)


def main(target: str = "") -> int:
    """Check the links, read the newest transformers, and report differences."""
    sys.path.append(str(ROOT / "book"))
    from makers import census

    build = Path(sys.executable).parent / "jupyter-book"
    subprocess.run(
        [build, "build", ".", "--builder", "linkcheck", "--all", "-q"], cwd=ROOT
    )  # 1 if a link is broken
    with tempfile.TemporaryDirectory() as folder:
        newest = census.census(fetched(folder))
    parts = {
        "Links that lead nowhere": broken(FOUND.read_text(encoding="utf-8")),
        "Census against the newest transformers": differences(census.committed()["architectures"], newest),
    }
    text = report(parts)
    print(text or "Every link answers, and the census is that of the newest transformers.")
    if target:
        Path(target).write_text(text, encoding="utf-8")
    return int(bool(text))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
