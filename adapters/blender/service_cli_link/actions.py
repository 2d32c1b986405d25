"""What was done: operators that were run, and events of the file, as audit records."""

import bpy

from . import finite, operator_log
from .sensitive import is_sensitive_name

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
        count = len(operator_log.new_entries(before, now))
        for operator in operators[len(now) - count :]:
            self._record(operator_log.action_name(operator.bl_idname), properties_of(operator))


def properties_of(operator):
    """Those that were set, redacted and bounded."""
    properties = operator.properties
    names = [
        each.identifier
        for each in properties.bl_rna.properties
        if each.identifier != "rna_type" and properties.is_property_set(each.identifier)
    ]
    cleaner = finite.Cleaner(is_sensitive_name)
    return cleaner.value({name: _plain(properties, name) for name in names[:MAX_PROPERTIES]})


def _plain(properties, name):
    value = getattr(properties, name)
    # Sets of flags have no order of their own.
    return sorted(value) if isinstance(value, (set, frozenset)) else value
