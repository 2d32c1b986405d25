"""What was done: operators that were run, and events of the file, as audit records."""

import bpy

from . import finite

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
            self._record(action_name(operator.bl_idname), properties_of(operator))


def properties_of(operator):
    """Those that were set, redacted and bounded."""
    properties = operator.properties
    names = [
        each.identifier
        for each in properties.bl_rna.properties
        if each.identifier != "rna_type" and properties.is_property_set(each.identifier)
    ]
    return finite.Cleaner().value({name: getattr(properties, name) for name in names[:MAX_PROPERTIES]})


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
