"""HostLink."""

import atexit
import collections
import os
import threading
import time
import uuid

from .requests import Job, Outbox, answer_of
from .scene import Feed, Scene
from .session import AWAY_SECONDS, DEFAULT_LIMITS
from .texts import (
    CLEARED, NOT_TOLD, OFF, LinkStatus, clean_text, json_text, omit_none, one_line, plain_json,
    rfc3339,
)
from .thread import Worker

MAX_UPLOADS = 32  # waiting
MAX_PARAMS_BYTES = 256 * 1024
MAX_METADATA_BYTES = 4096
MAX_EVENT_CHARS = 65536  # the server keeps no longer message
BUSY_SECONDS = 0.5  # that set_busy() waits for the server
LEVELS = ("trace", "debug", "info", "warning", "warn", "error")


class HostLink(object):
    """The link of one application. All but pump() may be called from any thread."""

    def __init__(self, dcc_type, app_version=None, mode="gui", display_name=None, url=None,
                 token=None, registry_dir=None, on_read=None, on_refresh=None, env=os.environ,
                 turns=None, shows_notes=False):
        """url and token given: only those. Else the environment, else the instance records.

        on_read(uri) -> contents of MCP: a list of {"uri", "mimeType", "text"}, or "blob" in base64
        in place of the text. It may raise NotFound or Busy.
        on_refresh() hands over the newest scene, because a reader waits for it: True when that is
        done, False to be asked again by the next pump(). With it `scene_wanted` tells whether a
        client follows the scene. Both are called from pump().
        shows_notes: the server tells of the notes of the open document and of its clients.
        turns: a Turns, for an application in which no other thread may run Python now and then."""
        self._app = omit_none(dcc_type=dcc_type, mode=mode, version=one_line(app_version),
                              display_name=one_line(display_name), pid=os.getpid())
        self._instance_id = uuid.uuid4().hex
        self._given, self._registry_dir, self._env = (url, token), registry_dir, env
        self._turns, self._shows_notes = turns, shows_notes
        self._on_read, self._on_refresh, self._on_capture = on_read, on_refresh, None

        # What the server tells: notes and clients only with shows_notes. Each change is another object.
        self.limits = DEFAULT_LIMITS  # members of its welcome
        self.scene_wanted = True  # False: no client follows the scene, so that one in 2 s is enough
        self.pictured_at = None  # time.time() of the last picture that a client was given
        self.notes = ([], None)  # of the open document, and the folder of their pictures
        self.clients = []  # newest first; their "last_read" is {"at", "uri"}, "last_call" {"at", "tool"}

        # Everything below is guarded by the lock, which is held only for moments: no
        # serialising, no I/O and no foreign code inside.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._worker = None
        self._state = ("off", OFF, None)
        self._errors = collections.OrderedDict()
        self._document = None
        self._pictures = {"targets": []}
        self._busy = self._busy_told = (None, None)  # text, silent_ms
        self._scene = Scene(self._lock, lambda text: self._fail("scene", text))
        self._audit = Feed("audit.record", "records")
        self._events = Feed("events.append", "events")
        self._outbox = Outbox(self._fail)
        self._questions = []  # of the server, until their answers are sent
        self._main_seen = time.monotonic()
        self._pumps = self._pumping = False

    def start(self):
        """Begins to look for the server and to stay linked to it. A second call does nothing."""
        with self._lock:
            if self._worker is not None and self._state[0] != "refused":
                return
            self._main_seen = time.monotonic()
            self._set_state("searching", "Looking for the server.")
            self._worker = Worker(self)
            self._worker.start()
        atexit.register(self.stop, "quit", 0.5)

    def stop(self, reason="quit", timeout=1.0, clear=False):
        """Sends what is waiting, says bye and ends the thread, all within the timeout.

        clear: for a user who disconnects: the server removes the scene, schemes and event buffers of
        this application. Without a connection one more is tried for that within the timeout; when
        the server cannot be told, the status says so."""
        with self._lock:
            worker, self._worker = self._worker, None
            was_shared = self._scene.is_shared
            if clear:
                self._scene.forget()
        atexit.unregister(self.stop)
        if worker is not None:
            worker.stop(one_line(reason) or "quit", timeout, clear)
        with self._lock:
            text = OFF
            if clear and was_shared:
                text = CLEARED if worker is not None and worker.told else NOT_TOLD
                self._scene.is_shared = False
            self._set_state("off", text)
            self._disconnected()
            self._outbox.give_up("the link was stopped")

    def flush(self, timeout=5.0):
        """Waits until the server has answered all that was handed over; False when it has not, or
        has refused the scene. Job.error and last_error tell what else it refused.

        For scripts: an application that people work in has nothing to wait for. A note may need a
        picture, and so a pump() meanwhile."""
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
            return self._scene.settled and not any(
                len(each) for each in (self._audit, self._events, self._outbox))

    def status(self):
        with self._lock:
            last = next(reversed(self._errors.values())) if self._errors else None
            return LinkStatus(*self._state, last_error=last)

    @property
    def connected(self):
        return self._state[0] == "connected"

    def _set_state(self, state, text, url=None):
        with self._changed:
            self._state = (state, text, url)
            self._changed.notify_all()

    def _fail(self, kind, text):
        """Keeps the newest error of each kind; text None: it is over."""
        with self._lock:
            self._errors.pop(kind, None)
            if text is not None:
                self._errors[kind] = text

    # The scene

    def set_scene(self, scene):
        """The state as an object of JSON, or None. The link owns it from now on. Never waits."""
        self._scene.hand_over(True, scene, None)
        self._wake()

    def patch_scene(self, members, objects, whole=False):
        """Changes the scene that was handed over last, or replaces it with a whole one.

        For adapters that know what changed: `members` by name, all but "objects"; `objects` as
        texts of json_text() by the id that each has; None for what is gone. Objects stay in the
        order in which they came. The link owns both from now on. Never waits. Raises ValueError
        when the scene came by set_scene()."""
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

    # What the application is doing

    def set_document(self, path=None, name=None, modified=None, saved_from=None):
        """The open document; without arguments: none.

        saved_from: when it was just saved under this path: the path, or the name without one, that
        it had before. Its notes come with it."""
        document = omit_none(
            path=path and clean_text(path), name=name and clean_text(name),
            saved_from=saved_from and clean_text(saved_from),
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

        silent_seconds, at most 600: before work in which no thread of Python may run for so long,
        such as a recompute of FreeCAD. Waits until the server knows, at most half a second."""
        silent_ms = int(min(silent_seconds or 0, 600) * 1000) or None
        self._busy = busy = (one_line(text), silent_ms)
        self._wake()
        if silent_ms:
            self._wait_until(lambda: not self.connected or self._busy_told == busy, BUSY_SECONDS)

    def record(self, action, outcome="success", actor=None, params=None, duration_ms=None,
               session_id=None, timestamp=None):
        """One entry of the audit: something was done, now or at `timestamp`, seconds since the epoch."""
        self._add(self._audit, None, omit_none(
            action=one_line(action) or "unknown", actor=one_line(actor),
            outcome=plain_json(outcome, MAX_METADATA_BYTES),
            params=plain_json(params, MAX_PARAMS_BYTES), session_id=one_line(session_id),
            duration_ms=duration_ms, timestamp=rfc3339(time.time() if timestamp is None else timestamp)))

    def open_events(self, session_id, maxlen=None, max_message_bytes=None):
        """Makes the buffer of a session with these bounds; log() alone makes one, too."""
        message = omit_none(type="events.open", session_id=str(session_id), maxlen=maxlen,
                            max_message_bytes=max_message_bytes)
        self._post(("events", session_id), message, True)

    def log(self, message, session_id, source, stream="log", level="info", tool_call_id=None,
            job_id=None, correlation_id=None, metadata=None):
        """One event of a session, such as a line that the application printed."""
        self._add(self._events, str(session_id), omit_none(
            source=one_line(source) or "application", stream=one_line(stream) or "log",
            level=level if level in LEVELS else "info", message=str(message)[:MAX_EVENT_CHARS],
            tool_call_id=one_line(tool_call_id), job_id=one_line(job_id),
            correlation_id=one_line(correlation_id),
            metadata=plain_json(metadata, MAX_METADATA_BYTES)))

    def _add(self, feed, session, members):
        text = json_text(members)
        with self._lock:
            feed.add(session, text)
        self._wake()

    # Resources of the application's own

    def register(self, scheme, resources=(), templates=()):
        """Offers resources with URIs of this scheme, in place of those before; on_read is asked for
        their contents. Both are descriptors of MCP."""
        self._post(("producer", scheme), {
            "type": "producer.register", "scheme": scheme, "resources": list(resources),
            "templates": list(templates)}, True)

    def updated(self, uri):
        """Tells those who subscribed to this URI."""
        self._post(("updated", uri), {"type": "resource.updated", "uri": uri})

    # Pictures

    def provide_capture(self, callback, targets=("window",), shots=False):
        """Offers pictures of the application, which readers of capture://current_window get.

        callback(target, max_width, max_bytes) -> the bytes of a PNG file, or a Picture; called
        from pump() with one of the targets ("window", "viewport"). It may raise NoPicture or
        Busy. callback None: withdraws the offer.

        shots True: the scene is also drawn from where a reader says. The callback is then called
        with a fourth argument, None or a dict: {"camera": id}, {"of": [ids], "from": "front"} (or
        "right", "top", "three-quarter"), or {"view": the view of an earlier Picture}."""
        offer = {"targets": list(targets) if callback is not None else []}
        self._offer_pictures(callback, dict(offer, shots=True) if shots else offer)

    def deny_capture(self):
        """The user of the application wants no picture of it: the server takes none in any way,
        until the next provide_capture()."""
        self._offer_pictures(None, {"targets": [], "denied": True})

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
        """Sends bytes, or a file as it is when its turn comes; on_done(Job) from pump().

        expires_at: seconds since the epoch."""
        name = display_name or (os.path.basename(path) if path else None)
        message = omit_none(
            type="artefact.put", mime=mime or "application/octet-stream",
            display_name=one_line(name), session_id=one_line(session_id),
            tool_call_id=one_line(tool_call_id), job_id=one_line(job_id),
            correlation_id=one_line(correlation_id), metadata=plain_json(metadata, MAX_METADATA_BYTES),
            expires_at=None if expires_at is None else rfc3339(expires_at))
        job = Job(message, on_done, None if data is None else bytes(data), path)
        with self._lock:
            if (data is None) == (path is None):
                self._finish(job, "give either data or path")
            elif len(self._outbox.uploads) >= MAX_UPLOADS:
                self._finish(job, "%d artefacts are waiting already" % MAX_UPLOADS)
            else:
                self._outbox.uploads.append(job)
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

    def _post_job(self, message, on_done):
        job = Job(message, on_done)
        with self._lock:
            self._outbox.add_job(job)
        self._wake()
        return job

    def _finish(self, job, error, answer={}):
        with self._changed:
            self._outbox.finish(job, error, answer)
            self._changed.notify_all()

    # The link thread

    def _wake(self):
        worker = self._worker
        if worker is not None:
            worker.wake()

    def _post(self, key, message, is_kept=False):
        with self._lock:
            self._outbox.post(key, message, is_kept)
        self._wake()

    def _tell_app(self):
        self._post("app", {"type": "app.update", "document": self._document,
                           "capture": self._pictures})

    def _disconnected(self):
        with self._changed:
            self._outbox.close()
            self._questions = []
            self.notes, self.clients = ([], None), []  # they may change unseen
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
        self._pumping, done = True, 0
        try:
            finished, asked = self._outbox.finished, list(self._questions)
            while (finished or asked) and (not done or time.monotonic() - started < budget_seconds):
                if finished:
                    self._call_on_done(finished.popleft())
                    done += 1
                    continue
                question = asked.pop(0)
                # Not where it was cancelled, or came over an earlier connection.
                if question.answer is None and question in self._questions:
                    question.answer = answer_of(self, question)
                    done += 1
        finally:
            self._pumping = False
            self._main_seen = time.monotonic()
            if done or was_away:
                self._wake()
        return done

    def _call_on_done(self, job):
        try:
            job.on_done(job)
        except Exception as error:
            self._fail("callback", "on_done failed: %s" % type(error).__name__)
