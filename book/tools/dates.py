"""The day on which a page was last changed: the day of its newest commit, or "" without a git history."""

import subprocess
from functools import cache
from pathlib import Path


@cache
def changed(root: Path) -> dict[str, str]:
    """Return {path in the repository: day of its newest commit, as 2026-01-31}."""
    command = [
        "git",
        "-c",
        "core.quotepath=off",
        "log",
        "--format=//%cs",
        "--name-only",
        "--",
        "book",
        "notebooks",
    ]
    try:
        log = subprocess.run(command, cwd=root, capture_output=True, text=True, encoding="utf-8", check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}  # a copy without its history
    return newest(log.stdout)


def newest(log: str) -> dict[str, str]:
    """Return the first day of each file in a log, newest first.

    >>> newest("//2026-02-01\\n\\nbook/map.md\\n//2026-01-31\\n\\nbook/map.md\\nbook/index.md\\n")
    {'book/map.md': '2026-02-01', 'book/index.md': '2026-01-31'}
    """
    days: dict[str, str] = {}
    day = ""
    for line in log.splitlines():
        if line.startswith("//"):
            day = line[2:]
        elif line:
            days.setdefault(line, day)
    return days


def of_page(root: Path, page: str) -> str:
    """Return the day on which a page was last changed, or ""."""
    days = changed(root)
    messages = page.replace("book/zh/", "book/zh/locale/zh_CN/LC_MESSAGES/")  # of a Chinese page
    return next(
        (days[name] for name in (f"{page}.md", f"{page}.ipynb", f"{messages}.po") if name in days), ""
    )
