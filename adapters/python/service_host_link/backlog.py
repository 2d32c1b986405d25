"""Audit records and events that wait to be sent."""

import collections

from .limits import MAX_BACKLOG

_Item = collections.namedtuple("_Item", "kind session text")  # kind: "entry", "open" or "close"


class Backlog(object):
    """The newest audit records or events that the server has not taken yet.

    What was sent counts as taken only when the server said so. After a lost connection it is sent
    again: each entry arrives at least once, unless it was the oldest of too many."""

    def __init__(self, bound=MAX_BACKLOG):
        self._bound = bound
        self._items = collections.deque()
        self.flight = []
        self.dropped = 0

    def __len__(self):
        return len(self._items) + len(self.flight)

    @property
    def waiting(self):
        return bool(self._items)

    def add(self, kind, session, text):
        self._items.append(_Item(kind, session, text))
        self._trim()

    def take(self, max_count, max_bytes):
        """The oldest entries that can go in one message: of one session, in order."""
        head = self._items[0]
        if head.kind != "entry":
            self.flight = [self._items.popleft()]
            return self.flight
        batch, rest, size, full = [], collections.deque(), 0, False
        for item in self._items:
            if full or item.session != head.session:
                rest.append(item)
                continue
            full = item.kind != "entry" or len(batch) == max_count or (
                bool(batch) and size + len(item.text) + 1 > max_bytes)
            if full:
                rest.append(item)
            else:
                batch.append(item)
                size += len(item.text) + 1
        self._items, self.flight = rest, batch
        return batch

    def taken(self):
        self.flight = []

    def give_up(self, index=None):
        """Drops what is on its way; with an index only that one, the others are sent again."""
        if index is None or index >= len(self.flight):
            self.dropped += sum(item.kind == "entry" for item in self.flight)
            self.flight = []
        else:
            del self.flight[index]
            self.dropped += 1
            self.restore()

    def restore(self):
        self._items.extendleft(reversed(self.flight))
        self.flight = []
        self._trim()

    def _trim(self):
        while self._items and len(self) > self._bound:
            self.dropped += self._items.popleft().kind == "entry"
