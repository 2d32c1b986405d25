"""One connection of the link, from the end of the handshake to its end."""

import json
import time

from .requests import Question, ServerError, picture_of
from .search import os_reason
from .texts import NotJson, json_text, omit_none
from .websocket import BINARY, CHUNK, TEXT, ConnectionLost

TICK_SECONDS = 0.25  # at least so often the clock is looked at
SILENCE_SECONDS = 30.0
AWAY_SECONDS = 2.0  # the main thread counts as busy for the server when it was not here for longer
MAX_UPLOAD_TRIES = 3
PASSING_CODES = ("limit", "busy", "internal")  # the server may take it later
RETRY_SECONDS = 1.0  # doubled with each refusal in a row, up to MAX_RETRY_SECONDS
MAX_RETRY_SECONDS = 60.0

DEFAULT_LIMITS = {
    "max_message_bytes": 64 * 1024 * 1024,
    "max_batch": 100,
    "max_patched_objects": 100000,
}


class Stopped(Exception):
    """stop() was called."""


class Session(object):
    """One connection, from the end of the handshake to its end."""

    def __init__(self, worker, connection, url):
        self.worker, self.link, self.connection, self.url = worker, worker.link, connection, url
        self.welcomed = False
        self._heartbeat = 5.0
        self._last_heartbeat = 0.0
        self._told_state = None  # what the last heartbeat said that readers notice
        self._is_scene_sent = False  # and not answered
        self._base = None  # the revision of the scene that the server has
        self._counter = 0
        self._refused = {}  # feed -> (how often in a row, no batch is sent before)
        self._waiting = {}  # id -> on_answer
        self._upload = None  # (file, id of its message, bytes left) of the artefact under way
        self._bye = False
        self._steps = (
            self._send_answer, self._send_from_outbox, self._send_scene,
            lambda: self._send_batch(self.link._audit), lambda: self._send_batch(self.link._events),
            self._send_upload)

    def run(self):
        """How it ended. Raises Stopped."""
        try:
            self._hello()
            while True:
                self._turn()
        except ConnectionLost as error:
            lost = error
            self.worker.told = self._bye  # the server closes when it has read the bye
        except Stopped:
            lost = ConnectionLost("the link was stopped")
        except OSError as error:
            lost = ConnectionLost("the connection was lost (%s)" % os_reason(error))
        except Exception as error:  # the thread goes on
            lost = ConnectionLost("the link failed: %s" % type(error).__name__)
        self._end(lost)
        if self.worker.stopping is not None:
            raise Stopped()
        return lost

    def _turn(self):
        if self.worker.stopping is not None:
            self._stop()
        if self.welcomed and not self._bye:
            self._fill()
        self.worker.wait(self.connection, TICK_SECONDS if self.worker.stopping is None else 0.02)
        # What has arrived comes before any look at the clock: this thread may have stood still.
        self.connection.receive()
        for payload in self.connection.messages():
            self._message(json.loads(payload.decode("utf-8")))
        self.connection.flush()
        if time.monotonic() - self.connection.heard >= SILENCE_SECONDS:
            raise ConnectionLost("the server has been silent for %d s" % SILENCE_SECONDS)

    def _stop(self):
        """Lets what waits be sent, then says bye and waits for the close."""
        bye, deadline = self.worker.stopping
        left = deadline - time.monotonic()
        if left <= 0 or not (self.welcomed or self.worker.leaves_scene):
            raise Stopped()
        if self.welcomed and not self._bye and (self.link._is_settled() or left <= 0.3):
            self._bye = True
            self._send(bye)

    def _end(self, lost):
        """What was not answered is sent again on the next connection, except what may have been
        the reason that this one ended."""
        self._end_upload()
        with self.link._lock:
            for on_answer in self._waiting.values():
                on_answer({}, lost)
        if self.link._worker in (None, self.worker):  # else stop() did not wait for this thread
            self.link._disconnected()

    # Messages

    def _send(self, message):
        self.connection.put(TEXT, json_text(message).encode("ascii"))

    def _request(self, head, on_answer, rest=b""):
        """Sends a message; on_answer(answer, None), or ({}, ServerError or ConnectionLost). `rest`
        is text of more members. Raises NotJson."""
        self._counter += 1
        id = str(self._counter)
        text = json_text(dict(head, id=id)).encode("ascii")
        self._waiting[id] = on_answer
        self.connection.put(TEXT, text[:-1] + b"," + rest + b"}" if rest else text)
        return id

    def _fill(self):
        """Adds messages until enough are on their way: answers that the server waits for first."""
        if not self.connection.full:
            self._send_heartbeat()
        while not self.connection.full and any([step() for step in self._steps]):
            pass

    def _message(self, message):
        link, kind, id = self.link, message["type"], message.get("id")
        if kind in ("ok", "error"):
            on_answer = self._waiting.pop(id, None)
            error = ServerError(message["code"], message["message"]) if kind == "error" else None
            if on_answer is not None:
                with link._lock:
                    on_answer(message, error)
        elif kind in ("read", "capture", "refresh"):
            with link._lock:
                link._questions.append(Question(id, kind, message))
        elif kind == "cancel":
            with link._lock:
                link._questions = [each for each in link._questions if each.id != id]
        elif kind == "captured":
            link.pictured_at = time.time()
        elif kind == "demand":
            link.scene_wanted = message["scene"]
        elif kind == "notes":
            link.notes = (message["notes"], message.get("pictures"))
        elif kind == "clients":
            link.clients = message["clients"]
        elif kind == "welcome":
            self._welcome(message)
        elif id is not None:
            self._send({"type": "error", "id": id, "code": "unknown_type", "message": "no such message"})
        with link._changed:
            link._changed.notify_all()

    # The greeting and heartbeats

    def _hello(self):
        link = self.link
        with link._lock:
            link._outbox.open()  # what changes from now on is told after the welcome
            self._send(omit_none(
                type="hello", app=link._app, instance_id=link._instance_id,
                document=link._document, capture=link._pictures,
                scene_refresh=link._on_refresh is not None or None, notes=link._shows_notes or None))

    def _welcome(self, message):
        link, server = self.link, message["server"]
        self._heartbeat = message["heartbeat_ms"] / 1000.0
        self.welcomed = True
        with link._lock:
            link.limits, link.scene_wanted = message["limits"], True
            link._scene.connected(message["need_scene"])
            link._fail("link", None)
            self.worker.say("connected", "Connected to %s %s at %s." % (
                server["name"], server["version"], self.url), self.url)

    def _send_heartbeat(self):
        """Also at once when readers would otherwise be told the wrong reason for waiting."""
        link, now = self.link, time.monotonic()
        # Without these no request waits for the main thread.
        is_served = link._on_read or link._on_capture or link._on_refresh or link._pumps
        idle_ms = int(max(0.0, now - link._main_seen) * 1000) if is_served else 0
        state = (idle_ms > AWAY_SECONDS * 1000, link._busy)  # the server sees no fraction either
        if state == self._told_state and now < self._last_heartbeat + self._heartbeat:
            return

        def on_answer(answer, error):
            link._busy_told = state[1] if error is None else None

        busy, silent_ms = state[1]
        self._request(omit_none(
            type="heartbeat", main_idle_ms=idle_ms, busy=busy, silent_ms=silent_ms), on_answer)
        self._last_heartbeat, self._told_state = now, state

    # Answers to the server

    def _send_answer(self):
        link, scene = self.link, self.link._scene
        with link._lock:
            # A refresh is answered when the server has the scene.
            question = next((each for each in link._questions if each.answer is not None and (
                each.kind != "refresh" or each.answer[0] is not None or scene.settled)), None)
            if question is None:
                return False
            link._questions.remove(question)
        code, value = question.answer
        if question.kind == "refresh" and code is None and scene.is_unsent:
            code, value = "internal", "the server lacks the newest scene"
        picture, members = b"", {}
        try:
            if code is None and question.kind == "read":
                members = {"contents": value}
            elif code is None and question.kind == "capture":
                picture, members = picture_of(value)
                if not picture:
                    code, value = "blank", "the picture is empty"
            text = json_text(dict(members, type="ok", id=question.id)).encode("ascii")
            if max(len(text), len(picture)) > link.limits["max_message_bytes"]:
                code, value = "limit", "the answer is too large"
        except Exception as error:  # also what the application's own function raises
            reason = str(error) if isinstance(error, NotJson) else type(error).__name__
            code, value = "internal", "on_%s returned what cannot be sent: %s" % (question.kind, reason)
            link._fail("read", value)
        if code is not None:
            self._send({"type": "error", "id": question.id, "code": code, "message": value})
            return True
        self.connection.put(TEXT, text)
        if picture:  # right behind: nothing may come between them
            self.connection.put(BINARY, picture)
        return True

    # What the application tells

    def _send_from_outbox(self):
        outbox = self.link._outbox
        with self.link._lock:
            found = outbox.take()
        if found is None:
            return False
        key, message = found

        def on_answer(answer, error):
            outbox.answered(key, message, answer, error)

        try:
            self._request(message, on_answer)
        except NotJson as error:
            with self.link._lock:
                on_answer({}, ServerError("invalid", str(error)))
        return True

    def _send_scene(self):
        if self._is_scene_sent:
            return False
        link = self.link
        message = link._scene.next_message(self._base, link.limits)
        with link._changed:
            link._changed.notify_all()
        if message is None:
            return False
        head, rest, sent = message
        self._is_scene_sent = True
        self._base = None  # known again once it answers

        def on_answer(answer, error):
            self._is_scene_sent = False
            self._base = answer.get("revision")
            link._scene.answered(sent, error)

        self._request(head, on_answer, rest)
        return True

    def _send_batch(self, feed):
        link, limits = self.link, self.link.limits
        with link._lock:
            if feed.in_flight or not len(feed) or time.monotonic() < self._refused.get(feed, (0, 0.0))[1]:
                return False
            session, texts = feed.take(limits["max_batch"], limits["max_message_bytes"] - 1024)

        def on_answer(answer, error):
            if error is None:
                feed.in_flight = []
                self._refused.pop(feed, None)
            elif error.caused_by_us:
                link._fail(feed.name, "the server refused %s: %s" % (feed.name, error.text))
                if error.code in PASSING_CODES:
                    times, _ = self._refused.get(feed, (0, 0.0))
                    wait = min(RETRY_SECONDS * 2 ** min(times, 9), MAX_RETRY_SECONDS)
                    self._refused[feed] = (times + 1, time.monotonic() + wait)
                elif error.code == "invalid" and len(feed.in_flight) > 1:
                    feed.alone = len(feed.in_flight)
                else:
                    feed.in_flight = []
            feed.restore()

        self._request(omit_none(type=feed.type, session_id=session), on_answer,
                      ('"%s":[%s]' % (feed.name, ",".join(texts))).encode("ascii"))
        return True

    def _send_upload(self):
        link = self.link
        if self._upload is not None:
            return self._send_chunk()
        with link._lock:
            if not link._outbox.uploads:
                return False
            job = link._outbox.uploads[0]  # until it is finished
        job.tries += 1

        def on_answer(answer, error):
            self._end_upload()
            if error is None or error.code != "lost" or job.tries >= MAX_UPLOAD_TRIES:
                if error is not None:
                    link._fail("artefact", "an artefact was not sent: %s" % error.text)
                link._finish(job, error and error.text, answer)

        try:
            file, size = job.open()
        except (OSError, ValueError, TypeError) as error:
            reason = os_reason(error) if isinstance(error, OSError) else type(error).__name__
            link._finish(job, "the file cannot be read (%s)" % reason)
            return True
        self._upload = (file, self._request(dict(job.message, size=size), on_answer), size)
        return True

    def _send_chunk(self):
        file, id, left = self._upload
        chunk = file.read(min(CHUNK, left)) if id in self._waiting else b""
        # Of a file that became shorter the rest is never sent: the server gives it up.
        self._upload = (file, id, left - len(chunk) if chunk else 0)
        if chunk:
            self.connection.put(BINARY, chunk)
        return bool(chunk)

    def _end_upload(self):
        if self._upload is not None:
            self._upload[0].close()
        self._upload = None
