"""Texts: JSON that every server can read, names and times, printed lines, and words for panels."""

import collections
import datetime
import json
import math
import os
import re
import sys
import threading
import time

OFF = "The link is off."
CLEARED = "Scene no longer shared. Files and history stay on the server."
NOT_TOLD = "The server could not be told: it keeps the last scene while it runs."

_CONTROL = re.compile("[\x00-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# In JSON: an escaped backslash, a pair of surrogates, or half of one.
_ESCAPE = re.compile(r"\\\\|\\ud[89ab]..\\ud[c-f]..|(\\ud[89a-f]..)")
_encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class NotJson(Exception):
    """The value cannot be sent; the message says why, without its content."""


# JSON


def json_text(value, replaced=None, in_pieces=False):
    """Compact JSON in ASCII. Raises NotJson.

    NaN and infinity become null, and characters that UTF-8 cannot have become U+FFFD: the Counter
    `replaced` counts them as "number_not_finite" and "text_not_utf8". With in_pieces other threads
    run between the items of a list: one call for megabytes would keep them waiting."""
    replaced = collections.Counter() if replaced is None else replaced
    encode = _encode_in_pieces if in_pieces else _encoder.encode
    try:
        try:
            text = encode(value)
        except ValueError:  # only now is a copy worth its time
            text = encode(_finite(value, replaced))
    except (TypeError, ValueError, RecursionError, RuntimeError) as error:
        # RuntimeError: another thread changed the value meanwhile.
        raise NotJson("it is not JSON (%s)" % type(error).__name__)
    return _ESCAPE.sub(lambda found: _whole_escape(found, replaced), text) if "\\ud" in text else text


def _whole_escape(found, replaced):
    if found.group(1) is None:
        return found.group()
    replaced["text_not_utf8"] += 1
    return "\\ufffd"


def _encode_in_pieces(value):
    if type(value) is not list:
        return _encoder.encode(value)
    pieces = (value[at:at + 64] for at in range(0, len(value), 64))
    return "[" + ",".join(_encoder.encode(piece)[1:-1] for piece in pieces) + "]"


def _finite(value, replaced):
    if isinstance(value, float) and not math.isfinite(value):
        replaced["number_not_finite"] += 1
        return None
    if isinstance(value, dict):
        return {key: _finite(member, replaced) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item, replaced) for item in value]
    return value


def plain_json(value, max_bytes):
    """Any value as one that JSON has: what it has no form for becomes the name of its type, vectors
    become lists, and what is longer than max_bytes {"omitted_bytes": n}."""
    try:
        text = json.dumps(value, default=_plain)
    except (TypeError, ValueError, RecursionError, RuntimeError) as error:
        return "<not JSON: %s>" % type(error).__name__
    return json.loads(text) if len(text) <= max_bytes else {"omitted_bytes": len(text)}


def _plain(value):
    if isinstance(value, (set, frozenset)):
        return sorted(str(item) for item in value)
    try:
        if len(value) <= 64:
            return [float(number) for number in value]  # vectors, colours, rows of a matrix
    except Exception:  # whatever an application's object does when asked
        pass
    return "<%s>" % type(value).__name__


# Names, times and paths


def clean_text(text):
    """The text with U+FFFD for what UTF-8 cannot have: as json_text writes it."""
    return _SURROGATE.sub("\ufffd", str(text))


def one_line(text, limit=255):
    """Without control characters, at most so many others; None when empty."""
    return None if text is None else _CONTROL.sub(" ", clean_text(text))[:limit] or None


def omit_none(**members):
    return {name: value for name, value in members.items() if value is not None}


def rfc3339(seconds):
    """RFC 3339 of seconds since the epoch; None of what is no time, such as NaN or infinity."""
    try:
        at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    except (OverflowError, ValueError, OSError):
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# What Python prints


class Console(object):
    """Sends what Python prints to the server, line by line, as the events of `session_id`."""

    KEPT_LINES = 2000

    def __init__(self, link, source):
        self.session_id = "%s-console-%d" % (source, os.getpid())
        self._link, self._source = link, source
        self._tees = {}

    def share(self, is_shared=True):
        if is_shared and not self._tees:
            self._link.open_events(self.session_id, maxlen=self.KEPT_LINES)
            for name in ("stdout", "stderr"):
                self._tees[name] = _Tee(getattr(sys, name), name, self._tell)
                setattr(sys, name, self._tees[name])
        elif not is_shared:
            for name, tee in self._tees.items():
                tee.tell = None  # who kept it goes on printing
                # Another program may have replaced the stream meanwhile: theirs stays.
                if getattr(sys, name) is tee:
                    setattr(sys, name, tee.original)
            self._tees = {}

    def _tell(self, stream, line):
        level = "warning" if stream == "stderr" else "info"
        self._link.log(line, self.session_id, self._source, stream, level)


class _Tee(object):
    """Stands in for sys.stdout or sys.stderr: everything goes to the original first."""

    _inside = threading.local()  # of both

    def __init__(self, original, stream, tell):
        self.original, self.tell = original, tell
        self._stream = stream
        self._lock = threading.RLock()
        self._line = ""

    def write(self, text):
        written = self.original.write(text) if self.original is not None else len(text)
        # Telling may itself print: that is printed and not told.
        if self.tell is not None and not getattr(self._inside, "now", False):
            self._inside.now = True
            try:
                for line in self._complete_lines(text):
                    self.tell(self._stream, line)
            except Exception:
                pass  # a script's print must never fail because of us
            finally:
                self._inside.now = False
        return written

    def __getattr__(self, name):
        if self.original is None and name == "flush":
            return lambda: None
        return getattr(self.original, name)

    def _complete_lines(self, text):
        with self._lock:
            lines = (self._line + text).split("\n")
            self._line = lines.pop()
        return [line for line in lines if line.strip()]


# Words for a panel

LinkStatus = collections.namedtuple("LinkStatus", "state text url last_error")
LinkStatus.__doc__ = """What the link is doing.

state: off, searching, connecting, connected, waiting (tries again) or refused (does not);
text: a sentence for people; url: of the server; last_error: a sentence, or None."""

StatusWords = collections.namedtuple("StatusWords", "title lines")

# By state of the link; titles of at most 20 letters fit beside an icon in a narrow sidebar.
_TITLES = {
    "off": "Not connected",
    "searching": "No server found",
    "connecting": "Connecting",
    "connected": "Connected",
    "waiting": "Reconnecting",
    "refused": "Refused",
}


def status_words(status, shares_scene=True, pictured_at=None):
    """StatusWords of a LinkStatus, or of None before the first start.

    `title` has at most 20 letters, `lines` are sentences. `pictured_at`: of the link."""
    state = "off" if status is None else status.state
    title = _TITLES[state]
    lines = []
    if status is None or status.text == OFF:
        lines.append("Nothing is shared.")
    elif state == "connected":
        lines.append("Server: " + re.sub(r"^http://|/host$", "", status.url or ""))
        if not shares_scene:
            lines.append("Scene not shared: it is off in the preferences.")
        if status.last_error:
            lines.append("Last error: " + status.last_error)
    else:
        lines.append(status.text)
        if "taken:" in status.text.lower():
            title = "Server taken"
    if state == "refused":
        lines.append("It does not try again: correct this, then press Connect.")
    if pictured_at is not None:
        lines.append("Picture taken " + time.strftime("%H:%M:%S", time.localtime(pictured_at)))
    return StatusWords(title, lines)


# Notes

NoteBlocks = collections.namedtuple("NoteBlocks", "said answer changes")

MAX_CHANGES = 6
NOTHING = "Changed: nothing that service-cli follows"
COMPARED_ONLY = "Not looked at: materials, lights and modifiers of other objects"


def is_open(note):
    return note.get("state") not in ("accepted", "closed")


def note_blocks(note, name_of):
    """NoteBlocks: lines of what the person said, of the last answer or reply, and of what the server
    found changed. They are drawn apart, so that no answer looks like what the server has found.

    name_of(target) gives the name that an object of the note has now. A settled note has only what
    was said."""
    said = [str(note.get("text", ""))]
    if not is_open(note):
        return NoteBlocks(said, [], [])
    names = [name_of(each) for each in note.get("targets", [])]
    said.append("About: " + (", ".join(names) or "no object"))
    texts = [each for each in note.get("entries", []) if each.get("text")]
    answer = ["%s: %s" % (each.get("by", ""), each["text"]) for each in texts[-1:]]
    return NoteBlocks(said, answer, _proof_lines(note_proof(note)))


def note_proof(note):
    """Of the last answer; None while it is made."""
    answers = [each for each in note.get("entries", []) if each.get("action") == "answer"]
    proof = answers[-1].get("proof") if answers else None
    return proof if isinstance(proof, dict) else None


def note_pictures(note, folder):
    """[(title, path)] of the pictures that the server has of a note: before, after, and where they
    differ. `folder`: from `HostLink.notes`."""
    proof = note_proof(note) or {}
    uris = (("Before", note.get("before")), ("After", proof.get("after")),
            ("Where", (proof.get("difference") or {}).get("uri")))
    kept = "%04d" % int(note.get("number", 0))
    return [(title, os.path.join(folder, kept, uri.rsplit("/", 1)[-1] + ".png"))
            for title, uri in uris if folder is not None and isinstance(uri, str)]


def _proof_lines(proof):
    if proof is None:
        return []
    if proof.get("no_changes"):
        return ["Not compared: %s" % proof["no_changes"]]
    lines = []
    if proof.get("as_of"):
        lines.append("Not confirmed: changes after %s may be missing." % proof["as_of"])
    elif not proof.get("settled", True):
        lines.append("The scene was still changing.")
    asked, others = proof.get("asked"), proof.get("also_changed")
    lines += _list("Changed", others if asked is None else asked) or [NOTHING]
    lines += _list("Also changed", others if asked is not None else None)
    if proof.get("more"):
        lines.append("… and %d more" % proof["more"])
    lines.append(COMPARED_ONLY)
    return lines


def _list(title, changes):
    if not changes:
        return []
    lines = [title + ":"] + ["- %s" % each for each in changes[:MAX_CHANGES]]
    if len(changes) > MAX_CHANGES:
        lines.append("… %d more" % (len(changes) - MAX_CHANGES))
    return lines
