"""What either side asks of the other: messages and jobs that wait, and the questions of clients."""

import collections
import io
import os

from .texts import omit_none, one_line

Picture = collections.namedtuple("Picture", "png view", defaults=(None,))
Picture.__doc__ = """A PNG file, and what the application needs to draw the same again.

`png`: bytes, or a function that returns them, which the thread of the link calls: packing takes no
time of the main thread then. `view`: a dict that comes back in a shot, or None."""


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
        file = open(self.path, "rb")
        return file, os.fstat(file.fileno()).st_size


class ServerError(object):
    """An answer of the type error. ConnectionLost has the same members."""

    caused_by_us = True

    def __init__(self, code, message):
        self.code, self.text = code, "%s (%s)" % (one_line(message, 300), code)


class Outbox(object):
    """Messages that wait to be sent, the newest of each key, and artefacts.

    Without a connection only jobs wait: the rest is told anew on each. Call with the lock."""

    def __init__(self, fail):
        self._fail = fail
        self._waiting = collections.OrderedDict()  # key or Job -> message
        self._kept = collections.OrderedDict()  # key -> message: what each connection is told
        self._is_open = False
        self._unanswered = 0
        self.uploads = collections.deque()  # jobs; the first may be on its way
        self.finished = collections.deque()  # jobs whose on_done waits for pump

    def __len__(self):
        return len(self._waiting) + self._unanswered + len(self.uploads)

    def post(self, key, message, is_kept=False):
        """Sends a message, in place of an unsent one of this key."""
        if is_kept:
            self._kept[key] = message
        if self._is_open:
            self._waiting[key] = message

    def add_job(self, job):
        self._waiting[job] = job.message

    def take(self):
        """(key, message), for which answered() must be called, or None."""
        if not self._waiting:
            return None
        self._unanswered += 1
        return self._waiting.popitem(last=False)

    def answered(self, key, message, answer, error):
        self._unanswered -= 1
        if isinstance(key, Job):
            text = error and error.text
            if error is not None and error.code == "lost":
                text += ": see whether the server has it"
            self.finish(key, text, answer)
        elif error is not None and error.code != "lost":
            self._fail("message", "the server refused %s: %s" % (message["type"], error.text))

    def finish(self, job, error, answer={}):
        if job in self.uploads:
            self.uploads.remove(job)
        job.error, job.data = error, None
        for name in ("uri", "sha256", "note"):
            setattr(job, name, answer.get(name))
        job.done = True
        if job.on_done is not None:
            self.finished.append(job)

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


def answer_of(link, question):
    """What the application answers, see Question; None: not yet."""
    kind, message = question.kind, question.message
    try:
        if kind == "read":
            return None, link._on_read(message["uri"])
        if kind == "refresh":
            return (None, True) if link._on_refresh() else None
        if message["target"] not in link._pictures["targets"]:
            return "unsupported", "there is no such picture"  # any more
        arguments = [message["target"], message["max_width"], message["max_bytes"]]
        if "shots" in link._pictures:
            arguments.append(message.get("shot"))
        return None, link._on_capture(*arguments)
    except ReadError as error:
        return error.code, str(error)[:500] or error.code
    except Exception as error:
        # Only its type: the message may hold private data.
        text = "on_%s failed: %s" % (kind, type(error).__name__)
        link._fail("read", text)
        return "internal", text


def picture_of(value):
    """(bytes, members of the answer) of what the capture callback returned."""
    png, view = value if isinstance(value, Picture) else (value, None)
    png = bytes(png() if callable(png) else png)
    return png, omit_none(png_bytes=len(png), view=view)
