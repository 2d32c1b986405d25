"""HostLink: status, errors and finished uploads."""

import collections
import time

LinkStatus = collections.namedtuple("LinkStatus", "state text url last_error since")
LinkStatus.__doc__ = """What the link is doing.

state: off, searching, connecting, connected, waiting (tries again) or refused (does not);
text: a sentence for people; since: time.time() of the last change of state."""


class LinkState(object):
    """What the link thread and the application's threads both change, under the lock."""

    def status(self):
        with self._lock:
            state, text, url, since = self._state
            last = next(reversed(self._errors.values())) if self._errors else None
            return LinkStatus(state, text, url, last, since)

    @property
    def connected(self):
        return self._state[0] == "connected"

    @property
    def limits(self):
        """What the server takes: the members of its welcome, the defaults before it."""
        with self._lock:
            return dict(self._limits)

    @property
    def server(self):
        """{"name", "version"} of the server linked to; empty before."""
        with self._lock:
            return dict(self._server)

    @property
    def need_scene(self):
        """The server has no scene, or the link none to patch, and none is on its way: time for
        set_scene(), or patch_scene() with a whole one."""
        with self._lock:
            return self.connected and self._server_needs_scene and self.scene_settled

    @property
    def scene_wanted(self):
        """False: no client follows the scene, so that few are enough. Needs on_refresh."""
        with self._lock:
            return self._scene_wanted

    def _wake(self):
        worker = self._worker
        if worker is not None:
            worker.wake()

    def _set_state(self, state, text, url=None, worker=None):
        with self._changed:
            if worker is not None and worker is not self._worker:
                return  # of a thread that was stopped and has not ended yet
            if (state, text, url) != self._state[:3]:
                since = self._state[3] if state == self._state[0] else time.time()
                self._state = (state, text, url, since)
                self._status_news = True
            self._changed.notify_all()

    def _fail(self, kind, text):
        """Keeps the newest error of each kind, so that one that is over can be taken back."""
        with self._lock:
            self._errors.pop(kind, None)
            self._errors[kind] = text
            self._status_news = True

    def _recovered(self, kind):
        with self._lock:
            if self._errors.pop(kind, None) is not None:
                self._status_news = True

    def _finish(self, upload, error=None, uri=None, sha256=None):
        if upload.done:
            return
        upload.error, upload.uri, upload.sha256, upload._data = error, uri, sha256, None
        upload._finished.set()
        if upload._on_done is not None:
            self._finished.append(upload)
