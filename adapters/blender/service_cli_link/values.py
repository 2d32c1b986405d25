"""Numbers, names and values as JSON can carry them: finite, six digits, UTF-8, bounded."""

import re
from itertools import islice
from math import floor, pi

import bpy

SCALE = 10**6
DEGREE_SCALE = 10**4
TURNS = 180.0 / pi * DEGREE_SCALE
MAX_DEPTH = 4
MAX_ITEMS = 64
MAX_TEXT = 512
REPLACED = "\ufffd"  # stands for bytes that are not UTF-8


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
        if isinstance(value, bpy.types.ID):
            return {"id": short_text(name_of(value))}  # a data-block: its properties are not ours
        if hasattr(value, "to_list"):
            value = value.to_list()  # Blender's arrays cannot be iterated over in every version
        if depth >= MAX_DEPTH:
            raise TypeError("too deep")
        if hasattr(value, "keys"):
            return self.members(value, depth)
        if isinstance(value, (bytes, bytearray)):
            raise TypeError("no JSON form for bytes")
        # Vectors and matrices have no __iter__ but can be gone through: iter() says, or raises.
        return [self.value(item, depth + 1) for item in islice(iter(value), MAX_ITEMS)]

    def members(self, value, depth=0):
        """Of a dict or the like, without those that JSON has no form for."""
        members = {}
        for name in islice(value.keys(), MAX_ITEMS):
            try:
                members[str(name)] = (
                    "[redacted]" if is_sensitive_name(str(name)) else self.value(value[name], depth + 1))
            except (TypeError, UnicodeDecodeError):
                continue
        return members


def attributes(thing, names, cleaner):
    """Those of these properties that the thing has, for example of lights: each kind has others."""
    found = {}
    for name in names:
        try:
            found[name] = cleaner.value(getattr(thing, name))
        except (AttributeError, TypeError):
            continue
        except UnicodeDecodeError as error:
            found[name] = short_text(_replaced(error))
    return found


def name_of(thing, attribute="name_full"):
    """Names in old files may hold bytes that are not UTF-8, and reading those raises."""
    try:
        return getattr(thing, attribute)
    except UnicodeDecodeError as error:
        return _replaced(error)


def names_of(things):
    try:
        return [thing.name_full for thing in things]
    except UnicodeDecodeError:
        return [name_of(thing) for thing in things]


def _replaced(error):
    return error.object.decode("utf-8", "replace")


def short_text(text, limit=MAX_TEXT):
    """Paths may hold bytes that are not UTF-8: Python shows them as lone surrogates."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def without_nothing(members):
    """What is not known is not told."""
    return {name: value for name, value in members.items() if value is not None}


_HUMPS = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_SECRET = re.compile(
    r"pass(?:word|wd|phrase)|pwd|secret|cookie|credential|authorization|token(?:s?$|s?[^a-z])"
    r"|(?:api|access|private|signing|encryption|ssh|auth)[^a-z]*keys?(?:$|[^a-z])|(?:^|[^a-z])key(?:[^a-z]*value)?$")


def is_sensitive_name(name):
    """apiKey, api_key and X-Api-Key are; keyframe, key_frame and monkey are not."""
    return _SECRET.search(_HUMPS.sub("_", name).lower()) is not None
