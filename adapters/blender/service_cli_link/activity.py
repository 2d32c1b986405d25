"""What is done in Blender, as audit records, and what Python prints, as events."""

import os
import sys
import threading

import bpy

from .service_host_link import Turns
from .values import Cleaner, attributes

MAX_PROPERTIES = 32
MAX_LINE = 4000  # characters
KEPT_LINES = 2000


class OperatorWatch:
    """Looks at the window manager's list of operators; there is none in background mode."""

    def __init__(self, record):
        self._record = record
        self._seen = None

    def start_over(self):
        self._seen = None

    def look(self):
        operators = bpy.context.window_manager.operators
        # Addresses, not the operators: those are gone when the list is cut or a file is opened.
        now = [(each.as_pointer(), each.bl_idname) for each in operators]
        before, self._seen = self._seen, now
        if before is None or before == now:
            return
        count = len(new_entries(before, now))
        for operator in operators[len(now) - count :]:
            properties = operator.properties
            names = [each.identifier for each in properties.bl_rna.properties
                     if each.identifier != "rna_type" and properties.is_property_set(each.identifier)]
            cleaner = Cleaner()
            told = attributes(properties, names[:MAX_PROPERTIES], cleaner)
            self._record(action_name(operator.bl_idname), cleaner.members(told))


def new_entries(before, now):
    """What is new in Blender's list of operators that were run, which is cut at its head: what was
    appended since it was `before`. Both hold comparable keys."""
    if before[: len(now)] == now:
        return []  # some were taken back, or nothing happened
    for cut in range(len(before) + 1):
        kept = len(before) - cut
        if kept <= len(now) and before[cut:] == now[:kept]:
            return now[kept:]
    return now


def action_name(idname):
    """OBJECT_OT_delete, as Python calls it: object.delete."""
    head, found, tail = idname.partition("_OT_")
    return head.lower() + "." + tail if found else idname


class OperatorTurns(Turns):
    """Keeps the link's thread still while an operator runs for a script, from `install` to `remove`.

    Such an operator runs without Python's lock. When the script gave it another context
    (`temp_override`), Blender up to 4.0 looks into that context through Python all the same, without
    taking the lock, as long as some other thread holds it: it crashes. Operators that a person runs
    have no such context.
    """

    _original = None
    _wrapper = None

    def install(self):
        original = getattr(sys.modules["bpy.ops"], "_op_call", None)
        if original is None:
            return  # a Blender that calls operators in another way

        def call(*arguments):
            with self:
                return original(*arguments)

        self._original, self._wrapper = original, call
        sys.modules["bpy.ops"]._op_call = call

    def remove(self):
        module = sys.modules["bpy.ops"]
        # Another one's wrapper may stand around ours: then ours stays, and does no harm.
        if self._wrapper is not None and module._op_call is self._wrapper:
            module._op_call = self._original
        self._wrapper = None


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

    def __getattr__(self, name):
        if self._original is None:
            if name == "flush":
                return lambda: None
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


class SharedConsole:
    """Sends what Python prints to the server, as the events of `session_id`."""

    def __init__(self, link):
        self.session_id = "blender-console-%d" % os.getpid()
        self._link = link
        self._tees = {}

    def share(self, is_shared):
        if is_shared and not self._tees:
            self._link.open_events(self.session_id, maxlen=KEPT_LINES)
            for name in ("stdout", "stderr"):
                self._tees[name] = Tee(getattr(sys, name), name, self._say)
                setattr(sys, name, self._tees[name])
        elif not is_shared:
            for name, tee in self._tees.items():
                tee._tell = None  # who kept this object goes on printing
                # Another program may have replaced the stream meanwhile: theirs stays.
                if getattr(sys, name) is tee:
                    setattr(sys, name, tee._original)
            self._tees = {}

    def _say(self, stream, line):
        level = "warning" if stream == "stderr" else "info"
        self._link.log(line, self.session_id, source="blender", stream=stream, level=level)
