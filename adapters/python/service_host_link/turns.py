"""Turns of the link thread."""

import threading
import time


class Turns(object):
    """Says when the link thread may run, for applications where another Python thread is a danger.

    Blender up to 4.0 and its like call Python without holding its lock while an operator runs
    for a script under another context, as long as any other thread holds it: the process
    crashes. So the thread waits for a turn, and the main thread hands out none inside of
    `with turns:`. A main thread that hands out none for long is at work elsewhere: then the thread
    runs unasked, about once a second, so that the server knows it for busy and not for dead. Inside
    of `with turns:` only where that alone has lasted so long."""

    UNASKED_SECONDS = 1.0
    PATIENCE_SECONDS = 1.0  # the main thread waits no longer for a turn to end

    def __init__(self):
        self._turn = threading.Lock()  # free: a turn is granted that did not begin
        self._turn.acquire()
        self._state = threading.Lock()  # guards the rest; held for moments
        self._granted = False  # from the grant of a turn to its end
        self._again = False  # granted once more meanwhile
        self._depth = 0
        self._entered = 0.0  # when the depth was 0 last
        self._closed = False

    def grant(self):
        """The thread may run once. From any thread; inside of `with` it takes effect behind it."""
        with self._state:
            if self._granted or (self._depth and not self._closed):
                self._again = True
            else:
                self._begin()

    def __enter__(self):
        with self._state:
            self._depth += 1
            outermost = self._depth == 1
            if outermost:
                self._entered = time.monotonic()
        if outermost:
            self._take_back()
        return self

    def __exit__(self, *_):
        with self._state:
            self._depth -= 1
            if self._depth == 0 and self._again and not self._granted:
                self._begin()

    def lend(self, seconds):
        """The main thread, which waits anyway, lets the thread run meanwhile."""
        with self._state:
            depth, self._depth = self._depth, 0
        self.grant()
        time.sleep(seconds)
        with self._state:
            self._depth = depth
        if depth:
            self._take_back()

    def close(self):
        """The thread is to end: it need not ask any more."""
        with self._state:
            self._closed = True
            if not self._granted:
                self._begin()

    @property
    def called_back(self):
        """LINK THREAD: the main thread waits for the end of the turn."""
        return self._depth > 0 and not self._closed

    def rest(self, seconds):
        """LINK THREAD: the turn is over; comes back with the next one, or after a long time."""
        with self._state:
            if self._again and not self.called_back:
                self._again = False
                self._granted = True
                return
            self._granted = False
        wait = max(seconds, self.UNASKED_SECONDS)
        while not self._turn.acquire(True, wait):
            with self._state:  # no turn was granted: the main thread is away
                wait = self._entered + self.UNASKED_SECONDS - time.monotonic()
                if self._depth and not self._closed and wait > 0:
                    continue
                if self._granted:
                    self._turn.acquire(False)  # until a moment ago
                self._granted = True
                return

    def _begin(self):
        self._granted, self._again = True, False
        self._turn.release()

    def _take_back(self):
        deadline = time.monotonic() + self.PATIENCE_SECONDS
        with self._state:
            if self._granted and self._turn.acquire(False):
                self._granted, self._again = False, True
        while self._granted and time.monotonic() < deadline:
            time.sleep(0.0005)
