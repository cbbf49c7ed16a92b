"""Sphinx extension: cards that preview the targets of links.

A link to a term, to another page or section, or to a paper in the bibliography has a card: a line with its
kind, a title, and a sentence or two. The cards of a page are in a separate file (``_static/hover/…js``), which
``book/assets/hover.js`` loads when a pointer or the keyboard first reaches a link: pages do not grow, and cards
work from a folder too. In chapters, the first mention of a term that an earlier chapter has introduced becomes
a quiet link to the glossary.
"""

import json
import posixpath
import re
from functools import cache
from pathlib import Path

from description import description, plain, shortened
from docutils import nodes
from pybtex.database import parse_file
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from twins import original, say

GLOSSARY = "book/glossary"
FOLDER = "_static/hover"
LONGEST = 240  # characters in a card's text
INTRODUCED = re.compile(r"notebooks/(\w\w)_")
PRINTED = re.compile(r"(.+) \(.*\)$")  # a term followed by a remark
# words that also have an everyday meaning
COMMON = {"absorb", "angle", "base", "bias", "context", "detour", "distance", "feature", "frequency", "gain"}
COMMON |= {
    "generator",
    "head",
    "key",
    "layer",
    "layout",
    "pair",
    "query",
    "reach",
    "section",
    "slope",
    "spine",
}
COMMON |= {
    "state",
    "stretch",
    "token",
    "traffic",
    "value",
    "by parts",
    "hybrid",
    "latent",
    "new places",
    "nat",
}
QUIET = (
    "Detour:",
    "Further reading",
    "Exercises",
    "Predict",
    "In short",
    "岔路：",
    "延伸阅读",
    "练习",
    "先猜，再试",
    "要点",
)  # sections without links to terms
Card = tuple[str, str, str]  # kind, title, text


class Terms(SphinxTransform):
    """Give every glossary term an id."""

    default_priority = 800

    def apply(self, **kwargs: object) -> None:
        """Visit the glossary terms; a Chinese term gets the id of its English counterpart."""
        if original(self.env.docname) != GLOSSARY:
            return
        for term in self.document.findall(nodes.term):
            name = re.sub("[`$]", "", term.rawsource)
            term["ids"].append(f"term-{nodes.make_id(name)}")


def gather(app: Sphinx, doctree: nodes.document) -> None:
    """Store the cards for a page, its sections and its terms."""
    cards: dict[str, Card] = {}
    title = doctree.next_node(nodes.title)
    page = plain(title) if title else ""
    cards[""] = (kind(app.env.docname), page, shortened(description(doctree), LONGEST))
    for section in doctree.findall(nodes.section):
        if isinstance(section.parent, nodes.document):
            cards.update(dict.fromkeys(section["ids"], cards[""]))
            continue
        heading = plain(section.next_node(nodes.title))
        first = next((child for child in section.children if isinstance(child, nodes.paragraph)), None)
        text = shortened(plain(first), LONGEST) if first else ""
        cards.update(dict.fromkeys(section["ids"], (page, heading, text)))
    for item in doctree.findall(nodes.definition_list_item):
        term, definition = item.next_node(nodes.term), item.next_node(nodes.definition)
        for place in term["ids"]:
            cards[place] = (say(app.env.docname, "Term"), plain(term), meaning(definition))
    cards_of(app.env)[app.env.docname] = cards
    if app.env.docname == GLOSSARY:
        app.env.rope_terms = introduced(doctree)


def kind(name: str) -> str:
    """Return the kind of a page: Chapter 4, Appendix A1, or Page."""
    number = posixpath.basename(name).partition("_")[0]
    if not original(name).startswith("notebooks/") or number in ("00", "P1"):
        return say(name, "Page")
    if number.startswith("A"):
        return say(name, "Appendix {0}", number)
    return say(name, "Chapter {0}", int(number))


def meaning(definition: nodes.definition) -> str:
    """Return the meaning of a term, without the link to its chapter."""
    text = plain(definition)
    return re.sub(
        r"\s*(?:(?:Chapters?|Appendix|Appendices) [A-Z0-9][^.]*|(?:第 ?\d|附录 ?A)[^。]*)$", "", text
    )


def introduced(doctree: nodes.document) -> dict[str, tuple[str, str]]:
    """Return {term in lower case: (id, the chapter that introduces it)}."""
    places = {}
    for item in doctree.findall(nodes.definition_list_item):
        term = item.next_node(nodes.term)
        links = [link.get("refuri", "") + link.get("reftarget", "") for link in item.findall(nodes.Element)]
        chapters = [chapter[1] for link in links if (chapter := INTRODUCED.search(link))]
        word = PRINTED.sub(r"\1", plain(term)).lower()
        if chapters and word not in COMMON:
            places[word] = (term["ids"][-1], chapters[0])
    return places


def cards_of(env: BuildEnvironment) -> dict[str, dict[str, Card]]:
    """Return {page: {place: card}} of an environment."""
    if not hasattr(env, "rope_cards"):
        env.rope_cards = {}
    return env.rope_cards


def merge(app: Sphinx, env: BuildEnvironment, names: set[str], other: BuildEnvironment) -> None:
    """Merge the cards of another process."""
    cards_of(env).update({name: card for name, card in cards_of(other).items() if name in names})
    if GLOSSARY in names:
        env.rope_terms = other.rope_terms


class Mentions(SphinxPostTransform):
    """Link a chapter's first mention of every term that an earlier chapter has introduced."""

    default_priority = 205  # before sections are folded
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Visit the sentences of a chapter."""
        name = self.env.docname
        if not name.startswith("notebooks/"):
            return
        number = posixpath.basename(name).partition("_")[0]
        known = {word: place for word, (place, first) in self.env.rope_terms.items() if first < number}
        for bold in self.document.findall(nodes.strong):
            known.pop(plain(bold).lower(), None)  # the page explains the term itself
        for paragraph in list(self.document.findall(nodes.paragraph)):
            if known and is_prose(paragraph):
                for text in [child for child in paragraph.children if isinstance(child, nodes.Text)]:
                    paragraph.replace(text, self.linked(text, known))

    def linked(self, text: nodes.Text, known: dict[str, str]) -> list[nodes.Node]:
        """Return a text with links at the first mention of each term; remove those terms from `known`."""
        parts, rest = [], str(text)
        while known and (match := mention(tuple(known)).search(rest)):
            place = known.pop(match[1].lower())
            target = self.app.builder.get_relative_uri(self.env.docname, GLOSSARY)
            link = nodes.reference("", match[0], refuri=f"{target}#{place}", internal=True, classes=["term"])
            parts += [nodes.Text(rest[: match.start()]), link]
            rest = rest[match.end() :]
        return [*parts, nodes.Text(rest)]


@cache
def mention(words: tuple[str, ...]) -> re.Pattern:
    """Return a pattern for any of these words, also in the plural."""
    longest = sorted(words, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest))})(?:s|es)?(?![\w-])", re.IGNORECASE)


def is_prose(paragraph: nodes.paragraph) -> bool:
    """Return whether a paragraph is prose rather than part of a cell, note, table, quotation or task list."""
    node = paragraph.parent
    while node is not None and not isinstance(node, nodes.document):
        if isinstance(node, nodes.section):
            title = node.next_node(nodes.title)
            if title is not None and title.astext().startswith(QUIET):
                return False
        elif not isinstance(node, nodes.bullet_list | nodes.enumerated_list | nodes.list_item):
            return False
        node = node.parent
    return isinstance(paragraph.parent, nodes.section | nodes.list_item)


@cache
def papers(file: Path) -> dict[str, Card]:
    """Return {address: card} of the bibliography."""
    cards = {}
    for entry in parse_file(str(file)).entries.values():
        fields = entry.fields
        names = [
            "".join(str(part) for part in person.last_names) for person in entry.persons.get("author", [])
        ]
        many = len(names) > 2 or "others" in names
        said = f"{bare(names[0])} et al." if many else " and ".join(map(bare, names))
        where = next((fields[key] for key in ("journal", "booktitle", "howpublished") if key in fields), "")
        line = ", ".join(part for part in (said, fields.get("year", "")) if part)
        if "url" in fields:
            cards[fields["url"].rstrip("/")] = (line or "Source", bare(fields["title"]), bare(where))
    return cards


def bare(text: str) -> str:
    """Return a bibliography field without TeX."""
    text = re.sub(r"\\[`'^\"~=.cvuH]\s?\{?(\w)\}?", r"\1", text)
    return re.sub(r"[{}]|\\(?=[&%#_])", "", text).replace("--", "–")


def card_for(env: BuildEnvironment, page: str, uri: str) -> Card | None:
    """Return the card for a link on a page, or None without one."""
    if "://" in uri:
        return papers(Path(env.srcdir) / "book" / "references.bib").get(uri.partition("#")[0].rstrip("/"))
    target, _, place = uri.partition("#")
    name = (
        posixpath.normpath(posixpath.join(posixpath.dirname(page), target.removesuffix(".html")))
        if target
        else page
    )
    card = cards_of(env).get(name, {}).get(place)
    return card if card and card[2] and (name, place) != (page, "") else None


def write_cards(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Write the file with the cards of a page's links."""
    if doctree is None or app.builder.format != "html":
        return
    uris = {link["refuri"] for link in doctree.findall(nodes.reference) if link.get("refuri")}
    uris |= {f"#{link['refid']}" for link in doctree.findall(nodes.reference) if link.get("refid")}
    cards = {uri: card for uri in sorted(uris) if (card := card_for(app.env, page, uri))}
    file = Path(app.outdir) / FOLDER / f"{page}.js"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(cards, ensure_ascii=False, separators=(",", ":"))
    file.write_text(f"ropeCards({text});\n", encoding="utf-8", newline="\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_transform(Terms)
    app.add_post_transform(Mentions)
    app.connect("doctree-read", gather)
    app.connect("env-purge-doc", lambda app, env, name: cards_of(env).pop(name, None))
    app.connect("env-merge-info", merge)
    app.connect("html-page-context", write_cards)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
