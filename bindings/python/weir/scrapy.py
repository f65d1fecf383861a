"""A Scrapy dupe filter in fixed memory, which survives restarts.

In settings.py:

    DUPEFILTER_CLASS = "weir.scrapy.DupeFilter"
    WEIR_DUPEFILTER = "memory=64M"        # a spec, see docs/filters.md
    WEIR_DUPEFILTER_CHECKPOINT = 60       # seconds between checkpoints

With JOBDIR the filter is kept there in requests.weir: saved at the end, and at each
checkpoint by another thread. docs/python.md describes what survives kill -9.
"""
from __future__ import annotations

import logging
import pathlib
import threading
from typing import Any

from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.job import job_dir
from twisted.internet.task import LoopingCall

from ._weir import Filter

FILE = "requests.weir"
SPEC = "memory=64M"
SECONDS = 60.0

logger = logging.getLogger(__name__)


class DupeFilter(RFPDupeFilter):
    """Requests whose fingerprint was seen are dropped; see the module."""

    def __init__(
        self,
        path: str | None = None,
        debug: bool = False,
        *,
        fingerprinter: Any = None,
        spec: str = SPEC,
        seconds: float = SECONDS,
    ) -> None:
        super().__init__(None, debug, fingerprinter=fingerprinter)
        self.path = pathlib.Path(path, FILE) if path else None
        self.spec, self.seconds = spec, seconds
        self.filter: Filter = self._open_filter()
        self._saving = threading.Lock()
        self._timer: LoopingCall | None = None
        self._saved = -1  # keys observed at the last checkpoint

    @classmethod
    def from_settings(cls, settings: Any, *, fingerprinter: Any = None) -> DupeFilter:
        return cls(
            job_dir(settings),
            settings.getbool("DUPEFILTER_DEBUG"),
            fingerprinter=fingerprinter,
            spec=settings.get("WEIR_DUPEFILTER", SPEC),
            seconds=settings.getfloat("WEIR_DUPEFILTER_CHECKPOINT", SECONDS),
        )

    def _open_filter(self) -> Filter:
        if self.path is None or not self.path.exists():
            return Filter(self.spec)
        found = Filter.load(self.path)
        logger.info("Resuming with %d requests seen (%s)", found.stats().observed, found.config)
        return found

    def open(self) -> None:
        if self.path is not None and self.seconds > 0:
            self._timer = LoopingCall(self._checkpoint_aside)
            self._timer.start(self.seconds, now=False)

    def request_seen(self, request: Any) -> bool:
        return self.filter.observe(self.fingerprinter.fingerprint(request))

    def checkpoint(self) -> None:
        """Save what has been seen so far, as of now."""
        if self.path is not None:
            self._save(self.filter.copy())

    def _save(self, state: Filter) -> None:
        """Saves a copy while the crawl continues; one at a time, and the newest last."""
        with self._saving, state:
            observed = state.stats().observed
            if observed > self._saved:
                state.save(self.path)
                self._saved = observed

    def _checkpoint_aside(self) -> Any:
        """The copy is made here, between two requests; only writing it takes long."""
        from twisted.internet.threads import deferToThread

        done = deferToThread(self._save, self.filter.copy())
        return done.addErrback(lambda failure: logger.error("The checkpoint failed: %s", failure.value))

    def close(self, reason: str) -> None:
        if self._timer is not None and self._timer.running:
            self._timer.stop()
        self.checkpoint()
        self.filter.close()


__all__ = ["DupeFilter"]
