"""A figure on a Chinese page: its controls, its readout and the question below it are Chinese."""

import re

import pytest
from playwright.sync_api import expect

from .conftest import SITE

pytestmark = pytest.mark.browser
PAGE = "04_rotate_one_pair.html"


def test_controls_readout_and_question_are_chinese(reader):
    seen = reader.open(f"book/zh/{PAGE}", maths=False)
    figure = seen.page.locator('[data-live="RotatePair"]').first
    expect(figure.locator(".rl-reset")).to_have_text("重置")
    expect(figure.locator(".rl-play")).to_have_text("播放")
    expect(figure.locator('[data-trait="lock"]')).to_have_text("锁定距离 m − n")
    expect(figure.locator(".rl-more summary")).to_have_text("更多")
    figure.locator('[data-trait="position"] input').press("End")
    expect(figure.locator(".rl-readout")).to_have_text(re.compile("^q 在位置 64，转过 16.00 rad；"))
    question = seen.page.locator(".rl-ask").first
    question.locator("button", has_text="会，因为距离变了").click()
    expect(question.locator(".rl-reply strong")).to_have_text("对。")
    seen.assert_clean()
    seen.page.close()


def test_an_english_page_loads_no_words():
    page = (SITE / "notebooks" / PAGE).read_text(encoding="utf-8")
    assert "words.zh-CN.js" not in page
    assert "words.zh-CN.js" in (SITE / "book" / "zh" / PAGE).read_text(encoding="utf-8")
