"""A headless Chromium, and what goes wrong in its pages."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OWN_REQUESTS = ("file:", "data:", "blob:")
WIDTHS = {"light": 1280, "dark": 400}  # a desk's and a phone's
RULES = {"resultTypes": ["violations"], "preload": False}  # axe would fetch style sheets, which `file:` forbids


class Watched:
    """A page of the browser that remembers what went wrong: errors on the console, requests that leave the disk."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.wrong: list[str] = []
        page.on("console", lambda message: self.wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))

    def _asked(self, url: str) -> None:
        if not url.startswith(OWN_REQUESTS):
            self.wrong.append(url)

    def open(self, path: Path, query: str = "") -> Watched:
        self.page.goto(path.resolve().as_uri() + query)
        return self

    def unfold(self) -> None:
        """Open what is folded away."""
        self.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    @property
    def is_too_wide(self) -> bool:
        """Whether it scrolls sideways."""
        return self.page.evaluate("document.documentElement.scrollWidth > innerWidth")

    @property
    def barriers(self) -> list[str]:
        """What axe-core finds: the rule and the first element that breaks it."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: pip install -e '.[browser]'")
        found = axe.Axe().run(self.page, options=RULES).response["violations"]
        return [f"{each['id']}, {len(each['nodes'])} times: {each['nodes'][0]['html'][:200]}" for each in found]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Skips, with the reason, where playwright or every Chromium is missing."""
    play = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[browser]'")
    installed = next(filter(None, map(shutil.which, PROGRAMS)), None)
    with play.sync_playwright() as started:
        try:
            chromium = started.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        except play.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield chromium
        chromium.close()


@pytest.fixture
def window(browser) -> Iterator[Callable[[str], Watched]]:
    """Open an empty page in a theme: light on a desk, dark on a phone."""
    contexts = []

    def opened(theme: str) -> Watched:
        size = {"width": WIDTHS[theme], "height": 900}
        contexts.append(browser.new_context(viewport=size, color_scheme=theme, reduced_motion="reduce"))
        return Watched(contexts[-1].new_page())

    yield opened
    for context in contexts:
        context.close()
