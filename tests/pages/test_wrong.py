"""The page "Something is wrong": search finds it by what people write, and its tree ends at causes."""

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from .conftest import SITE, at_rest

PAGE = "book/wrong.html"
TREE = "where-does-it-go-wrong"
NO_SYMPTOM = {TREE, "the-one-minute-test", "read-the-damage"}

# as it was typed in public threads, or in a message; without a section where the words fit several
TYPED = {
    "Gibberish after twenty tokens": "gibberish-after-twenty-tokens",
    "printing gibberish after ~20 or more tokens": "gibberish-after-twenty-tokens",
    "Getting gibberish output when running on llama.cpp": None,
    "fine when short, bad when long": "fine-when-short-bad-when-long",
    "works on short prompts but when you pass it a long prompt it generates garbage": None,
    "Nonsensical Output for Long Context Length (above 4k)": None,
    "worse after conversion": "worse-after-a-conversion",
    "perplexity decrease after conversion": None,
    "worse with a batch": "worse-with-a-batch",
    "Batched generation with left-padding produces incorrect output": None,
    "the generated results are different between generating a batch input_ids and a single sequence": None,
    "worse after an update of a library": "worse-after-a-library-was-updated",
    "accuracy was degraded by the update of transformers": None,
    "rope_theta lost after upgrading transformers": None,
    "bfloat16 differs": "bfloat16-differs-from-float32",
    "RoPE loses precision": None,
    "bf16": "bfloat16-differs-from-float32",
    "bf16 vs fp32 logits": None,
    "bf16 logits differ from fp32": "bfloat16-differs-from-float32",
    "NaN in fp16": None,
    "use_cache=True generates different results than use_cache=False": None,
    "GGUF perplexity": None,
    "first token right, rest not": "the-first-token-is-right-and-the-rest-are-not",
    "first token correct then garbage": None,
    "NaN": "nan",
    "slower than expected": "slower-than-expected",
    "Slower than absolute positional embeddings?": None,
    "my config says factor 8, the card says 128k": "my-config-says-factor-8-and-the-card-says-128k",
    "extend the context length from 8k up to 128k rope scaling": None,
    "gibberish": "gibberish-after-twenty-tokens",
    "padding": None,
    "rope_theta": None,
    "YaRN": None,
    "User-specified max_model_len (65536) is greater than the derived max_model_len": None,
    "n_ctx_seq (49152) > n_ctx_train (40960) -- possible training context overflow": None,
    "User-specified context_length (131072) is greater than the derived context_length": None,
    "the slot context (131072) exceeds the training context of the model": None,
    "Unrecognized keys in `rope_parameters` for 'rope_type'='yarn'": None,
    "Missing required keys in `rope_parameters` for 'rope_type'='llama3'": None,
    "`rope_scaling` must be a dictionary with two fields, `type` and `factor`, got": None,
    "ValueError: rope_scaling must be a dictionary with two fields, type and factor": None,
    "The explicitly set RoPE scaling factor does not match the ratio": None,
    "Token indices sequence length is longer than the specified maximum sequence length": None,
    "'LlamaConfig' object has no attribute 'rope_theta'": None,
    "The size of tensor a (64) must match the size of tensor b (128)": None,
}
ORDINARY = ("attention", "Lie group", "apply_rope")  # words that ask for no cure

# what one clicks in the tree, and where it ends
WALKS = {
    "gibberish after twenty tokens": ("Both are right", "After some twenty", "gibberish-after-twenty-tokens"),
    "fine when short, bad when long": (
        "The short prompt is right",
        "within",
        "fine-when-short-bad-when-long",
    ),
    "worse after a conversion": ("run whole, is already", "converted", "worse-after-a-conversion"),
    "worse with a batch": ("run whole, is already", "batch", "worse-with-a-batch"),
    "bad when long after an update": (
        "The short prompt is right",
        "library",
        "worse-after-a-library-was-updated",
    ),
    "only the last digits differ": ("Both are right", "last digits", "bfloat16-differs-from-float32"),
    "worse after an update": ("run whole, is already", "library", "worse-after-a-library-was-updated"),
    "bfloat16 differs": ("bfloat16", "bfloat16-differs-from-float32"),
    "first token right": ("Both are right", "second", "the-first-token-is-right-and-the-rest-are-not"),
    "NaN": ("NaN", "nan"),
    "slower than expected": ("slow", "slower-than-expected"),
    "factor 8, 128k": ("config that puzzles", "my-config-says-factor-8-and-the-card-says-128k"),
}


class Tree(HTMLParser):
    """Reads the tree: how deep each leaf is, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[bool] = []  # for each box around: whether it holds no other
        self.links: list[str] = []
        self.leaves: list[tuple[int, list[str]]] = []  # depth, links

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a box, or note a link of it."""
        if tag == "details":
            self.open = [False] * len(self.open) + [True]
            self.links = []
        elif tag == "a" and self.open:
            self.links.append(dict(attrs)["href"] or "")

    def handle_endtag(self, tag: str) -> None:
        """Close a box."""
        if tag == "details":
            depth = len(self.open)
            if self.open.pop():
                self.leaves.append((depth, self.links))


def section(text: str, name: str) -> str:
    """Return a section of the built page, without those that follow."""
    return re.split(r"</section>", text[text.index(f'id="{name}"') :])[0]


def test_every_leaf_of_the_tree_leads_in_three_clicks_to_a_section_that_exists():
    text = (SITE / PAGE).read_text(encoding="utf-8")
    tree = Tree()
    tree.feed(section(text, TREE))
    assert len(tree.leaves) >= 12
    for depth, links in tree.leaves:
        assert depth <= 2, "more than three clicks, with the link"
        assert links
        assert all(link.startswith("#") and f'id="{link[1:]}"' in text for link in links), links


def test_the_tree_leads_to_every_symptom():
    text = (SITE / PAGE).read_text(encoding="utf-8")
    symptoms = set(re.findall(r'<section id="([^"]+)">\s*<h2>', text)) - NO_SYMPTOM
    assert len(symptoms) >= 12
    assert symptoms <= set(re.findall(r'href="#([^"]+)"', section(text, TREE)))


def test_every_symptom_sends_its_reader_to_the_chapters():
    text = (SITE / PAGE).read_text(encoding="utf-8")
    for name in set(re.findall(r'<section id="([^"]+)">\s*<h2>', text)) - {
        TREE,
        "what-the-message-means",
        "read-the-damage",
    }:
        links = re.findall(r'href="\.\./(notebooks/[^"#]+)(?:#([^"]*))?"', section(text, name))
        assert links, name
        for page, anchor in links:
            assert not anchor or f'id="{anchor}"' in (SITE / page).read_text(encoding="utf-8"), (name, anchor)


# one search after the other in an open page, each begun as when a page is opened; the addresses that are listed.
# The text below them, for which all those pages would be fetched, is left out
SEARCHED = """async (all) => {
    window.fetch = async () => new Response("");
    const list = document.querySelector("#search-results");
    const summary = () => list.querySelector(".search-summary")?.innerText ?? "";
    const finished = async () => {
        while (!/finished|did not match/.test(summary())) await new Promise((done) => setTimeout(done, 5));
    };
    await finished(); // with what the page was opened for
    const found = {};
    for (const words of all) {
        list.replaceChildren();
        history.replaceState(null, "", `?q=${encodeURIComponent(words)}`);
        Search.init();
        await finished();
        found[words] = [...list.querySelectorAll("ul.search > li > a")].map(
            (link) => link.getAttribute("href").replace(/\\?[^#]*/, ""));
    }
    return found;
}"""


def found(visit, words: Iterable[str]) -> dict[str, list[str]]:
    """Return the first three addresses that the book's search lists for each of the words."""
    first, *_ = words
    page = visit(f"search.html?q={quote(first)}", wait=False).page
    return {words: links[:3] for words, links in page.evaluate(SEARCHED, list(words)).items()}


@pytest.mark.browser
def test_search_finds_the_page_by_a_symptom_a_message_or_a_name(visit):
    def leads(link: str, wanted: str | None) -> bool:
        return link == f"{PAGE}#{wanted}" if wanted else link.startswith(PAGE)

    listed = found(visit, TYPED)
    assert not {
        words: listed[words]
        for words in TYPED
        if not any(leads(link, TYPED[words]) for link in listed[words])
    }


@pytest.mark.browser
def test_search_leaves_ordinary_words_to_the_chapters(visit):
    for words, links in found(visit, ORDINARY).items():
        assert links, words
        assert not any(link.startswith(PAGE) for link in links), (words, links)


@pytest.mark.browser
def test_words_that_are_searched_for_begin_beside_the_magnifier(visit):
    field = visit("search.html", wait=False).page.locator(".bd-search-container .bd-search")
    field.locator("input").wait_for()
    gap = field.evaluate("""(field) => {
        const input = field.querySelector("input");
        const begin = input.getBoundingClientRect().left + parseFloat(getComputedStyle(input).paddingLeft);
        return begin - field.querySelector(".fa-magnifying-glass").getBoundingClientRect().right;
    }""")
    assert 0 < gap < 20


@pytest.mark.sampled
@pytest.mark.browser
@pytest.mark.parametrize("symptom", WALKS)
def test_a_symptom_ends_at_its_causes_in_three_clicks(tab, symptom):
    *lines, wanted = WALKS[symptom]
    page = tab(PAGE, maths=False, width=390).page
    box = page.locator(f"#{TREE}")
    for line in lines:
        box = box.locator("> details", has=page.locator("> summary", has_text=line))
        box.locator("> summary").click()
    link = box.locator(f'a[href="#{wanted}"]')
    expect(link).to_be_visible()
    assert len(lines) <= 2
    link.click()
    page.wait_for_url(f"**#{wanted}")
    at_rest(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.browser
def test_a_chosen_branch_of_the_tree_stands_alone(tab):
    page = tab(PAGE, maths=False, width=390).page
    tree = page.locator(f"#{TREE}")
    whole = tree.locator("details:visible").count()
    assert whole > 5
    tree.locator("> details > summary").nth(1).click()
    expect(tree.locator("> details:visible")).to_have_count(1)
    tree.locator("> details[open] > details > summary").nth(1).click()
    expect(tree.locator("details:visible")).to_have_count(2)
    tree.locator("> details[open] > summary").click()
    expect(tree.locator("> details:visible")).to_have_count(whole)
