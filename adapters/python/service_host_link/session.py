"""One connection of the link, from the end of the handshake to its end."""

import json
import time

from .requests import Question, ServerError, contents_of, picture_of
from .search import os_reason
from .texts import NotJson, json_text, omit_none
from .websocket import BINARY, CHUNK, TEXT, ConnectionLost

TICK_SECONDS = 0.25  # at least so often the clock is looked at
WELCOME_SECONDS = 10.0
SILENCE_SECONDS = 30.0
ANSWER_SECONDS = 60.0  # a note is answered when the server has taken a picture
UPLOAD_ANSWER_SECONDS = 300.0  # the server makes the bytes durable before it answers
RETRY_SECONDS = 1.0
AWAY_SECONDS = 2.0  # the main thread counts as busy for the server when it was not here for longer
MAX_UPLOAD_TRIES = 3

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
        now = time.monotonic()
        self.worker, self.link, self.connection, self.url = worker, worker.link, connection, url
        self.welcomed = False
        self.limits = dict(self.link.limits)
        self._heartbeat = 5.0
        self._last_heartbeat = 0.0
        self._told_state = None  # what the last heartbeat said that readers notice
        self._next_scene = now
        self._is_scene_sent = False  # and not answered
        self._base = None  # the revision of the scene that the server has
        self._counter = 0
        self._waiting = {"hello": (None, now + WELCOME_SECONDS)}  # id -> (on_answer, until when)
        self._upload = None  # (file, id of its message, bytes left) of the artefact under way
        self._shutdown = None  # seconds, when the server said so
        self._bye = False
        self._steps = (
            self._send_answer, self._send_from_outbox, self._send_scene,
            lambda now: self._send_batch(self.link._audit, now),
            lambda now: self._send_batch(self.link._events, now), self._send_upload)

    def run(self):
        """How it ended. Raises Stopped."""
        try:
            self._hello()
            while True:
                self._turn()
        except ConnectionLost as error:
            lost = error
            if lost.delay is None:
                lost.delay = self._shutdown
            self.worker.told = self._bye  # the server closes when it has read the bye
        except Stopped:
            lost = ConnectionLost("the link was stopped")
        except OSError as error:
            lost = ConnectionLost("the connection was lost (%s)" % os_reason(error))
        except Exception as error:  # of this code, or of an odd message: the thread goes on
            self.connection.close(1002)
            lost = ConnectionLost("the link failed: %s" % type(error).__name__, back_off=True)
        self._end(lost)
        if self.worker.stopping is not None:
            raise Stopped()
        return lost

    def _turn(self):
        now = time.monotonic()
        if self.worker.stopping is not None:
            self._stop(now)
        if self.welcomed and not self._bye:
            self._fill(now)
        self.worker.wait(self.connection, TICK_SECONDS if self.worker.stopping is None else 0.02)
        # What has arrived comes before any look at the clock: this thread may have stood still.
        self.connection.receive()
        for opcode, payload in self.connection.messages():
            if opcode == BINARY:
                raise ValueError("bytes that were not asked for")
            self._message(json.loads(payload.decode("utf-8")))
        self.connection.flush()
        self._check_times(time.monotonic())

    def _check_times(self, now):
        if now - self.connection.heard >= SILENCE_SECONDS:
            raise ConnectionLost("the server has been silent for %d s" % SILENCE_SECONDS)
        if any(until <= now for _, until in self._waiting.values()):
            raise ConnectionLost("the server did not answer", back_off=True)
        self._drop(lambda question: question.deadline <= now)

    def _stop(self, now):
        """Gives what waits half of the time, then says bye and waits for the close."""
        bye, deadline = self.worker.stopping
        if now >= deadline or not (self.welcomed or self.worker.leaves_scene):
            self.connection.close(1000)
            raise Stopped()
        if self.welcomed and not self._bye and (self.link._is_settled() or deadline - now <= 0.3):
            self._bye = True
            self._send(bye)

    def _end(self, lost):
        """What was not answered is sent again on the next connection, except what may have been
        the reason that this one ended."""
        self._end_upload()
        with self.link._lock:
            for on_answer, _ in self._waiting.values():
                if on_answer is not None:
                    on_answer({}, lost)
        if self.link._worker in (None, self.worker):  # else stop() did not wait for this thread
            self.link._disconnected()

    # Messages

    def _send(self, message):
        self.connection.put(TEXT, json_text(message).encode("ascii"))

    def _request(self, head, on_answer, rest=b"", seconds=None):
        """Sends a message; on_answer(answer, None), or ({}, ServerError or ConnectionLost). `rest`
        is text of more members. Raises NotJson."""
        self._counter += 1
        id = str(self._counter)
        text = json_text(dict(head, id=id)).encode("ascii")
        self._waiting[id] = (on_answer, time.monotonic() + (seconds or ANSWER_SECONDS))
        self.connection.put(TEXT, text[:-1] + b"," + rest + b"}" if rest else text)
        return id

    def _fill(self, now):
        """Adds messages until enough are on their way: answers that the server waits for first."""
        if not self.connection.full and now >= self._heartbeat_due(now):
            self._send_heartbeat(now)
        while not self.connection.full and any([step(now) for step in self._steps]):
            pass

    def _message(self, message):
        link, kind, id = self.link, message["type"], message.get("id")
        if kind in ("ok", "error"):
            on_answer, _ = self._waiting.pop(id, (None, None))
            error = ServerError(message) if kind == "error" else None
            if on_answer is not None:
                with link._lock:
                    on_answer(message, error)
            elif error is not None and id is None:
                link._fail("server", "the server said: %s" % error.text)
        elif kind in ("read", "capture", "refresh"):
            self._ask(kind, id, message)
        elif kind == "cancel":
            self._drop(lambda question: question.id == id)
        elif kind == "captured":
            link.pictured_at = time.time()
        elif kind == "demand":
            link.scene_wanted = message["scene"]
        elif kind == "notes":
            link.notes = (message["notes"], message.get("pictures"))
        elif kind == "clients":
            link.clients = message["clients"]
        elif kind == "shutdown":
            self._shutdown = message.get("reconnect_after_ms", 0) / 1000.0
        elif kind == "welcome":
            self._welcome(message)
        elif id is not None:
            self._send_error(id, "unknown_type", "no such message")
        with link._changed:
            link._changed.notify_all()

    # The greeting and heartbeats

    def _hello(self):
        link = self.link
        with link._lock:
            link._told_app = (link._document, link._pictures)
            self._send(omit_none(
                type="hello", app=link._app,
                instance_id=link._instance_id, document=link._document,
                capture=link._pictures if link._pictures != {"targets": []} else None,
                scene_refresh=link._on_refresh is not None or None,
                notes=link._shows_notes or None))

    def _welcome(self, message):
        link, server = self.link, message.get("server", {})
        self.limits.update(message["limits"])
        self._heartbeat = message["heartbeat_ms"] / 1000.0
        self.welcomed = True
        del self._waiting["hello"]
        title = " ".join(str(server.get(name, "")) for name in ("name", "version")).strip()
        text = "Connected to %s at %s." % (title or "the server", self.url)
        link._connected(("connected", text, self.url, self.worker), self.limits,
                        message["need_scene"] is True)

    def _main_state(self, now):
        """(milliseconds since the main thread was here, what readers notice of it)"""
        link = self.link
        # Without these no request waits for the main thread.
        is_served = link._on_read or link._on_capture or link._on_refresh or link._pumps
        idle = max(0.0, now - link._main_seen) if is_served else 0.0
        return int(idle * 1000), (idle > AWAY_SECONDS, link._busy)

    def _heartbeat_due(self, now):
        """At once when readers would otherwise be told the wrong reason for waiting."""
        has_news = self._main_state(now)[1] != self._told_state
        return now if has_news else self._last_heartbeat + self._heartbeat

    def _send_heartbeat(self, now):
        link = self.link
        idle, self._told_state = self._main_state(now)
        busy, silent_ms = self._told_state[1]
        self._send(omit_none(
            type="heartbeat", main_idle_ms=idle, busy=busy, silent_ms=silent_ms))
        self._last_heartbeat = now
        self.connection.flush()
        with link._changed:
            link._busy_told = self._told_state[1]
            link._changed.notify_all()

    # Requests of the server

    def _ask(self, kind, id, message):
        link = self.link
        callback = {"read": link._on_read, "capture": link._on_capture,
                    "refresh": link._on_refresh}.get(kind)
        if callback is None:
            return self._send_error(id, "unsupported", "this application does not answer that")
        with link._lock:
            link._questions.append(Question(id, kind, message))

    def _drop(self, is_over):
        with self.link._lock:
            self.link._questions = [each for each in self.link._questions if not is_over(each)]

    def _send_error(self, id, code, text):
        self._send({"type": "error", "id": id, "code": code, "message": text,
                    "retryable": code in ("busy", "internal")})

    def _send_answer(self, now):
        scene = self.link._scene
        with self.link._lock:
            # A refresh is answered when the server has the scene.
            ready = [each for each in self.link._questions if each.answer is not None and (
                each.kind != "refresh" or each.answer[0] is not None or scene.settled)]
            if not ready:
                return False
            question = ready[0]
            self.link._questions.remove(question)
        code, value = question.answer
        if question.kind == "refresh" and code is None and scene.is_unsent:
            code, value = "internal", "the server lacks the newest scene"
        picture, members = b"", {}
        try:
            if code is None and question.kind == "read":
                members = {"contents": contents_of(value, question.message["uri"])}
            elif code is None and question.kind == "capture":
                picture, members = picture_of(value)
            text = json_text(dict(members, type="ok", id=question.id)).encode("ascii")
        except Exception as error:  # also what the application's own function raises
            reason = str(error) if isinstance(error, NotJson) else type(error).__name__
            code, value = "internal", "%s returned no %s: %s" % (
                ("on_read", "contents", reason) if question.kind == "read"
                else ("the capture callback", "picture", reason))
            self.link._fail("read", value)
        most = question.message.get("max_bytes", self.limits["max_message_bytes"])
        if code is None and max(len(picture), len(text) if not picture else 0) > most:
            code, value = "limit", "the answer is larger than %d bytes" % most
        if code is not None:
            self._send_error(question.id, code, value)
            return True
        self.connection.put(TEXT, text)
        if picture:  # right behind: nothing may come between them
            self.connection.put(BINARY, picture)
        return True

    # What the application tells

    def _send_from_outbox(self, now):
        with self.link._lock:
            found = self.link._outbox.take()
        if found is None:
            return False
        message, on_answer = found
        try:
            self._request(message, on_answer)
        except NotJson as error:
            with self.link._lock:
                on_answer({}, ServerError({"code": "invalid", "message": str(error)}))
        return True

    def _send_scene(self, now):
        if self._is_scene_sent or now < self._next_scene:
            return False
        link = self.link
        message = link._scene.next_message(self._base, self.limits)
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
            if link._scene.answered(sent, error):
                self._next_scene = time.monotonic() + RETRY_SECONDS

        self._request(head, on_answer, rest)
        return True

    def _send_batch(self, feed, now):
        link, most = self.link, self.limits["max_message_bytes"] - 1024
        with link._lock:
            if feed.in_flight or not len(feed) or now < feed.not_before:
                return False
            session, texts = feed.take(self.limits["max_batch"], most)
        if feed.kind == "audit":
            head, name = {"type": "audit.record"}, "records"
        else:
            head, name = {"type": "events.append", "session_id": session}, "events"

        def on_answer(answer, error):
            if error is not None and error.code != "lost":
                link._fail(feed.kind, "the server refused %s: %s" % (name, error.text))
            # A full session must not keep the others waiting.
            if error is not None and error.retryable and (error.code != "limit" or name == "records"):
                feed.restore()
                feed.not_before = time.monotonic() + (error.code != "lost") * RETRY_SECONDS
            else:
                feed.acknowledged()

        self._request(head, on_answer, ('"%s":[%s]' % (name, ",".join(texts))).encode("ascii"))
        return True

    def _send_upload(self, now):
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
        id = self._request(dict(job.message, size=size), on_answer, b"", UPLOAD_ANSWER_SECONDS)
        self._upload = (file, id, size)
        return True

    def _send_chunk(self):
        file, id, left = self._upload
        chunk = file.read(min(CHUNK, left)) if id in self._waiting else b""
        # Of a file that became shorter the rest is never sent: the server gives it up.
        self._upload = (file, id, left - len(chunk) if chunk else 0)
        if not chunk:
            return False
        on_answer, _ = self._waiting[id]
        self._waiting[id] = (on_answer, time.monotonic() + UPLOAD_ANSWER_SECONDS)
        self.connection.put(BINARY, chunk)
        return True

    def _end_upload(self):
        if self._upload is not None:
            self._upload[0].close()
        self._upload = None
