"""Session: artefacts."""

import time

from .frames import BINARY
from .limits import CHUNK, UPLOAD_ANSWER_SECONDS
from .own_files import os_reason
from .uploads import OutgoingArtefact


class SessionArtefacts(object):
    """Sends one artefact at a time, in chunks."""

    def _send_upload(self, now):
        link = self.link
        if self.sending is not None:
            return self._send_chunk()
        with link._lock:
            if link._upload is not None or not link._uploads:
                return False
            upload = link._upload = link._uploads.popleft()
        upload._tries += 1
        try:
            sending = OutgoingArtefact(upload)
        except (OSError, ValueError, TypeError) as error:
            reason = os_reason(error) if isinstance(error, OSError) else type(error).__name__
            self._upload_done(upload, error="the file cannot be read (%s)" % reason)
            return True
        most = self.limits["max_artefact_bytes"]
        if most is None or most and sending.size > most:
            sending.close()
            self._upload_done(upload, error=(
                "the server takes no artefacts" if most is None
                else "it is %d bytes long and the server takes %d" % (sending.size, most)))
            return True
        head = dict(upload._members, type="artefact.put", size=sending.size)
        sending.id = self._ask("upload", head, b"", upload, UPLOAD_ANSWER_SECONDS)
        self.sending = sending
        return True

    def _send_chunk(self):
        sending = self.sending
        if sending.left == 0:
            return False
        try:
            chunk = sending.read(min(CHUNK, self.limits["max_message_bytes"]))
        except OSError as error:
            return self._abort(sending, "the file cannot be read (%s)" % os_reason(error))
        if not chunk:
            return self._abort(sending, "the file became shorter while it was sent")
        self.waiting[sending.id] = (
            ("upload", sending.upload), time.monotonic() + UPLOAD_ANSWER_SECONDS)
        self.pipe.put(BINARY, chunk)
        return True

    def _abort(self, sending, error):
        self.waiting.pop(sending.id, None)
        self._ask("abort", {"type": "artefact.abort", "upload": sending.id})
        self._upload_done(sending.upload, error=error)
        return True

    def _answered_upload(self, message, error, upload):
        if error is None and isinstance(message.get("uri"), str):
            self._upload_done(upload, uri=message["uri"], sha256=message.get("sha256"))
            return
        text = "the server refused the artefact: %s" % (
            "an answer without uri" if error is None else error.text)
        if self.sending.left > 0:  # what is left need not be sent
            self._ask("abort", {"type": "artefact.abort", "upload": self.sending.id})
        self._upload_done(upload, error=text)

    def _answered_abort(self, message, error, data):
        """Whether there was anything left to give up does not matter."""

    def _upload_done(self, upload, error=None, uri=None, sha256=None):
        self._stop_sending()
        with self.link._changed:
            if self.link._upload is upload:
                self.link._upload = None
            self.link._finish(upload, error, uri, sha256)
            if error is not None:
                self.link._fail("artefact", "an artefact was not sent: %s" % error)
            self.link._changed.notify_all()

    def _stop_sending(self):
        if self.sending is not None:
            self.sending.close()
        self.sending = None
