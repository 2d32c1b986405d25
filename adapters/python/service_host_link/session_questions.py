"""Session: questions of the server and their answers."""

import time

from .frames import BINARY
from .json_text import NotJson, compact_json, encode_json
from .limits import MAX_TEXT
from .messages import Question, bounded_number, mcp_contents
from .read_errors import Picture
from .texts import one_line


class SessionQuestions(object):
    """Queues the server's questions for pump() and sends the answers."""

    def _question(self, kind, message):
        id = message.get("id")
        member = {"read": "uri", "list": "scheme", "capture": "target"}.get(kind)
        subject = message.get(member) if member else ""
        if not isinstance(id, str) or not 1 <= len(id) <= 64 or id in self.questions:
            return
        link = self.link
        callback = {"read": link._on_read, "list": link._on_list, "capture": link._on_capture,
                    "refresh": link._on_refresh}[kind]
        problem = None
        if not isinstance(subject, str):
            problem = ("invalid", "/%s must be a string" % member)
        elif callback is None:
            problem = ("unsupported", "this application does not answer that")
        elif len(self.questions) >= self.limits["max_in_flight"]:
            problem = ("busy", "too many questions at once")
        if problem is not None:
            return self._send_error(id, *problem)
        if kind == "capture":
            shot = message.get("shot")
            subject = (subject, int(bounded_number(message, "max_width", 1, 65535, 65535)),
                       int(bounded_number(message, "max_bytes", 1, self.limits["max_message_bytes"],
                                   self.limits["max_message_bytes"])),
                       shot if isinstance(shot, dict) else None)
        seconds = bounded_number(message, "deadline_ms", 1, 600000, 5000) / 1000.0
        question = Question(id, kind, subject, time.monotonic() + seconds)
        self.questions[id] = question
        with link._lock:
            link._questions.append(question)

    def _forget(self, question):
        self.questions.pop(question.id, None)
        with self.link._lock:
            question.dropped = True
            if question in self.link._questions:
                self.link._questions.remove(question)

    def _send_error(self, id, code, message):
        self._send_message({"type": "error", "id": id, "code": code, "message": message,
                            "retryable": code in ("busy", "internal")})

    def _send_answer(self, now):
        link = self.link
        with link._lock:
            # A refresh is answered when the server has taken the scene.
            ready = [each for each in link._answers
                     if each[0].kind != "refresh" or each[1][0] or link.scene_settled]
            if not ready:
                return False
            question, (code, value) = ready[0]
            link._answers.remove(ready[0])
            if code is None and question.kind == "refresh" and link._scene_unsent:
                code, value = "internal", "the server lacks the newest scene"
        if question.dropped:  # also when it came over an earlier connection
            return True
        self.questions.pop(question.id, None)
        if code is None and question.kind == "capture":
            return self._send_picture(question, value)
        if code is None and question.kind == "refresh":
            self._send_message({"type": "ok", "id": question.id})
            return True
        if code is None:
            name = "contents" if question.kind == "read" else "resources"
            try:
                if question.kind == "read":
                    value = mcp_contents(value, question.subject)
                else:
                    value = list(value)
                data, replaced = encode_json({"type": "ok", "id": question.id, name: value})
                if replaced:
                    self.link._fail("read", "%d numbers of %s are not finite: sent as null" % (
                        replaced, one_line(question.subject)))
            except (NotJson, TypeError) as error:
                code, value = "internal", "on_%s returned no %s: %s" % (question.kind, name, error)
                link._fail("read", value)
            else:
                if len(data) <= self.limits["max_message_bytes"]:
                    self._send_text(data)
                    return True
                code, value = "limit", "the answer is larger than %d bytes" % (
                    self.limits["max_message_bytes"])
        self._send_error(question.id, code, value)
        return True

    def _send_picture(self, question, value):
        """The answer and right behind it the bytes: nothing may come between them."""
        max_bytes = question.subject[2]
        try:
            picture = value if isinstance(value, Picture) else Picture(value, None, None, None)
            if callable(picture.png):
                picture = picture._replace(png=picture.png())
            if not isinstance(picture.png, (bytes, bytearray)) or not picture.png:
                raise TypeError("no bytes")
            head = {"type": "ok", "id": question.id, "png_bytes": len(picture.png)}
            if picture.width is not None:
                head["window"] = {"title": str(picture.title or "")[:MAX_TEXT // 2],
                                  "width": int(picture.width), "height": int(picture.height)}
            if picture.view is not None:
                head["view"] = picture.view
            text = compact_json(head).encode("ascii")
        except Exception as error:  # also what the application's own function raises
            message = "the capture callback returned no picture (%s)" % type(error).__name__
            self.link._fail("capture", message)
            self._send_error(question.id, "internal", message)
            return True
        if len(picture.png) > max_bytes:
            self._send_error(question.id, "limit", "the picture has %d bytes, at most %d were "
                             "asked for" % (len(picture.png), max_bytes))
            return True
        self._send_text(text)
        self.pipe.put(BINARY, bytes(picture.png))
        return True
