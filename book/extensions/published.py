"""Sphinx extension: what only a published site needs, each part loaded only where it can work.

With an address (``html: baseurl``): a sitemap, tags that name a page and its address to networks, and a page for
unknown addresses. With git's whole history: the day of each page's last change. A shallow clone, or a copy without
an address, builds without these parts and without a warning.
"""

import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.application import Sphinx

WITH_ADDRESS = ("sphinx_sitemap", "sphinxext.opengraph", "notfound.extension")
WITH_HISTORY = "sphinx_last_updated_by_git"


def has_history(root: Path) -> bool:
    """Return whether a folder is in a git repository with its whole history."""
    command = ["git", "rev-parse", "--is-shallow-repository"]
    try:
        return subprocess.run(command, cwd=root, capture_output=True, text=True).stdout.strip() == "false"
    except OSError:  # there is no git
        return False


def parts(site: str, history: bool) -> list[str]:
    """Return the extensions to load.

    >>> parts("", True), parts("https://ada.example/", False)
    (['sphinx_last_updated_by_git'], ['sphinx_sitemap', 'sphinxext.opengraph', 'notfound.extension'])
    """
    return [WITH_HISTORY] * history + list(WITH_ADDRESS if site else ())


def settings(title: str, site: str, history: bool) -> dict[str, object]:
    """Return the settings of these extensions that follow from the book's title, its address and its history."""
    found: dict[str, object] = {}
    if history:
        found |= {"html_last_updated_fmt": "%Y-%m-%d", "sitemap_show_lastmod": bool(site)}
    if site:
        found |= {
            "notfound_urls_prefix": urlsplit(site).path.rstrip("/") + "/",
            "ogp_site_name": title,
            "ogp_site_url": site,
            "ogp_social_cards": {"enable": False},  # they have no Chinese glyphs, and take no SVG as a logo
            "sitemap_locales": [None],
            "sitemap_url_scheme": "{link}",
        }
    return found


def configure(app: Sphinx, config: object) -> None:
    """Set what follows from title, address and history, once every extension has its values."""
    site, history = app.config.html_baseurl, has_history(Path(app.srcdir))
    for name, value in settings(app.config.html_title, site, history).items():
        setattr(config, name, value)


def setup(app: Sphinx) -> dict[str, bool]:
    """Load the extensions that can work here."""
    for name in parts(app.config.html_baseurl, has_history(Path(app.srcdir))):
        app.setup_extension(name)
    app.connect("config-inited", configure, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
