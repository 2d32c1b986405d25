"""Session: audit records and events."""

import re
import time

from .limits import RETRY_SECONDS


class SessionBatches(object):
    """Sends both backlogs in batches."""

    def _send_audit(self, now):
        return self._send_batch("audit", self.link._audit, now)

    def _send_events(self, now):
        return self._send_batch("events", self.link._events, now)

    def _send_batch(self, what, backlog, now):
        link, most = self.link, self.limits["max_message_bytes"]
        if now < self.next_batch[what]:
            return False
        with link._lock:
            if backlog.flight or not backlog.waiting:
                return False
            batch = backlog.take(self.limits["max_batch"], most - 1024)
            if len(batch[0].text) > most - 1024:
                backlog.give_up()
                link._fail(what, "one of the %s is larger than the server takes" % what)
                return True
            head = batch[0]
            if head.kind == "open":
                link._buffers[head.session] = head.text
            elif head.kind == "close":
                link._buffers.pop(head.session, None)
        rest = ",".join(item.text for item in batch)
        if head.kind == "open":
            self._ask(what, {"type": "events.open", "session_id": head.session},
                      rest[1:-1].encode("ascii"), backlog)
        elif head.kind == "close":
            self._ask(what, {"type": "events.close", "session_id": head.session}, b"", backlog)
        elif what == "audit":
            self._ask(what, {"type": "audit.record"}, ('"records":[%s]' % rest).encode("ascii"),
                      backlog)
        else:
            self._ask(what, {"type": "events.append", "session_id": head.session},
                      ('"events":[%s]' % rest).encode("ascii"), backlog)
        return True

    def _answered_audit(self, message, error, backlog):
        self._batch_answered("audit", error, backlog)

    def _answered_events(self, message, error, backlog):
        self._batch_answered("events", error, backlog)

    def _batch_answered(self, what, error, backlog):
        with self.link._lock:
            if error is None or backlog.flight and backlog.flight[0].kind == "close":
                backlog.taken()  # what the server does not know is closed, too
                return
            self.link._fail(what, "the server refused %s: %s" % (what, error.text))
            # A full session must not keep the others waiting, so that its limit is no reason to.
            if error.retryable and (error.code != "limit" or what == "audit"):
                backlog.restore()
                self.next_batch[what] = time.monotonic() + RETRY_SECONDS
                return
            pointer = re.search(r"/(?:records|events)/(\d{1,4})\b", error.text)
            backlog.give_up(int(pointer.group(1)) if pointer else None)
