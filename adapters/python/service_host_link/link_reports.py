"""HostLink: what the application tells."""

import time

from .json_text import compact_json, record_json
from .limits import LEVELS, MAX_BUFFERS, MAX_EVENT_CHARS, MAX_ITEM_BYTES, MAX_METADATA_BYTES
from .texts import omit_none, one_line, rfc3339, whole_text


class LinkReports(object):
    """Scene, document, audit records and events."""

    def set_scene(self, scene):
        """The state as an object of JSON, or None. The link owns it from now on. Never waits."""
        with self._lock:
            self._scene_news = [(True, scene, None)]
        self._wake()

    def patch_scene(self, members, objects, whole=False):
        """Changes the scene that was handed over last, or replaces it with a whole one.

        For adapters that know what changed: `members` by name, all but "objects"; `objects` as JSON
        texts (ASCII) by the id that each has; None for what is gone. Objects stay in the order in
        which they came. The link owns both from now on. Never waits."""
        with self._lock:
            news = self._scene_news
            if whole:
                self._scene_news = [(True, members, objects)]
            elif news and news[-1][0] is False:
                news[-1][1].update(members)
                news[-1][2].update(objects)
            else:
                news.append((False, members, objects))
        self._wake()

    @property
    def scene_settled(self):
        """No scene is waiting or unanswered: adapters may collect the next one."""
        with self._lock:
            return not self._scene_news and not self._scene_work and (
                self._scene_text is None or self._scene_taken_by is not None)

    def set_document(self, path=None, name=None, modified=None, saved_from=None):
        """The open document; without arguments: none.

        saved_from: when it was just saved under this path: the path, or the name without one, that it
        had before. Its notes come with it."""
        document = omit_none(
            path=whole_text(path), name=whole_text(name),
            modified=None if modified is None else bool(modified),
            saved_from=whole_text(saved_from))
        with self._lock:
            before = self._document or {}
            if before.get("saved_from") and before.get("path") == document.get("path"):
                # The server may still have to be told of it.
                document.setdefault("saved_from", before["saved_from"])
            if document != before:
                self._document = document or None
                self._app_news = True
        self._wake()

    def set_mode(self, mode):
        check_mode(mode)
        with self._lock:
            if mode != self._mode:
                self._mode = mode
                self._app_news = True
        self._wake()

    def set_busy(self, text):
        """What keeps the application from answering ("rendering"), or None."""
        with self._lock:
            self._busy = one_line(text)
        self._wake()

    def record(self, action, outcome="success", actor=None, params=None, duration_ms=None,
               session_id=None, timestamp=None):
        """One entry of the audit: something was done. The time is now when none is given."""
        parts = [
            compact_json(omit_none(
                action=one_line(action) or "unknown", actor=one_line(actor),
                session_id=one_line(session_id),
                duration_ms=_duration(duration_ms),
                timestamp=rfc3339(time.time() if timestamp is None else timestamp)))[1:-1],
            '"outcome":' + record_json(outcome),
        ]
        if params is not None:
            text = record_json(params)
            if len(text) > MAX_ITEM_BYTES:
                text = compact_json({"omitted_bytes": len(text)})
            parts.append('"params":' + text)
        with self._lock:
            self._audit.add("entry", None, "{" + ",".join(parts) + "}")
        self._wake()

    def open_events(self, session_id, maxlen=None, max_message_bytes=None):
        """Makes the buffer of a session with these bounds; log() alone makes one, too."""
        session_id = str(session_id)
        text = compact_json(omit_none(maxlen=maxlen, max_message_bytes=max_message_bytes))
        with self._lock:
            if session_id not in self._buffers and len(self._buffers) >= MAX_BUFFERS:
                self._fail("events", "more than %d event buffers are open" % MAX_BUFFERS)
                return
            self._buffers[session_id] = text
            self._events.add("open", session_id, text)
        self._wake()

    def log(self, message, session_id, source, stream="log", level="info", tool_call_id=None,
            job_id=None, correlation_id=None, metadata=None):
        """One event of a session, such as a line that the application printed."""
        parts = [compact_json(omit_none(
            source=one_line(source) or "application", stream=one_line(stream) or "log",
            level=level if level in LEVELS else "info",
            message=str(message)[:MAX_EVENT_CHARS], tool_call_id=one_line(tool_call_id),
            job_id=one_line(job_id), correlation_id=one_line(correlation_id)))[1:-1]]
        if metadata is not None:
            text = record_json(metadata)
            if len(text) > MAX_METADATA_BYTES:
                text = compact_json({"omitted_bytes": len(text)})
            parts.append('"metadata":' + text)
        with self._lock:
            self._events.add("entry", str(session_id), "{" + ",".join(parts) + "}")
        self._wake()

    def close_events(self, session_id):
        """No more will come; what is there can still be read."""
        with self._lock:
            self._events.add("close", str(session_id), "")
        self._wake()


def check_mode(mode):
    if mode not in ("gui", "background"):
        raise ValueError("mode must be gui or background")


def _duration(value):
    good = isinstance(value, (int, float)) and 0 <= value < float("inf")
    return value if good else None
