"""Copies what Python prints into the link, line by line, without ever getting in its way."""

import os
import sys
import threading

MAX_LINE = 4000  # characters
KEPT_LINES = 2000


class Tee:
    """Stands in for sys.stdout or sys.stderr: everything goes to the original first."""

    def __init__(self, original, stream, tell):
        self._original = original
        self._stream = stream
        self._tell = tell
        self._lock = threading.Lock()
        self._inside = threading.local()
        self._line = ""

    def write(self, text):
        written = self._original.write(text) if self._original is not None else len(text)
        if self._tell is not None and isinstance(text, str):
            self._take(text)
        return written

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def close_copy(self):
        """Only the original from now on; who kept this object goes on printing."""
        self._tell = None

    def __getattr__(self, name):
        if self._original is None:
            if name == "flush":
                return _nothing
            raise AttributeError(name)
        return getattr(self._original, name)

    def __iter__(self):
        return iter(self._original)

    def _take(self, text):
        # Telling may itself print (a warning of the link): that one is printed and not told.
        if getattr(self._inside, "now", False):
            return
        self._inside.now = True
        try:
            for line in self._complete_lines(text):
                self._tell(self._stream, line)
        except Exception:
            pass  # a script's print must never fail because of us
        finally:
            self._inside.now = False

    def _complete_lines(self, text):
        with self._lock:
            lines = (self._line + text).split("\n")
            self._line = lines.pop()
            if len(self._line) > MAX_LINE:
                lines.append(self._line)
                self._line = ""
        return [line[:MAX_LINE] for line in lines if line.strip()]


def _nothing():
    return None


class ConsoleTee:
    """Both streams; `tell(stream, line)` may be called from any thread."""

    def __init__(self, tell):
        self._tell = tell
        self._tees = {}

    def install(self):
        for name in ("stdout", "stderr"):
            tee = Tee(getattr(sys, name), name, self._tell)
            self._tees[name] = tee
            setattr(sys, name, tee)

    def remove(self):
        for name, tee in self._tees.items():
            tee.close_copy()
            # Another program may have replaced the stream meanwhile: theirs stays, ours is silent.
            if getattr(sys, name) is tee:
                setattr(sys, name, tee._original)
        self._tees = {}


class SharedConsole:
    """Sends what Python prints to the server, as the events of `session_id`."""

    def __init__(self, link):
        self.session_id = "blender-console-%d" % os.getpid()
        self._link = link
        self._tee = None

    def share(self, is_shared):
        if is_shared and self._tee is None:
            self._link.open_events(self.session_id, maxlen=KEPT_LINES)
            self._tee = ConsoleTee(self._say)
            self._tee.install()
        elif not is_shared and self._tee is not None:
            self._tee.remove()
            self._tee = None

    def _say(self, stream, line):
        level = "warning" if stream == "stderr" else "info"
        self._link.log(line, self.session_id, source="blender", stream=stream, level=level)
