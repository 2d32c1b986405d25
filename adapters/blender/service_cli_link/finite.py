"""Numbers and values as JSON can carry them: finite, six digits, bounded."""

from itertools import islice
from math import floor, pi

from .sensitive import is_sensitive_name

SCALE = 10**6
DEGREE_SCALE = 10**4
TURNS = 180.0 / pi * DEGREE_SCALE
MAX_DEPTH = 4
MAX_ITEMS = 64
MAX_TEXT = 512


class Cleaner:
    """Rounds numbers and counts those that had to be left out. Members that may be secret are redacted."""

    def __init__(self):
        self.dropped = 0

    def number(self, value):
        result = self.numbers((value,))
        return None if result is None else result[0]

    def numbers(self, values):
        """A list of finite numbers, or None: half a vector is of no use."""
        return self._scaled(values, float(SCALE), SCALE)

    def degrees(self, radians):
        """Four digits: a quarter turn in Blender's single precision is 90.000003 degrees."""
        return self._scaled(radians, TURNS, DEGREE_SCALE)

    def _scaled(self, values, factor, scale):
        """Several times quicker than round(), and floor() itself refuses what is not finite.

        Whole numbers have no point: 1.0 is text that a server would have to keep as it is."""
        try:
            return [step / scale if step % scale else step // scale
                    for step in [floor(value * factor + 0.5) for value in values]]
        except (ValueError, OverflowError):
            self.dropped += 1
            return None

    def value(self, value, depth=0):
        """Any value as JSON, bounded; raises TypeError for what JSON has no form for."""
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return self.number(value)
        if isinstance(value, str):
            return short_text(value)
        if isinstance(value, (set, frozenset)):  # of flags, which have no order of their own
            value = sorted(value)
        if hasattr(value, "name_full"):
            return {"id": short_text(value.name_full)}  # a data-block: its own properties are not ours
        if hasattr(value, "to_list"):
            value = value.to_list()  # Blender's arrays cannot be iterated over in every version
        if depth >= MAX_DEPTH:
            raise TypeError("too deep")
        if hasattr(value, "items"):
            return self._members(value, depth)
        if isinstance(value, (bytes, bytearray)):
            raise TypeError("no JSON form for bytes")
        # Vectors and matrices have no __iter__ but can be gone through: iter() says, or raises.
        return [self.value(item, depth + 1) for item in islice(iter(value), MAX_ITEMS)]

    def _members(self, value, depth):
        members = {}
        for name, member in islice(value.items(), MAX_ITEMS):
            if is_sensitive_name(str(name)):
                members[str(name)] = "[redacted]"
                continue
            try:
                members[str(name)] = self.value(member, depth + 1)
            except TypeError:
                continue  # what JSON has no form for is left out, the rest is told
        return members


def without_nothing(members):
    """What is not known is not told."""
    return {name: value for name, value in members.items() if value is not None}


def short_text(text, limit=MAX_TEXT):
    """Names in old files may hold bytes that are no UTF-8: Python shows them as lone surrogates."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= limit else text[: limit - 1] + "…"

