"""JSON of scenes, messages and records."""

import json
import math

from .limits import MAX_DEPTH


class NotJson(Exception):
    """The value cannot be sent; the message says why, without its content."""


_encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def compact_json(value, default=None):
    if default is None:
        return _encoder.encode(value)
    return json.dumps(value, allow_nan=False, separators=(",", ":"), default=default)


def pieces(value, level=0):
    """compact_json in pieces: one call for megabytes would keep every other thread waiting."""
    if level < 2 and type(value) is dict and all(type(key) is str for key in value):
        yield "{"
        comma = ""
        for key, member in value.items():
            yield comma + compact_json(key) + ":"
            comma = ","
            for piece in pieces(member, level + 1):
                yield piece
        yield "}"
    elif level < 2 and type(value) in (list, tuple) and len(value) > 64:
        yield "["
        for start in range(0, len(value), 64):
            yield ("," if start else "") + compact_json(value[start:start + 64])[1:-1]
        yield "]"
    else:
        yield compact_json(value)


def _joined(value):
    return "".join(pieces(value)).encode("ascii")


def encode_json(value, encode=_joined, levels=MAX_DEPTH):
    """(what encode() makes of it, number of non-finite numbers sent as null). Raises NotJson."""
    replaced = [0]
    try:
        try:
            data = encode(value)
        except ValueError:
            # NaN or Infinity, or a circle: only now is a copy worth its time.
            value = _finite(value, replaced, 0)
            data = encode(value)
    except NotJson:
        raise
    except (TypeError, ValueError, RecursionError, RuntimeError) as error:
        # RuntimeError: it was changed meanwhile by someone else.
        raise NotJson("it is not JSON (%s)" % type(error).__name__)
    if deeper_than(value, levels):
        raise NotJson("it is deeper than %d levels" % MAX_DEPTH)
    return data, replaced[0]


def _finite(value, replaced, depth):
    if depth > MAX_DEPTH:
        raise NotJson("it is deeper than %d levels" % MAX_DEPTH)
    if isinstance(value, float):
        if math.isinf(value) or math.isnan(value):
            replaced[0] += 1
            return None
        return value
    if isinstance(value, dict):
        return {
            (str(key) if isinstance(key, float) else key): _finite(member, replaced, depth + 1)
            for key, member in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_finite(item, replaced, depth + 1) for item in value]
    return value


def deeper_than(value, levels):
    """Level by level: no recursion, and only containers are looked at."""
    row = [value] if isinstance(value, (dict, list, tuple)) else []
    while row and levels >= 0:
        levels -= 1
        row = [
            item
            for container in row
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, (dict, list, tuple))
        ]
        if levels == 0:
            return bool(row)
    return False


def record_json(value):
    """Text of a value that belongs to a record: what is not JSON shows as the name of its type."""

    def name_of(other):
        if isinstance(other, (set, frozenset)):
            return sorted(str(item) for item in other)
        try:
            if len(other) <= 64:
                return [float(number) for number in other]  # vectors, colours, rows of a matrix
        except Exception:  # whatever an application's object does when asked
            pass
        return "<%s>" % type(other).__name__

    try:
        if deeper_than(value, MAX_DEPTH):
            return compact_json("<deeper than %d levels>" % MAX_DEPTH)
        try:
            return compact_json(value, name_of)
        except ValueError:
            return compact_json(_finite(value, [0], 0), name_of)
    except (TypeError, ValueError, RecursionError, RuntimeError, NotJson) as error:
        return compact_json("<not JSON: %s>" % type(error).__name__)
