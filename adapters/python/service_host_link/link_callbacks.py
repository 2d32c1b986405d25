"""HostLink: the callbacks, on the main thread."""

import time

from .limits import AWAY_SECONDS
from .read_errors import ReadError, Unsupported


class LinkCallbacks(object):
    """pump() and what it calls."""

    def pump(self, budget_seconds=0.02):
        """Answers what the server asked, calls on_done and on_status. MAIN THREAD only.

        Begins nothing new after the budget; returns how many things were done. To be called a
        few times a second: it also shows that the main thread is alive."""
        if self._turns is not None:
            self._turns.grant()  # what arrived is waiting
        started = time.monotonic()
        back = started - self._main_seen > AWAY_SECONDS
        self._main_seen, self._pumps = started, True
        if self._pumping:  # called from one of the callbacks
            return 0
        self._pumping = True
        done = 0
        try:
            while True:
                job = self._next_job()
                if job is None:
                    return done
                job()
                done += 1
                if time.monotonic() - started >= budget_seconds:
                    return done
        finally:
            with self._lock:
                self._questions.extend(self._not_yet)
                self._not_yet = []
            self._pumping = False
            self._main_seen = time.monotonic()
            if done or back:
                self._wake()

    def _next_job(self):
        now = time.monotonic()
        with self._lock:
            if self._status_news:
                self._status_news = False
                if self._on_status is not None:
                    status = self.status()
                    return lambda: self._call("on_status", self._on_status, status)
            if self._finished:
                upload = self._finished.popleft()
                return lambda: self._call("on_done", upload._on_done, upload)
            while self._questions:
                question = self._questions.popleft()
                if not question.dropped and question.deadline > now:
                    return lambda: self._answer(question)
        return None

    def _call(self, name, callback, argument):
        try:
            callback(argument)
        except Exception as error:
            self._fail("callback", "%s failed: %s" % (name, type(error).__name__))

    def _answer(self, question):
        answer = ("internal", "the application failed")  # also when it is interrupted
        try:
            value = self._ask_application(question)
            answer = (None, value)
            if question.kind == "refresh" and not value:
                answer = None
        except ReadError as error:
            answer = (error.code, str(error)[:500] or error.code)
        except Exception as error:
            # Only its type: the message may hold private data.
            name = "the capture callback" if question.kind == "capture" else "on_" + question.kind
            message = "%s failed: %s" % (name, type(error).__name__)
            self._fail("read", message)
            answer = ("internal", message)
        finally:
            with self._lock:
                if answer is None:
                    self._not_yet.append(question)
                else:
                    self._answers.append((question, answer))

    def _ask_application(self, question):
        if question.kind == "read":
            return self._on_read(question.subject)
        if question.kind == "refresh":
            return self._on_refresh()
        if question.kind == "list":
            return self._on_list(question.subject)
        callback = self._on_capture
        if callback is None or question.subject[0] not in self._pictures["targets"]:
            raise Unsupported("there is no such picture")  # any more
        target, max_width, max_bytes, shot = question.subject
        if self._pictures.get("shots"):
            return callback(target, max_width, max_bytes, shot)
        if shot is not None:
            raise Unsupported("the view is drawn only as it is on the screen")
        return callback(target, max_width, max_bytes)
