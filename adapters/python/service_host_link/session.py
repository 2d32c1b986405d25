"""One connection, from the end of the handshake to its end."""

import time

from .connection_end import CLOSE_MEANINGS, ConnectionEnd, ConnectionLost, Stopped
from .frames import BINARY, CLOSE, PING, ProtocolError, TEXT, decode_close
from .json_text import compact_json
from .limits import (
    ANSWER_SECONDS, AWAY_SECONDS, DEFAULT_LIMITS, MAX_UPLOAD_TRIES, SILENCE_SECONDS,
    TAKEN_SECONDS, WELCOME_SECONDS,
)
from .messages import bounded_number, error_of, parse_message
from .own_files import os_reason
from .pipe import Pipe
from .session_app import SessionApp
from .session_artefacts import SessionArtefacts
from .session_batches import SessionBatches
from .session_notes import SessionNotes
from .session_greeting import SessionGreeting
from .session_questions import SessionQuestions
from .session_scene import SessionScene
from .texts import one_line


class Session(SessionGreeting, SessionQuestions, SessionApp, SessionScene, SessionBatches,
              SessionArtefacts, SessionNotes):
    """From the end of the handshake to the end of the connection."""

    def __init__(self, worker, sock, candidate, received):
        now = time.monotonic()
        self.worker, self.link, self.candidate = worker, worker.link, candidate
        self.pipe = Pipe(sock, received)
        self.opened = now
        self.welcomed = False
        self.limits = dict(DEFAULT_LIMITS)
        self.heartbeat = 5.0
        self.last_heartbeat = 0.0
        self.told = None  # what the last heartbeat said that readers notice
        self.next_scene = now
        self.patches = False  # the server takes scene.patch
        self.base = None  # the revision of the scene that the server has
        self.next_batch = {"audit": now, "events": now}
        self.scene_interval = 0.0
        self.counter = 0
        self.waiting = {}  # id -> (what its answer is for, until when)
        self.questions = {}  # id -> Question
        self.opens = []
        self.sending = None  # the OutgoingArtefact of the artefact under way
        self.shutdown = None  # seconds, when the server said so
        self.bye = False

    # The loop

    def run(self):
        lost = ConnectionLost("the connection was lost")
        try:
            self._hello()
            while True:
                self._turn()
        except ConnectionLost as error:
            lost = error
            self.worker.told = self.bye  # it closes the connection when it has read the bye
        except Stopped:
            pass
        except OSError as error:
            lost = ConnectionLost("the connection was lost (%s)" % os_reason(error))
        except ProtocolError as error:
            self.pipe.close(error.code, error.reason)
            lost = ConnectionLost("the server broke the protocol: %s" % error.reason, poor=True)
        except Exception as error:  # a fault of this code must not end the thread
            self.pipe.close(1011, "")
            lost = ConnectionLost("the link failed: %s" % type(error).__name__, poor=True)
        finally:
            self._restore(lost)
        if self.worker.stopping is not None:
            raise Stopped()
        delay = self.shutdown if lost.delay is None else lost.delay
        return ConnectionEnd(lost.text, lost.final, delay, self.welcomed, lost.poor)

    def _turn(self):
        now = time.monotonic()
        if self.worker.stopping is not None:
            self._stop(now)
        self._fill(now)
        seconds = min(self._deadlines(now)) - time.monotonic()
        readable, _ = self.worker.ready(self.pipe.sock, self.pipe.sending, seconds)
        if readable:
            self.pipe.receive()
        for opcode, payload in self.pipe.frames():
            self._frame(opcode, payload)
        self.pipe.flush()
        self._check_times(time.monotonic())

    def _deadlines(self, now):
        yield now + 5.0
        yield self.pipe.heard + SILENCE_SECONDS
        if self.worker.stopping is not None:
            yield self.worker.stopping[1] if self.bye else now + 0.02
            if self.bye:
                return
        if not self.welcomed:
            yield self.opened + WELCOME_SECONDS
            return
        if not self.pipe.full:
            yield self._heartbeat_due(now)
            away_at = self.link._main_seen + AWAY_SECONDS
            if away_at > now:
                yield away_at + 0.02
            for due in [self.next_scene] + list(self.next_batch.values()):
                if due > now:
                    yield due
        for _, until in self.waiting.values():
            yield until
        for question in self.questions.values():
            yield question.deadline

    def _check_times(self, now):
        if now - self.pipe.heard >= SILENCE_SECONDS:
            raise ConnectionLost("the server has been silent for %d s" % SILENCE_SECONDS)
        if not self.welcomed and now - self.opened >= WELCOME_SECONDS:
            raise ConnectionLost("the server did not answer the greeting", poor=True)
        if any(until <= now for _, until in self.waiting.values()):
            raise ConnectionLost(
                "the server did not answer within %d s" % ANSWER_SECONDS, poor=True)
        for question in list(self.questions.values()):
            if question.deadline <= now:
                self._forget(question)

    def _stop(self, now):
        """Gives what waits half of the time, then says bye and waits for the close."""
        bye, deadline = self.worker.stopping
        if now >= deadline or not (self.welcomed or self.worker.farewell):
            self.pipe.close(1000, "")
            raise Stopped()
        if self.bye or not self.welcomed:
            return
        with self.link._lock:
            settled = self.link._settled()
        if settled or deadline - now <= 0.3:
            self.bye = True
            self._send_message(bye)

    # Frames

    def _send_message(self, message):
        self._send_text(compact_json(message).encode("ascii"))

    def _send_text(self, data):
        self.pipe.put(TEXT, data)

    def _frame(self, opcode, payload):
        if opcode == PING:
            self.pipe.pong(payload)
        elif opcode == CLOSE:
            code, reason = decode_close(payload)
            self.pipe.close(1000 if code == 1005 else code, "")
            text, final, poor = CLOSE_MEANINGS.get(
                code, ("the server closed the link (%d)" % code, False, True))
            delay = TAKEN_SECONDS if code == 4423 else None
            detail = one_line(reason, 120)
            if detail and code not in (1000, 1001, 4423):
                text = "%s (%s)" % (text, detail)
            raise ConnectionLost(text, final, delay, poor, blame=code in (1009, 4400))
        elif opcode == TEXT:
            self._message(parse_message(payload))
        elif opcode == BINARY:
            raise ProtocolError(1003, "bytes that were not asked for")

    # Messages of the server

    def _message(self, message):
        kind, id = message["type"], message.get("id")
        if kind == "welcome":
            if not self.welcomed:
                self._welcome(message)
        elif kind in ("ok", "error"):
            if isinstance(id, str) and id in self.waiting:
                (what, data), _ = self.waiting.pop(id)
                error = None if kind == "ok" else error_of(message)
                getattr(self, "_answered_" + what)(message, error, data)
                with self.link._changed:
                    self.link._changed.notify_all()
            elif kind == "error" and id is None:
                self.link._fail("server", "the server said: %s" % error_of(message).text)
        elif kind in ("read", "list", "capture", "refresh"):
            self._question(kind, message)
        elif kind == "cancel":
            question = self.questions.get(id) if isinstance(id, str) else None
            if question is not None:
                self._forget(question)
        elif kind == "captured":
            with self.link._lock:
                self.link._pictured_at = time.time()
                self.link._status_news = True
        elif kind == "demand":
            with self.link._lock:
                self.link._scene_wanted = message.get("scene") is not False
        elif kind == "notes":
            self._told_notes(message)
        elif kind == "clients":
            self._told_clients(message)
        elif kind == "throttle":
            interval_ms = bounded_number(message, "scene_min_interval_ms", 0, 60000, 0)
            self.scene_interval = interval_ms / 1000.0
            with self.link._lock:
                self.link._limits["scene_min_interval_ms"] = int(self.scene_interval * 1000)
        elif kind == "shutdown":
            self.shutdown = bounded_number(message, "reconnect_after_ms", 0, 60000, 0) / 1000.0
        elif isinstance(id, str):
            self._send_message({"type": "error", "id": id[:64], "code": "unknown_type",
                                "message": "no such message", "retryable": False})

    # Messages of the application

    def _ask(self, what, head, rest=b"", data=None, seconds=None):
        """Sends a message whose answer _answered_<what> gets; `rest` is text of more members."""
        self.counter += 1
        id = str(self.counter)
        text = compact_json(dict(head, id=id)).encode("ascii")
        if rest:
            text = text[:-1] + b"," + rest + b"}"
        self.waiting[id] = ((what, data), time.monotonic() + (seconds or ANSWER_SECONDS))
        self._send_text(text)
        return id

    def _fill(self, now):
        """Adds messages until enough are on their way: answers that the server waits for first."""
        if not self.welcomed or self.bye:
            return
        if not self.pipe.full:
            self._send_heartbeat(now)
        steps = (self._send_answer, self._send_open, self._send_app, self._send_producer,
                 self._send_scene, self._send_audit, self._send_events, self._send_updated,
                 self._send_note, self._send_upload)
        while not self.pipe.full and any([step(now) for step in steps]):
            pass

    # The end

    def _restore(self, lost):
        """What was not answered is sent again on the next connection, except what may have been
        the reason that this one ended."""
        link = self.link
        blame = lost.blame and self.welcomed
        asked = [each for each, _ in self.waiting.values()]
        for question in list(self.questions.values()):
            self._forget(question)
        self._stop_sending()
        if link._worker is not None and link._worker is not self.worker:
            return  # stop() did not wait for this thread: another one does the work
        with link._changed:
            for backlog in (link._audit, link._events):
                backlog.give_up() if blame else backlog.restore()
            for what, job in asked:
                if what == "note":
                    link._end_note(job, "the link was lost: see whether the server has the note")
            for what, scheme in asked:
                if what == "producer" and scheme not in link._producers:
                    link._producer_news[scheme] = "unregister"
            if lost.delay is not None:
                link._scene_taken_by = None  # the other application has set its own
            if blame and any(what == "scene" for what, _ in asked):
                link._scene_text, link._scene_unsent = None, True
                link._fail("scene", "the scene was given up: %s" % lost.text)
            upload = link._upload
            if upload is not None:
                link._upload = None
                if upload._tries >= MAX_UPLOAD_TRIES:
                    link._finish(upload, error="the link was lost %d times" % upload._tries)
                else:
                    link._uploads.appendleft(upload)
            link._server_needs_scene = False
            link._notes = ([], None)  # they may change unseen
            link._clients = []
            link._changed.notify_all()
