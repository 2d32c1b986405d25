"""Keeps the link's thread still while an operator runs for a script.

Such an operator runs without Python's lock. When the script gave it another context
(`temp_override`), Blender up to 4.0 looks into that context through Python all the same, without
taking the lock, as long as some other thread holds it: it crashes. Operators that a person runs
have no such context.
"""

import sys

from .service_host_link import Turns


class OperatorTurns(Turns):
    """Turns that stand around every operator called from Python, from `install` to `remove`."""

    _original = None
    _wrapper = None

    def install(self):
        module = _operators()
        original = getattr(module, "_op_call", None)
        if original is None:
            return  # a Blender that calls operators in another way

        def call(*arguments):
            with self:
                return original(*arguments)

        self._original, self._wrapper = original, call
        module._op_call = call

    def remove(self):
        module = _operators()
        # Another one's wrapper may stand around ours: then ours stays, and does no harm.
        if self._wrapper is not None and module._op_call is self._wrapper:
            module._op_call = self._original
        self._wrapper = None


def _operators():
    return sys.modules["bpy.ops"]
