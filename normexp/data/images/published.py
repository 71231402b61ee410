"""Data sets that are downloaded, or read from a copy of the user's own: where their arrays come from."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from normexp.config.identity import PUBLISHED
from normexp.data.base import Data
from normexp.data.files import cache
from normexp.data.files.cache import Content
from normexp.data.files.progress import logger
from normexp.data.images.labelled import LabelledImages

WAY_OUT = "delete it from the cache to download the original"


@dataclass(frozen=True, kw_only=True)
class Published(LabelledImages):
    """A published data set of images, decoded once, then opened from the cache, whatever made the entry.

    A copy of the user's own that holds what was published is that data set; any other copy is data by itself.

    Args:
        archive: build from this instead of downloading.
    """

    drawn = False
    validation: int = 5000
    archive: str | None = None

    name: ClassVar[str]

    def read(self, seed: int) -> Data:
        content = self._content()
        train, empty, test = (content.split(name) for name in ("train", "validation", "test"))
        return Data(train, empty, test, task="classification", classes=content.classes, note=content.note)

    def content(self) -> str:
        if self.archive is not None:
            return self.content_of_copy(self.archive)
        if cache.holds(self.name, "download"):
            return PUBLISHED
        return cache.newest(self.name) or PUBLISHED

    def find(self) -> bool:
        if self.archive is None:
            return cache.holds(self.name, "download") or cache.newest(self.name) is not None
        self.check_copy(self.archive)
        return True

    def fetch(self) -> None:
        self._content()

    @abstractmethod
    def check_copy(self, archive: str) -> None:
        """Raise UserError where a file is missing. Looks only."""

    @abstractmethod
    def content_of_copy(self, archive: str) -> str:
        """Return PUBLISHED, or the sha256 of a copy that holds something else."""

    @abstractmethod
    def build(self, archive: str | None) -> Content:
        """Read a copy of the user's own; without one, download the original."""

    def _content(self) -> Content:
        content = self.content()
        key = "download" if content == PUBLISHED else content
        found = cache.cached(self.name, key, lambda: self.build(self.archive))
        if self.archive is None and content != PUBLISHED:
            note = f" ({found.note})" if found.note else ""
            logger.warning(f"dataset={self.name}: the copy that was decoded from {found.source}{note}; {WAY_OUT}")
        return found
