"""HostLink."""

import atexit
import collections
import io
import json
import os
import re
import threading
import time
import uuid

from .scene import Feed, Scene
from .search import Candidate, check_token, find_candidates, open_regular, parse_url
from .session import AWAY_SECONDS
from .texts import (
    CLEARED, NOT_TOLD, OFF, any_json, json_text, omit_none, one_line, rfc3339, whole_text,
)
from .thread import Worker
from .websocket import ConnectionLost

MAX_PARAMS_BYTES = 256 * 1024
MAX_METADATA_BYTES = 4096
MAX_EVENT_CHARS = 65536  # the server keeps no longer message
MAX_UPLOADS = 32  # waiting
BUSY_SECONDS = 0.05  # that set_busy() waits for the server to be told
LEVELS = ("trace", "debug", "info", "warning", "warn", "error")
PICTURE_TARGETS = ("window", "viewport")
NO_PICTURE = ("minimised", "no_window", "blank", "permission", "not_found")

DEFAULT_LIMITS = {
    "max_message_bytes": 64 * 1024 * 1024,
    "max_batch": 100,
    "max_artefact_bytes": 0,
    "max_patched_objects": 100000,
}

LinkStatus = collections.namedtuple("LinkStatus", "state text url last_error")
LinkStatus.__doc__ = """What the link is doing.

state: off, searching, connecting, connected, waiting (tries again) or refused (does not);
text: a sentence for people; url: of the server; last_error: a sentence, or None."""

Picture = collections.namedtuple("Picture", "png title width height view")
Picture.__new__.__defaults__ = (None,)
Picture.__doc__ = """A PNG file, and the title and size in pixels of the window that it shows.

`png`: bytes, or a function that returns them, which the thread of the link calls: packing takes no
time of the main thread then. The size is that of the window, also when the picture was scaled
down. `view`: a dict with what the application needs to draw the same again; it gets it back in a
shot."""


class ReadError(Exception):
    """Raised by a callback: clients see its message, unlike that of other exceptions."""

    code = "internal"


class NotFound(ReadError):
    """There is no such resource (any more)."""

    code = "not_found"


class Busy(ReadError):
    """The application cannot answer now (a modal dialog, a render); worth another try."""

    code = "busy"


class NoPicture(ReadError):
    """`reason`: minimised, no_window, blank, permission, or not_found (no such camera or object)."""

    def __init__(self, reason, message=""):
        if reason not in NO_PICTURE:
            raise ValueError("reason must be one of " + ", ".join(NO_PICTURE))
        ReadError.__init__(self, message or reason)
        self.code = reason


class Job(object):
    """An artefact, a note or a checkpoint on its way. `done` turns true once: `error` is then a
    sentence, or None. `uri` and `sha256` are of the artefact, `note` is {"id", "number", "state"}."""

    def __init__(self, message, on_done, data=None, path=None):
        self.done = False
        self.error = self.uri = self.sha256 = self.note = None
        self._message, self._on_done, self._data, self._path = message, on_done, data, path
        self._tries = 0

    def _open(self):
        """(file, size); raises OSError, and ValueError or TypeError for an invalid path."""
        if self._data is not None:
            return io.BytesIO(self._data), len(self._data)
        file, found = open_regular(self._path)
        return file, found.st_size


class HostLink(object):
    """The link of one application. All but pump() may be called from any thread."""

    def __init__(self, dcc_type, app_version=None, mode="gui", display_name=None, pid=None,
                 url=None, token=None, registry_dir=None, on_read=None, on_refresh=None,
                 env=os.environ, turns=None, shows_notes=False):
        """url and token given: only those. Else the environment, else the instance records.

        on_read(uri) -> contents: a list of {"uri", "mimeType", "text" or "blob"}; also one of
        them, a text, or bytes. It may raise NotFound or Busy.
        on_refresh() hands over the newest scene, because a reader waits for it: True when that is
        done, False to be asked again by the next pump(). With it `scene_wanted` tells whether a
        client follows the scene. Both are called from pump().
        shows_notes: the server tells of the notes of the open document and of its clients, see
        `notes` and `clients`.
        turns: a Turns, for an application in which no other thread may run Python now and then."""
        if not isinstance(dcc_type, str) or not re.match(r"[a-z0-9][a-z0-9_-]{0,63}\Z", dcc_type):
            raise ValueError("dcc_type must be lower-case letters, digits, _ and -")
        if mode not in ("gui", "background"):
            raise ValueError("mode must be gui or background")
        self._app = omit_none(dcc_type=dcc_type, mode=mode, version=one_line(app_version),
                              display_name=one_line(display_name), pid=pid or os.getpid())
        self._instance_id = uuid.uuid4().hex
        self._given, self._registry_dir, self._env = (url, token), registry_dir, env
        self._turns, self._shows_notes = turns, shows_notes
        self._on_read, self._on_refresh, self._on_capture = on_read, on_refresh, None

        # Everything below is guarded by the lock, which is held only for moments: no
        # serialising, no I/O and no foreign code inside.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._worker = None
        self._state = ("off", OFF, None)
        self._errors = collections.OrderedDict()
        self._limits = dict(DEFAULT_LIMITS)
        self._document = self._told_app = None
        self._pictures = {"targets": []}
        self._busy = self._busy_told = (None, None)  # (text, silent_ms)
        self._scene = Scene(self._lock)
        self._audit, self._events = Feed("audit"), Feed("events")
        self._buffers = collections.OrderedDict()  # session id -> bounds as text
        self._producers = collections.OrderedDict()  # scheme -> (resources, templates), None: goes
        self._outbox = collections.OrderedDict()  # key -> (message, on_answer): the newest of each
        self._uploads = collections.deque()
        self._questions, self._answers = collections.deque(), collections.deque()
        self._finished = collections.deque()  # jobs whose on_done waits for pump
        self._main_seen = time.monotonic()
        self._pumps = self._pumping = False
        self._scene_wanted, self._pictured_at, self._notes = True, None, ([], None)
        self._clients = []

    def __repr__(self):
        return "<HostLink %s: %s>" % (self._app["dcc_type"], self._state[0])

    # Life

    def start(self):
        """Begins to look for the server and to stay linked to it. A second call does nothing."""
        with self._lock:
            if self._worker is not None and not self._worker.ended:
                return
            self._main_seen = time.monotonic()
            self._set_state("searching", "Looking for the server.")
            self._worker = Worker(self)
            self._worker.start()
        atexit.register(self._at_exit)

    def stop(self, reason="quit", timeout=1.0, clear=False):
        """Sends what is waiting, says bye and ends the thread, all within the timeout.

        clear: for a user who disconnects. The server removes the scene, the schemes and the event
        buffers of this application; without it they stay as they are when an application quits.
        While there is no connection, one more is tried within the timeout for the bye alone. When
        the server cannot be told, the status says so."""
        with self._lock:
            worker, self._worker = self._worker, None
            was_shared = self._scene.is_shared
            if clear:
                self._scene.forget()
        atexit.unregister(self._at_exit)
        if worker is not None:
            worker.stop(one_line(reason) or "quit", timeout, clear)
        with self._lock:
            text = OFF
            if clear and was_shared:
                text = CLEARED if worker is not None and worker.told else NOT_TOLD
                self._scene.is_shared = False
            self._set_state("off", text)
            self._disconnected()
            for _, on_answer in self._outbox.values():
                on_answer({}, ConnectionLost("the link was stopped"))
            for job in list(self._uploads):
                self._finish(job, "the link was stopped")
            self._questions.clear()
            self._answers.clear()
            self._outbox.clear()

    def _at_exit(self):
        self.stop("quit", 0.5)

    def flush(self, timeout=5.0):
        """Waits until the server took all that was handed over; False when it did not.

        For scripts: an application that people work in has nothing to wait for."""
        self._wait_until(lambda: self._state[0] in ("off", "refused")
                         or self.connected and self._is_settled(), timeout)
        with self._lock:
            return self.connected and self._is_settled() and not self._scene.is_unsent

    def _wait_until(self, condition, timeout):
        deadline = time.monotonic() + timeout
        while True:
            with self._changed:
                left = deadline - time.monotonic()
                if condition() or left <= 0:
                    return
                if self._turns is None:
                    self._changed.wait(min(left, 0.1))
                    continue
            self._turns.run_while_waiting(min(left, 0.02))

    def _is_settled(self):
        with self._lock:
            return self._scene.settled and not any((
                len(self._audit), len(self._events), self._outbox, self._uploads))

    # Status

    def status(self):
        with self._lock:
            last = next(reversed(self._errors.values())) if self._errors else None
            return LinkStatus(*self._state, last_error=last)

    @property
    def connected(self):
        return self._state[0] == "connected"

    @property
    def limits(self):
        """What the server takes: the members of its welcome, the defaults before it."""
        return dict(self._limits)

    def _set_state(self, state, text, url=None, worker=None):
        with self._changed:
            if worker is None or worker is self._worker:  # else it was stopped and has not ended yet
                self._state = (state, text, url)
                self._changed.notify_all()

    def _fail(self, kind, text):
        """Keeps the newest error of each kind; text None: it is over."""
        with self._lock:
            self._errors.pop(kind, None)
            if text is not None:
                self._errors[kind] = text

    def _scene_failed(self, text):
        self._fail("scene", text)

    # The scene

    def set_scene(self, scene):
        """The state as an object of JSON, or None. The link owns it from now on. Never waits."""
        self._scene.hand_over(True, scene, None)
        self._wake()

    def patch_scene(self, members, objects, whole=False):
        """Changes the scene that was handed over last, or replaces it with a whole one.

        For adapters that know what changed: `members` by name, all but "objects"; `objects` as
        texts of json_text() by the id that each has; None for what is gone. Objects stay in the
        order in which they came. The link owns both from now on. Never waits."""
        self._scene.hand_over(whole, members, objects)
        self._wake()

    @property
    def scene_settled(self):
        """No scene is waiting or unanswered: adapters may collect the next one."""
        return self._scene.settled

    @property
    def need_scene(self):
        """The server has no scene, or the link none to patch, and none is on its way: time for
        set_scene(), or patch_scene() with a whole one."""
        with self._lock:
            return self.connected and self._scene.server_lacks and self._scene.settled

    @property
    def scene_wanted(self):
        """False: no client follows the scene, so that one in 2 s is enough. Needs on_refresh."""
        return self._scene_wanted

    # What the application is doing

    def set_document(self, path=None, name=None, modified=None, saved_from=None):
        """The open document; without arguments: none.

        saved_from: when it was just saved under this path: the path, or the name without one, that
        it had before. Its notes come with it."""
        document = omit_none(
            path=whole_text(path), name=whole_text(name), saved_from=whole_text(saved_from),
            modified=None if modified is None else bool(modified))
        with self._lock:
            before = self._document or {}
            if before.get("saved_from") and before.get("path") == document.get("path"):
                # The server may still have to be told of it.
                document.setdefault("saved_from", before["saved_from"])
            if document != before:
                self._document = document or None
                self._tell_app()

    def set_busy(self, text, silent_seconds=None):
        """What keeps the application from answering ("rendering"), or None.

        silent_seconds: before work that keeps Python's lock, such as a recompute of FreeCAD: the
        server may hear nothing for so long, and keeps the link. Waits until it is told, at most
        50 ms."""
        busy = (one_line(text), silent_seconds and int(silent_seconds * 1000))
        with self._lock:
            self._busy = busy
        self._wake()
        if silent_seconds:
            self._wait_until(lambda: not self.connected or self._busy_told == busy, BUSY_SECONDS)

    def record(self, action, outcome="success", actor=None, params=None, duration_ms=None,
               session_id=None, timestamp=None):
        """One entry of the audit: something was done. The time is now when none is given."""
        members = omit_none(
            action=one_line(action) or "unknown", actor=one_line(actor),
            session_id=one_line(session_id), duration_ms=duration_ms,
            timestamp=rfc3339(time.time() if timestamp is None else timestamp))
        texts = [json_text(members)[1:-1], '"outcome":' + any_json(outcome, MAX_METADATA_BYTES)]
        if params is not None:
            texts.append('"params":' + any_json(params, MAX_PARAMS_BYTES))
        self._add(self._audit, None, texts)

    def open_events(self, session_id, maxlen=None, max_message_bytes=None):
        """Makes the buffer of a session with these bounds; log() alone makes one, too."""
        message = omit_none(type="events.open", session_id=str(session_id), maxlen=maxlen,
                            max_message_bytes=max_message_bytes)
        with self._lock:
            self._buffers[str(session_id)] = message
            self._post(("events", session_id), message, "event buffer")

    def log(self, message, session_id, source, stream="log", level="info", tool_call_id=None,
            job_id=None, correlation_id=None, metadata=None):
        """One event of a session, such as a line that the application printed."""
        texts = [json_text(omit_none(
            source=one_line(source) or "application", stream=one_line(stream) or "log",
            level=level if level in LEVELS else "info", message=str(message)[:MAX_EVENT_CHARS],
            tool_call_id=one_line(tool_call_id), job_id=one_line(job_id),
            correlation_id=one_line(correlation_id)))[1:-1]]
        if metadata is not None:
            texts.append('"metadata":' + any_json(metadata, MAX_METADATA_BYTES))
        self._add(self._events, str(session_id), texts)

    def _add(self, feed, session, texts):
        with self._lock:
            feed.add(session, "{" + ",".join(texts) + "}")
        self._wake()

    # Resources of the application's own

    def register(self, scheme, resources=(), templates=()):
        """Offers resources with URIs of this scheme, in place of those before; on_read is asked for
        their contents. Both are descriptors of MCP."""
        with self._lock:
            self._producers[scheme] = {"type": "producer.register", "scheme": scheme,
                                       "resources": list(resources), "templates": list(templates)}
            self._post(("producer", scheme), self._producers[scheme], scheme)

    def unregister(self, scheme):
        """Withdraws them."""
        def on_answer(answer, error):
            with self._lock:
                if self._producers.get(scheme, ()) is None and (
                        error is None or error.code != "lost"):
                    del self._producers[scheme]

        with self._lock:
            if scheme in self._producers:
                self._producers[scheme] = None  # until the server knows
                self._post(("producer", scheme), {"type": "producer.unregister", "scheme": scheme},
                           on_answer)

    def updated(self, uri):
        """Tells those who subscribed to this URI."""
        self._post(("updated", uri), {"type": "resource.updated", "uri": uri}, "an update")

    # Pictures

    def provide_capture(self, callback, targets=("window",), shots=False):
        """Offers pictures of the application, which readers of capture://current_window get.

        callback(target, max_width, max_bytes) -> the bytes of a PNG file, or a Picture; called
        from pump() with one of the targets ("window", "viewport"). It may raise NoPicture or
        Busy. callback None: withdraws the offer.

        shots True: the scene is also drawn from where a reader says. The callback is then called
        with a fourth argument, None or a dict: {"camera": id}, {"of": [ids], "from": "front"} (or
        "right", "top", "three-quarter"), or {"view": the view of an earlier Picture}."""
        if any(target not in PICTURE_TARGETS for target in targets):
            raise ValueError("targets are window and viewport")
        offer = {"targets": list(targets) if callback is not None else []}
        self._offer_pictures(callback, dict(offer, shots=True) if shots else offer)

    def deny_capture(self):
        """The user of the application wants no picture of it: the server takes none in any way,
        until the next provide_capture()."""
        self._offer_pictures(None, {"targets": [], "denied": True})

    @property
    def pictured_at(self):
        """time.time() of the last picture that a client was given, by whichever way it was taken;
        None before the first."""
        return self._pictured_at

    def _offer_pictures(self, callback, offer):
        with self._lock:
            self._on_capture = callback
            if offer != self._pictures:
                self._pictures = offer
                self._tell_app()

    # Artefacts, notes and checkpoints

    def put_artefact(self, data=None, path=None, mime=None, display_name=None, session_id=None,
                     tool_call_id=None, job_id=None, correlation_id=None, metadata=None,
                     expires_at=None, on_done=None):
        """Sends bytes, or a file as it is when its turn comes; on_done(Job) from pump()."""
        name = display_name or (os.path.basename(path) if path else None)
        message = omit_none(
            type="artefact.put", mime=mime or "application/octet-stream",
            display_name=one_line(name), session_id=one_line(session_id),
            tool_call_id=one_line(tool_call_id), job_id=one_line(job_id),
            correlation_id=one_line(correlation_id), expires_at=rfc3339(expires_at),
            metadata=metadata and json.loads(any_json(metadata, MAX_METADATA_BYTES)))
        job = Job(message, on_done, None if data is None else bytes(data), path)
        with self._lock:
            if (data is None) == (path is None):
                self._finish(job, "give either data or path")
            elif len(self._uploads) >= MAX_UPLOADS:
                self._finish(job, "%d artefacts are waiting already" % MAX_UPLOADS)
            else:
                self._uploads.append(job)
        self._wake()
        return job

    def add_note(self, text, author=None, targets=(), position=None, view=None, frame=None,
                 on_done=None):
        """Makes a note. `targets`: ids, or dicts with "id" and "name"; `position`: three numbers;
        `view`: a dict that comes back in a shot. on_done(Job) is called from pump()."""
        note = omit_none(text=text, author=author, targets=list(targets), view=view, frame=frame,
                         position=None if position is None else [float(each) for each in position])
        return self._post_job({"type": "note.add", "note": note}, on_done)

    def act_on_note(self, note, action, text=None, by=None, on_done=None):
        """`action`: answer, accept, reopen or close; `note`: an id. on_done as in add_note."""
        message = omit_none(type="note.act", note=note, action=action, text=text, by=by)
        return self._post_job(message, on_done)

    def add_checkpoint(self, name, by=None, on_done=None):
        """Keeps the scene under a name, on the server's disk. on_done as in add_note."""
        return self._post_job(omit_none(type="checkpoint.add", name=name, by=by), on_done)

    @property
    def notes(self):
        """(notes, folder of their pictures): another tuple after each change. ([], None) while the
        link is down and before the server has told of any. Only with shows_notes."""
        return self._notes

    @property
    def clients(self):
        """The clients of the server, most recently seen first: dicts with "name", "version" and
        "last_seen_at", and of those that read "last_read", {"at", "uri"}, or "last_call", {"at",
        "tool"}. Another list after each change; empty while the link is down. Only with shows_notes."""
        return self._clients

    def _post_job(self, message, on_done):
        job = Job(message, on_done)

        def on_answer(answer, error):
            text = error and error.text
            if error is not None and error.code == "lost":
                text += ": see whether the server has it"
            self._finish(job, text, answer)

        self._post(job, message, on_answer)
        return job

    def _finish(self, job, error, answer={}):
        with self._changed:
            if job in self._uploads:
                self._uploads.remove(job)
            job.error, job._data = error, None
            for name in ("uri", "sha256", "note"):
                setattr(job, name, answer.get(name))
            job.done = True
            if job._on_done is not None:
                self._finished.append(job)

    # The link thread

    def _wake(self):
        worker = self._worker
        if worker is not None:
            worker.wake()

    def _post(self, key, message, on_answer):
        """Sends a message, in place of an unsent one of this key. Without a connection only what is
        asked for in person waits: the rest is told anew on each."""
        def on_refused(answer, error):
            if error is not None and error.code != "lost":
                self._fail(on_answer, "the server refused %s: %s" % (on_answer, error.text))

        with self._lock:
            if self.connected or isinstance(key, Job):
                self._outbox[key] = (message, on_answer if callable(on_answer) else on_refused)
        self._wake()

    def _tell_app(self):
        self._post("app", {"type": "app.update", "document": self._document,
                           "capture": self._pictures}, "the document")

    def _search(self, own_server):
        """(candidates, reasons, whether to give up)"""
        url, token = self._given
        reasons = []
        if url or token:
            try:
                if not url or not token:
                    raise ValueError("a host URL and a host token must be given together")
                return [Candidate(parse_url(url), check_token(token))], [], False
            except ValueError as error:
                return [], [str(error)], True
        found = find_candidates(
            self._app["dcc_type"], self._registry_dir, self._env, reasons, own_server)
        return found, reasons, False

    def _connected(self, state, limits, needs_scene):
        """The server remembers nothing of these across connections."""
        with self._lock:
            self._set_state(*state)
            self._limits, self._scene_wanted = dict(limits), True
            self._scene.connected(needs_scene)
            self._fail("link", None)
            if self._told_app != (self._document, self._pictures):
                self._tell_app()
            for session_id, message in self._buffers.items():
                self._post(("events", session_id), message, "event buffer")
            for scheme, message in self._producers.items():
                if message is None:
                    self.unregister(scheme)
                else:
                    self._post(("producer", scheme), message, scheme)

    def _disconnected(self):
        with self._changed:
            for key in [each for each in self._outbox if not isinstance(each, Job)]:
                del self._outbox[key]
            self._notes = ([], None)  # they may change unseen
            self._clients = []
            self._changed.notify_all()

    # The main thread

    def pump(self, budget_seconds=0.02):
        """Answers what the server asked, and calls on_done. MAIN THREAD only.

        Begins nothing new after the budget; returns how many things were done. To be called a
        few times a second: it also shows that the main thread is alive."""
        if self._turns is not None:
            self._turns.grant()  # what arrived is waiting
        started = time.monotonic()
        was_away = started - self._main_seen > AWAY_SECONDS
        self._main_seen, self._pumps = started, True
        if self._pumping:  # called from one of the callbacks
            return 0
        self._pumping, done, later = True, 0, []
        try:
            while done == 0 or time.monotonic() - started < budget_seconds:
                with self._lock:
                    job = self._finished.popleft() if self._finished else None
                    question = self._questions.popleft() if job is None and self._questions else None
                if job is not None:
                    self._call(job)
                elif question is not None:
                    answer = self._answer(question)
                    if answer is None:
                        later.append(question)
                    else:
                        with self._lock:
                            self._answers.append((question,) + answer)
                else:
                    break
                done += 1
        finally:
            with self._lock:
                self._questions.extend(later)
            self._pumping = False
            self._main_seen = time.monotonic()
            if done or was_away:
                self._wake()
        return done

    def _call(self, job):
        try:
            job._on_done(job)
        except Exception as error:
            self._fail("callback", "on_done failed: %s" % type(error).__name__)

    def _answer(self, question):
        """(code of the error or None, value or text of the error); None: not yet."""
        kind, message = question.kind, question.message
        try:
            if kind == "read":
                return None, self._on_read(message["uri"])
            if kind == "refresh":
                return (None, True) if self._on_refresh() else None
            callback, shot = self._on_capture, message.get("shot")
            if callback is None or message["target"] not in self._pictures["targets"]:
                return "unsupported", "there is no such picture"  # any more
            arguments = (message["target"], message["max_width"], message["max_bytes"])
            return None, callback(*(arguments + ((shot,) if self._pictures.get("shots") else ())))
        except ReadError as error:
            return error.code, str(error)[:500] or error.code
        except Exception as error:
            # Only its type: the message may hold private data.
            name = "the capture callback" if kind == "capture" else "on_" + kind
            text = "%s failed: %s" % (name, type(error).__name__)
            self._fail("read", text)
            return "internal", text

    def _next_answer(self):
        """(question, code, value): of a refresh when the server has taken the scene."""
        with self._lock:
            for found in self._answers:
                question, code, _ = found
                if question.kind != "refresh" or code is not None or self._scene.settled:
                    self._answers.remove(found)
                    if question.kind == "refresh" and code is None and self._scene.is_unsent:
                        return question, "internal", "the server lacks the newest scene"
                    return found
        return None, None, None
