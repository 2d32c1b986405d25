"""Session: the document, resources and event buffers."""

from .json_text import NotJson, encode_json


class SessionApp(object):
    """Sends what the application offers: document, schemes, changed resources."""

    def _send_open(self, now):
        if not self.opens:
            return False
        session, text = self.opens.pop(0)
        self._ask("open", {"type": "events.open", "session_id": session},
                  text[1:-1].encode("ascii"))
        return True

    def _answered_open(self, message, error, data):
        if error is not None:
            self.link._fail("events", "the server opened no event buffer: %s" % error.text)

    def _send_app(self, now):
        link = self.link
        with link._lock:
            if not link._app_news:
                return False
            link._app_news = False
            message = {"type": "app.update", "document": link._document, "mode": link._mode,
                       "capture": link._pictures}
        self._ask("app", message)
        return True

    def _answered_app(self, message, error, data):
        if error is not None:
            self.link._fail("document", "the server refused the document: %s" % error.text)

    def _send_producer(self, now):
        link = self.link
        with link._lock:
            if not link._producer_news:
                return False
            scheme, news = link._producer_news.popitem(last=False)
            resources, templates = link._producers.get(scheme, ([], []))
        message = {"scheme": scheme}
        if news == "register":
            message.update(type="producer.register", resources=resources, templates=templates)
        elif news == "unregister":
            message.update(type="producer.unregister")
        else:
            message.update(type="producer.list_changed")
            if news == "list":
                message.update(resources=resources)
        try:
            data, _ = encode_json(message)
        except NotJson as error:
            link._fail("producer", "the resources of %s were not sent: %s" % (scheme, error))
            return True
        if len(data) + 100 > self.limits["max_message_bytes"]:
            link._fail("producer", "the resources of %s were not sent: they are larger than %d "
                       "bytes" % (scheme, self.limits["max_message_bytes"]))
            return True
        self._ask("producer", {}, data[1:-1], scheme)
        return True

    def _answered_producer(self, message, error, scheme):
        if error is not None and (scheme in self.link._producers or error.code != "not_found"):
            self.link._fail("producer", "the server refused %s: %s" % (scheme, error.text))

    def _send_updated(self, now):
        link = self.link
        with link._lock:
            if not link._updated:
                return False
            uri, _ = link._updated.popitem(last=False)
            if str(uri).partition(":")[0] not in link._producers:
                return True  # it went meanwhile
        try:
            self._send_message({"type": "resource.updated", "uri": uri})
        except (TypeError, ValueError):
            link._fail("producer", "updated() was given no text")
        return True
