"""Operators: those that were run, as audit records, and those that scripts call."""

import sys

import bpy

from .service_host_link import Turns
from .values import Cleaner, attributes

MAX_PROPERTIES = 32


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
