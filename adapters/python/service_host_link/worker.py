"""The thread of the link."""

import os
import random
import socket
import threading
import time

from .connecting import Connecting
from .connection_end import ConnectFailed, ConnectionEnd, Stopped
from .frames import ProtocolError
from .limits import SEARCH_SECONDS
from .own_files import os_reason
from .session import Session
from .sockets import backoff_seconds, wait_ready
from .texts import omit_none


class Worker(Connecting, threading.Thread):
    """Finds the server, keeps one connection to it, for ever."""

    def __init__(self, link):
        threading.Thread.__init__(self, name="service-host-link", daemon=True)
        self.link = link
        self.turns = link._turns
        self.owner = os.getpid()  # a forked child has the object, but not the thread
        self.stopping = None  # (bye message, deadline)
        self.farewell = False  # connecting for the bye alone
        self.told = False  # the server has received the bye
        self.ended = False
        self._own_server = None
        self.waker, self._wakes = socket.socketpair()
        self.waker.setblocking(False)
        self._wakes.setblocking(False)

    def wake(self):
        try:
            self._wakes.send(b"w")
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

    def ready(self, sock, write, seconds):
        """(readable, writable), within a turn: waiting for the next one is waiting, too."""
        if self.turns is None or self.stopping is not None:
            return wait_ready(self.waker, sock, write, seconds)
        seen = wait_ready(self.waker, sock, write, 0.0)
        if not self.turns.called_back and (seen != (False, False) or seconds <= 0):
            return seen
        self.turns.rest(seconds)
        return wait_ready(self.waker, sock, write, 0.0)

    def run(self):
        if self.turns is not None:
            self.turns.rest(0.0)
        try:
            self._run()
        except Stopped:
            self._say_farewell()
        finally:
            self.ended = True
            self.waker.close()
            self._wakes.close()

    def _say_farewell(self):
        """Connects once more where a scene was left and the bye that removes it was not said."""
        bye, deadline = self.stopping
        left = self.link._scene_sent_to
        if self.told or left is None or "clear" not in bye or time.monotonic() >= deadline:
            return
        candidates, _, _ = self.link._search(self._own_server)
        self.farewell = True
        for candidate in sorted(candidates, key=lambda each: each.key != left)[:1]:
            try:
                self._attempt(candidate)
            except Stopped:
                pass

    def say(self, state, text, url=None):
        self.link._set_state(state, text, url, self)

    def pause(self, seconds):
        """Raises Stopped as soon as stop() is called."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.stopping is not None:
                raise Stopped()
            self.ready(None, False, until - time.monotonic())

    def _run(self):
        failures = searches = 0
        while True:
            candidates, reasons, final = self.link._search(self._own_server)
            if final:
                self.link._fail("link", reasons[0])
                return self.say("refused", "Not linked: %s." % reasons[0])
            if not candidates:
                self.say("searching", reasons[-1][0].upper() + reasons[-1][1:])
                self.pause(min(SEARCH_SECONDS, backoff_seconds(searches, random.random())))
                searches += 1
                continue
            searches = 0
            for candidate in candidates[:4]:
                end = self._attempt(candidate)
                if end.welcomed or end.final:
                    break
            url = candidate.address.url
            self.link._fail("link", end.text)
            if end.final:
                return self.say("refused", "Not linked to %s: %s." % (url, end.text), url)
            if end.welcomed and not end.poor:
                failures = 0
            delay = backoff_seconds(failures, random.random())
            failures += 1
            if end.delay is not None:
                delay = max(delay, end.delay)
            text = "No link to %s: %s. Trying again in %.1f s." % (url, end.text, delay)
            self.say("waiting", text, url)
            self.pause(delay)

    def _attempt(self, candidate):
        url = candidate.address.url
        self.say("connecting", "Connecting to %s." % url, url)
        sock = None
        try:
            sock = self._connect(candidate.address)
            rest = self._shake_hands(sock, candidate)
            self._own_server = candidate.instance_id
            end = Session(self, sock, candidate, rest).run()
            if end.delay is not None:
                self._own_server = None  # another application is linked there, or it stops
            return end
        except ConnectFailed as failed:
            return ConnectionEnd(failed.text, failed.final, None, False, False)
        except OSError as error:
            return ConnectionEnd(os_reason(error), False, None, False, False)
        except ProtocolError as error:
            return ConnectionEnd(error.reason, False, None, False, True)
        finally:
            if sock is not None:
                sock.close()
