"""A figure's SVG as part of a page: smaller, with names of its own, and described for who cannot see it."""

from __future__ import annotations

import re

from normexp.report import html

FONT = "font-family: 'DejaVu Sans', sans-serif; "  # the page sets it once, for all pictures
_METADATA = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
_NUMBER = re.compile(r"-?\d+\.\d+")
_PATH = re.compile(r'(\bd|\bx|\by|points|transform)="([^"]*)"')
_ID = re.compile(r' id="([^"]*)"')
_USED = re.compile(r'(?:url\(#|href="#)([^)"]*)')
_SIZE = re.compile(r'(<svg\b[^>]*?) width="[^"]*" height="[^"]*"')


def inline(svg: bytes, name: str, title: str, description: str) -> str:
    """Return the picture as an element of a page.

    Args:
        name: unique on the page; what the picture refers to inside itself begins with it.
        title, description: what a screen reader says.
    """
    text = _METADATA.sub("", svg.decode("utf-8"))
    text = _PATH.sub(lambda match: f'{match[1]}="{_rounded(match[2])}"', text)
    text = _with_own_names(text, name)
    text = re.sub(r">\s+<", "><", text.replace(FONT, "")).strip()
    label = f'role="img" aria-labelledby="{name}-title {name}-about"'
    about = html.element("title", html.text(title), id=f"{name}-title")
    about += html.element("desc", html.text(description), id=f"{name}-about")
    text = _SIZE.sub(r"\1", text, count=1).replace("<svg", f"<svg {label}", 1)
    head, end, rest = text.partition(">")
    return f"{head}{end}{about}{rest}"


def _rounded(text: str) -> str:
    """Return coordinates to a tenth of a point, one line."""
    return " ".join(_NUMBER.sub(lambda match: f"{float(match[0]):.1f}".removesuffix(".0"), text).split())


def _with_own_names(text: str, name: str) -> str:
    """Drop the identifiers that nothing refers to, and let the others be short: the picture's name and a number."""
    short = {used: f"{name}-{i}" for i, used in enumerate(dict.fromkeys(_USED.findall(text)))}
    text = _ID.sub(lambda match: f' id="{short[match[1]]}"' if match[1] in short else "", text)
    return _USED.sub(lambda match: match[0].replace(f"#{match[1]}", f"#{short[match[1]]}"), text)
