"""Sphinx extension: redirect published addresses.

``book/data/moved.yml`` has the new address of a page or a section. A page that is gone is replaced by a
redirect, which works with and without scripts. A page whose sections have moved contains their new addresses,
for ``site.js``. A section that became a detour, or stopped being one, needs no entry: ``site.js`` handles that.
"""

import html
import json
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx

MOVED = Path(__file__).resolve().parents[1] / "data" / "moved.yml"
LEADS_ON = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex" />
    <meta http-equiv="refresh" content="0; url={target}" />
    <link rel="canonical" href="{target}" />
    <link rel="icon" href="{icon}" />
    <title>{title} has moved</title>
    <script defer src="{script}"></script>
  </head>
  <body>
    <main>
      <h1>This page has moved</h1>
      <p>Go on to <a data-moved href="{target}">{title}</a>.</p>
      {sections}
    </main>
  </body>
</html>
"""

# The root of the site leads to its first page. It names an icon, else a browser would request a missing one
FIRST = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="refresh" content="0; url={target}" />
    <link rel="icon" href="_static/logo.svg" />
    <title>{title}</title>
  </head>
  <body>
    <main>
      <h1><a href="{target}">{title}</a></h1>
    </main>
  </body>
</html>
"""


def table() -> dict[str, dict[str, str]]:
    """Return {page: {id of a section: its new "page#id"}}; the id "" is for a page that is gone."""
    entries = yaml.safe_load(MOVED.read_text(encoding="utf-8")) or {}
    return {page: {"": now} if isinstance(now, str) else now for page, now in entries.items()}


def whole(page: str, now: str) -> str:
    """Return an address including its page, where "#id" means the page itself."""
    return page + now if now.startswith("#") else now


def relative(page: str, now: str) -> str:
    """Return the relative link from a page to an address; both are in folders of the site."""
    target, _, section = whole(page, now).partition("#")
    up = "../" * page.count("/")
    return f"{up}{target}.html" + (f"#{section}" if section else "")


def island(page: str, sections: dict[str, str]) -> str:
    """Return the data block with the new addresses of a page's sections, for ``site.js``."""
    links = {section: relative(page, now) for section, now in sections.items() if section}
    text = json.dumps(links, sort_keys=True).replace("</", "<\\/")
    return f'<script id="moved" type="application/json">{text}</script>' if links else ""


def add_table(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None) -> None:
    """Add the new addresses of its sections to a page."""
    if "body" in context and page in table():
        context["body"] += island(page, table()[page])


def leading_on(page: str, sections: dict[str, str], title: str) -> str:
    """Return the redirect page for a page that is gone; ``title`` is the title of the new page."""
    return LEADS_ON.format(
        target=relative(page, sections[""]),
        title=html.escape(title),
        script="../" * page.count("/") + "_static/site.js",
        icon="../" * page.count("/") + "_static/logo.svg",
        sections=island(page, sections),
    )


def write_pages(app: Sphinx, error: Exception | None) -> None:
    """Write a redirect for every page that is gone, and one from the root to the first page."""
    if error or app.builder.format != "html":
        return
    root = app.config.root_doc
    first = FIRST.format(target=f"{root}.html", title=html.escape(app.env.titles[root].astext()))
    (Path(app.outdir) / "index.html").write_text(first, encoding="utf-8")
    for page, sections in table().items():
        if "" not in sections or page in app.env.found_docs:
            continue
        now = sections[""].partition("#")[0]
        if now not in app.env.found_docs:
            raise ValueError(f"{MOVED.name}: {page} is gone, and so is {now}")
        text = leading_on(page, sections, app.env.titles[now].astext())
        (Path(app.outdir) / f"{page}.html").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension; its pages are written before ``pages`` adds their policies."""
    app.connect("html-page-context", add_table)
    app.connect("build-finished", write_pages, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
