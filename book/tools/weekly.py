"""Check links, known vulnerabilities and the newest transformers: python book/tools/weekly.py [report.md]

Checks every link of the book and asks pip-audit about the pinned packages. Compares the census of architectures
with the newest transformers, fetched into a temporary folder, and runs `rope-doctor model` and `decode` on tiny
models of every family, with the newest transformers and the two minor versions before it. Differences are written
as Markdown; the exit status is 1 if there are any, else 0.
"""

import json
import os
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


def fetched(folder: str, version: str = "") -> Path:
    """Fetch transformers without dependencies, the newest or a version such as "5.23.*"; return its folder."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", folder]
    subprocess.run([*pip, f"transformers=={version}" if version else "transformers"], check=True)
    return Path(folder) / "transformers"


def before(newest: str) -> list[str]:
    """Return the two minor versions before this one, as pip takes them."""
    major, minor, *_ = newest.split(".")
    return [f"{major}.{int(minor) - step}.*" for step in (1, 2) if int(minor) >= step]


def vulnerabilities(audit: str) -> list[str]:
    """Return one line per known vulnerability in the JSON of pip-audit."""
    return [
        f"- {one['name']} {one['version']}: {known['id']}, fixed in {' or '.join(known['fix_versions']) or 'none'}"
        for one in json.loads(audit)["dependencies"]
        for known in one.get("vulns", ())
    ]


def audited() -> list[str]:
    """Return the known vulnerabilities of the pinned packages, or why pip-audit could not tell."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "pip-audit"]
        subprocess.run(pip, check=True)
        audit = [
            sys.executable,
            "-m",
            "pip_audit",
            "-r",
            "requirements.txt",
            "--no-deps",
            "--disable-pip",
            "-f",
            "json",
        ]
        environment = os.environ | {"PYTHONPATH": folder}
        ran = subprocess.run(audit, cwd=ROOT, env=environment, capture_output=True, text=True)
    if not ran.stdout.strip():
        return [f"- pip-audit failed: {ran.stderr.strip().splitlines()[-1][:200]}"]
    return vulnerabilities(ran.stdout)


def version_of(folder: str) -> str:
    """Return the version of the transformers in a folder."""
    found = next(Path(folder).glob("transformers-*.dist-info"))
    return found.name.removeprefix("transformers-").removesuffix(".dist-info")


def families(folder: str) -> list[str]:
    """Return what differs when `model` and `decode` run on every family of the transformers in a folder."""
    paths = [folder, ROOT, ROOT / "doctor", ROOT / "book"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    look = [sys.executable, "tests/doctor/families.py"]
    ran = subprocess.run(look, cwd=ROOT, env=environment, capture_output=True, text=True)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("- ")]
    if ran.returncode and not lines:
        lines = [f"- it failed: {ran.stderr.strip().splitlines()[-1][:200]}"]
    return [line.replace("- ", f"- {version_of(folder)}: ", 1) for line in lines]


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
        version, changed = version_of(folder), families(folder)
    for older in before(version):
        with tempfile.TemporaryDirectory() as folder:
            fetched(folder, older)
            changed += families(folder)
    parts = {
        "Known vulnerabilities of pinned packages": audited(),
        "Links that lead nowhere": broken(FOUND.read_text(encoding="utf-8")),
        "Census against the newest transformers": differences(census.committed()["architectures"], newest),
        "model and decode on tiny models of every family": changed,
    }
    text = report(parts)
    print(
        text
        or "Every link answers, no pinned package has a known vulnerability, the census is that of the newest "
        "transformers, and all families are as known."
    )
    if target:
        Path(target).write_text(text, encoding="utf-8")
    return int(bool(text))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
