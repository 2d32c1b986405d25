"""The thread of the link, which finds the server and keeps one connection to it."""

import random
import selectors
import socket
import threading
import time

from .search import Candidate, find_candidates, os_reason, parse_url
from .session import Session, Stopped
from .texts import omit_none
from .websocket import ConnectionLost, connect

SEARCH_SECONDS = 1.0  # looking into a folder is cheap: do it more often than connecting
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.25, 10.0  # doubles with each failure


class Worker(threading.Thread):
    """Finds the server, keeps one connection to it, for ever."""

    def __init__(self, link):
        threading.Thread.__init__(self, name="service-host-link", daemon=True)
        self.link, self.turns = link, link._turns
        self.stopping = None  # (bye message, deadline)
        self.told = False  # the server has received the bye
        self._is_last_try = False
        self._own_server = None
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)

    def wake(self):
        try:
            self._waker.send(b"w")
        except OSError:
            pass  # full: it will wake; closed: it has ended
        if self.turns is not None:
            self.turns.grant()

    def stop(self, reason, timeout, clear):
        bye = omit_none(type="bye", reason=reason, clear=clear or None)
        self.stopping = (bye, time.monotonic() + timeout)
        self.wake()
        if self.turns is not None:
            self.turns.close()  # the thread that stops it waits for its end
        self.join(timeout)

    def wait(self, connection, seconds):
        """Until there is something to read or to send, a wake-up, or so many seconds. Within a turn:
        waiting for the next one is waiting, too."""
        if self.turns is None or self.stopping is not None:
            self._select(connection, seconds)
        elif self.turns.must_yield or not self._select(connection, 0.0) and seconds > 0:
            self.turns.rest(seconds)
            self._select(connection, 0.0)

    def _select(self, connection, seconds):
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ)
            if connection is not None:
                write = selectors.EVENT_WRITE if connection.sending else 0
                selector.register(connection.sock, selectors.EVENT_READ | write)
            is_ready = bool(selector.select(max(0.0, seconds)))
        try:
            while self._woken.recv(4096):
                pass
        except OSError:
            pass
        return is_ready

    def run(self):
        if self.turns is not None:
            self.turns.rest(0.0)
        try:
            self._run()
        except Stopped:
            pass
        finally:
            self._waker.close()
            self._woken.close()

    def _run(self):
        failures = 0
        while True:
            try:
                candidates, reasons = self._search()
            except ValueError as error:
                self.link._fail("link", str(error))
                return self.say("refused", "Not linked: %s." % error)
            if not candidates:
                self.say("searching", reasons[-1][0].upper() + reasons[-1][1:])
                self._pause(SEARCH_SECONDS)
                continue
            for candidate in candidates:
                url = candidate.address.url
                lost, was_welcomed = self._attempt(candidate)
                if was_welcomed or lost.final:
                    break
            self.link._fail("link", lost.text)
            if lost.final:
                return self.say("refused", "Not linked to %s: %s." % (url, lost.text), url)
            if was_welcomed:
                failures = 0
            delay = min(MAX_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** min(failures, 10))
            delay = max(delay * random.uniform(0.8, 1.2), lost.delay or 0.0)
            failures += 1
            text = "No link to %s: %s. Trying again in %.1f s." % (url, lost.text, delay)
            self.say("waiting", text, url)
            self._pause(delay)

    def _search(self):
        """(candidates, reasons). Raises ValueError where what was given is invalid."""
        link, reasons = self.link, []
        url, token = link._given
        if url and token:
            return [Candidate(parse_url(url), token)], reasons
        if url or token:
            raise ValueError("a host URL and a host token must be given together")
        found = find_candidates(
            link._app["dcc_type"], link._registry_dir, link._env, reasons, self._own_server)
        return found, reasons

    def _attempt(self, candidate):
        """(how it ended, whether it was welcomed)"""
        url = candidate.address.url
        self.say("connecting", "Connecting to %s." % url, url)
        try:
            connection = connect(candidate, self._wait_for_server)
        except ConnectionLost as lost:
            return lost, False
        except OSError as error:
            return ConnectionLost(os_reason(error)), False
        with connection.sock:
            session = Session(self, connection, url)
            lost = session.run()
        if session.welcomed:
            self._own_server = candidate.instance_id
        return lost, session.welcomed

    def say(self, state, text, url=None):
        with self.link._lock:
            if self.link._worker is self:  # else it was stopped and has not ended yet
                self.link._set_state(state, text, url)

    @property
    def leaves_scene(self):
        """It is stopping, and the server should hear that the scene goes."""
        bye, deadline = self.stopping
        return "clear" in bye and self.link._scene.is_shared and time.monotonic() < deadline

    def _wait_for_server(self, connection, seconds):
        if self.stopping is not None and not self.leaves_scene:
            raise Stopped()
        self.wait(connection, seconds)

    def _pause(self, seconds):
        """Raises Stopped when stop() is called, after one more try where the scene should go."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.stopping is not None:
                if self._is_last_try or not self.leaves_scene:
                    raise Stopped()
                self._is_last_try = True
                return
            self.wait(None, until - time.monotonic())


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

    def run_while_waiting(self, seconds):
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
    def must_yield(self):
        """LINK THREAD: the main thread waits for the end of the turn."""
        return self._depth > 0 and not self._closed

    def rest(self, seconds):
        """LINK THREAD: the turn is over; comes back with the next one, or after a long time."""
        with self._state:
            if self._again and not self.must_yield:
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
