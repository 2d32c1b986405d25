"""Session: the greeting and heartbeats."""

from .connection_end import ConnectionLost
from .limits import AWAY_SECONDS
from .messages import bounded_number
from .texts import omit_none, one_line


class SessionGreeting(object):
    """Introduces the application, takes the server's limits and tells when it is busy."""

    def _hello(self):
        link = self.link
        with link._lock:
            link._app_news = False
            app = dict(link._app, mode=link._mode)
            message = {"type": "hello", "protocol": [1], "client": link._client, "app": app,
                       "instance_id": link._instance_id}
            if link._document is not None:
                message["document"] = link._document
            if link._pictures != {"targets": []}:
                message["capture"] = link._pictures
            if link._on_refresh is not None:
                message["scene_refresh"] = True
            if link._shows_notes:
                message["notes"] = True
            link._scene_wanted = True
        self._send_message(message)

    def _welcome(self, message):
        if message.get("protocol") != 1:
            raise ConnectionLost("the server speaks no common version of the protocol", final=True)
        given = message.get("limits")
        given = given if isinstance(given, dict) else {}
        limits = self.limits
        for name, least, most in (
                ("max_message_bytes", 1024, 2 ** 31), ("max_batch", 1, 1000),
                ("max_in_flight", 1, 64), ("max_scene_objects", 1, 10 ** 9),
                ("max_patched_objects", 1, 10 ** 9),
                ("scene_min_interval_ms", 0, 60000), ("max_artefact_bytes", 0, 2 ** 53)):
            limits[name] = int(bounded_number(given, name, least, most, limits[name]))
        if "max_artefact_bytes" in given and given["max_artefact_bytes"] is None:
            limits["max_artefact_bytes"] = None
        self.heartbeat = bounded_number(message, "heartbeat_ms", 50, 60000, 5000) / 1000.0
        self.scene_interval = limits["scene_min_interval_ms"] / 1000.0
        self.patches = message.get("scene_patch") is True
        self.welcomed = True
        server = message.get("server")
        server = server if isinstance(server, dict) else {}
        link, url = self.link, self.candidate.address.url
        with link._lock:
            link._limits = dict(limits)
            link._server = {
                name: one_line(server[name]) or "" for name in ("name", "version")
                if isinstance(server.get(name), str)}
            need = message.get("need_scene") is True
            has_whole = link._scene_text is not None or any(
                is_whole for is_whole, _, _ in link._scene_news)
            link._server_needs_scene = need or not has_whole  # a patch needs a scene to change
            if need or link._scene_taken_by != self.candidate.key:
                link._scene_taken_by = None
            # Nothing of this is remembered across connections.
            self.opens = list(link._buffers.items())
            for scheme in link._producers:
                link._producer_news[scheme] = "register"
            link._errors.pop("link", None)
        title = " ".join(link._server.get(name, "") for name in ("name", "version")).strip()
        self.worker.say("connected", "Connected to %s at %s." % (title or "the server", url), url)

    def _state_of_main(self, now):
        """(milliseconds since the main thread was here, what is told of it). Call with the lock."""
        link = self.link
        if not (link._on_read or link._on_list or link._on_capture or link._pumps):
            idle = 0.0  # no request waits for the main thread
        else:
            idle = max(0.0, now - link._main_seen)
        return int(idle * 1000), (idle > AWAY_SECONDS, link._busy)

    def _heartbeat_due(self, now):
        """Before its time when readers would otherwise be told the wrong reason for waiting."""
        with self.link._lock:
            news = self._state_of_main(now)[1] != self.told
        return self.last_heartbeat + (0.1 if news else self.heartbeat)

    def _send_heartbeat(self, now):
        if now < self._heartbeat_due(now):
            return
        link = self.link
        with link._lock:
            idle, self.told = self._state_of_main(now)
            message = omit_none(
                type="heartbeat", main_idle_ms=idle, queue_depth=len(link._questions),
                dropped={"audit": link._audit.dropped, "events": link._events.dropped},
                busy=link._busy)
        self.last_heartbeat = now
        self._send_message(message)
