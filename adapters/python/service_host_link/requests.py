"""What either side asks of the other: messages and jobs that wait, and the questions of clients."""

import base64
import collections
import io
import time

from .search import open_regular
from .texts import omit_none, one_line

NO_PICTURE = ("minimised", "no_window", "blank", "permission", "not_found")

Picture = collections.namedtuple("Picture", "png title width height view")
Picture.__new__.__defaults__ = (None,)
Picture.__doc__ = """A PNG file, and the title and size in pixels of the window that it shows.

`png`: bytes, or a function that returns them, which the thread of the link calls: packing takes no
time of the main thread then. The size is that of the window, also when the picture was scaled
down. `view`: a dict with what the application needs to draw the same again; it gets it back in a
shot."""


class ReadError(Exception):
    """Raised by a callback: clients see its message, unlike that of other exceptions."""

    code = "internal"


class NotFound(ReadError):
    """There is no such resource (any more)."""

    code = "not_found"


class Busy(ReadError):
    """The application cannot answer now (a modal dialog, a render); worth another try."""

    code = "busy"


class NoPicture(ReadError):
    """`reason`: minimised, no_window, blank, permission, or not_found (no such camera or object)."""

    def __init__(self, reason, message=""):
        if reason not in NO_PICTURE:
            raise ValueError("reason must be one of " + ", ".join(NO_PICTURE))
        ReadError.__init__(self, message or reason)
        self.code = reason


class Job(object):
    """An artefact, a note or a checkpoint on its way. `done` turns true once: `error` is then a
    sentence, or None. `uri` and `sha256` are of the artefact, `note` is {"id", "number", "state"}."""

    def __init__(self, message, on_done, data=None, path=None):
        self.done = False
        self.error = self.uri = self.sha256 = self.note = None
        self.message, self.on_done, self.data, self.path = message, on_done, data, path
        self.tries = 0

    def open(self):
        """(file, size); raises OSError, and ValueError or TypeError for an invalid path."""
        if self.data is not None:
            return io.BytesIO(self.data), len(self.data)
        file, found = open_regular(self.path)
        return file, found.st_size


class ServerError(object):
    """An answer of the type error. ConnectionLost has the same members."""

    def __init__(self, message):
        self.code = str(message.get("code"))
        self.text = "%s (%s)" % (one_line(message.get("message"), 300), one_line(self.code, 64))
        self.retryable = self.code in ("limit", "busy", "internal")


class Outbox(object):
    """Messages that wait to be sent, the newest of each key, and artefacts.

    Without a connection only jobs wait: the rest is told anew on each. Call with the lock."""

    def __init__(self, fail):
        self._fail = fail
        self._waiting = collections.OrderedDict()  # key -> (message, on_answer)
        self._kept = collections.OrderedDict()  # key -> message: what each connection is told
        self._is_open = False
        self.uploads = collections.deque()  # jobs; the first may be on its way
        self.finished = collections.deque()  # jobs whose on_done waits for pump

    def __len__(self):
        return len(self._waiting) + len(self.uploads)

    def post(self, key, message, is_kept=False):
        """Sends a message, in place of an unsent one of this key."""
        def on_answer(answer, error):
            if error is not None and error.code != "lost":
                self._fail("message", "the server refused %s: %s" % (message["type"], error.text))

        if is_kept:
            self._kept[key] = message
        if self._is_open:
            self._waiting[key] = (message, on_answer)

    def add_job(self, job):
        def on_answer(answer, error):
            text = error and error.text
            if error is not None and error.code == "lost":
                text += ": see whether the server has it"
            self.finish(job, text, answer)

        self._waiting[job] = (job.message, on_answer)

    def finish(self, job, error, answer={}):
        if job in self.uploads:
            self.uploads.remove(job)
        job.error, job.data = error, None
        for name in ("uri", "sha256", "note"):
            setattr(job, name, answer.get(name))
        job.done = True
        if job.on_done is not None:
            self.finished.append(job)

    def take(self):
        """(message, on_answer), or None."""
        return self._waiting.popitem(last=False)[1] if self._waiting else None

    def open(self):
        """There is a connection."""
        self._is_open = True
        for key, message in list(self._kept.items()):
            self.post(key, message)

    def close(self):
        self._is_open = False
        for key in [each for each in self._waiting if not isinstance(each, Job)]:
            del self._waiting[key]

    def give_up(self, why):
        """No job will be sent any more."""
        self.close()
        for job in list(self._waiting) + list(self.uploads):
            self.finish(job, why)
        self._waiting.clear()


class Question(object):
    """A request of the server. `answer` is None, or (code of an error or None, value or text)."""

    def __init__(self, id, kind, message):
        self.id, self.kind, self.message, self.answer = id, kind, message, None
        self.deadline = time.monotonic() + message["deadline_ms"] / 1000.0


def call_on_done(link, job):
    try:
        job.on_done(job)
    except Exception as error:
        link._fail("callback", "on_done failed: %s" % type(error).__name__)


def answer_of(link, question):
    """What the application answers, see Question; None: not yet."""
    kind, message = question.kind, question.message
    try:
        if kind == "read":
            return None, link._on_read(message["uri"])
        if kind == "refresh":
            return (None, True) if link._on_refresh() else None
        callback, offer = link._on_capture, link._pictures
        if callback is None or message["target"] not in offer["targets"]:
            return "unsupported", "there is no such picture"  # any more
        arguments = [message["target"], message["max_width"], message["max_bytes"]]
        return None, callback(*(arguments + [message.get("shot")] * ("shots" in offer)))
    except ReadError as error:
        return error.code, str(error)[:500] or error.code
    except Exception as error:
        # Only its type: the message may hold private data.
        name = "the capture callback" if kind == "capture" else "on_" + kind
        text = "%s failed: %s" % (name, type(error).__name__)
        link._fail("read", text)
        return "internal", text


def contents_of(value, uri):
    """What on_read returned, in the form of MCP."""
    contents = []
    for item in [value] if isinstance(value, (str, bytes, bytearray, dict)) else value:
        if isinstance(item, str):
            item = {"text": item}
        elif isinstance(item, (bytes, bytearray)):
            item = {"blob": item}
        item = dict({"uri": uri}, **item)
        if isinstance(item.get("blob"), (bytes, bytearray)):
            item["blob"] = base64.b64encode(item["blob"]).decode("ascii")
        contents.append(item)
    return contents


def picture_of(value):
    """(bytes, members of the answer) of what the capture callback returned."""
    png, title, width, height, view = value if isinstance(value, tuple) else (value,) + (None,) * 4
    png = bytes(png() if callable(png) else png)
    members = {"png_bytes": len(png)}
    if width is not None:
        members["window"] = {"title": one_line(title, 2048) or "", "width": int(width),
                             "height": int(height)}
    return png, dict(members, **omit_none(view=view))
