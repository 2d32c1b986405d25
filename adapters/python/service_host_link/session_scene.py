"""Session: the scene."""

import time

from .json_text import NotJson
from .limits import RETRY_SECONDS
from .scene_texts import HEAD_BYTES, SceneTexts, encode_members, encode_scene


class SessionScene(object):
    """Sends the newest scene, one at a time, and of it what the server has not."""

    def _send_scene(self, now):
        if self.scene_parts:
            self._send_part()
            return True
        link = self.link
        if now < self.next_scene or any(what == "scene" for (what, _), _ in self.waiting.values()):
            return False
        with link._lock:
            news, link._scene_news = link._scene_news, []
            if not news and (link._scene_text is None or link._scene_taken_by is not None):
                return False
            link._scene_work = True
        texts = self._take_news(news)
        rest = base = None
        if texts is not None:
            rest, base = texts.patch() if self.patches else None, self.base
            rest = None if base is None else rest
            if rest is None or len(rest) > self._most:
                rest, base = self._first_part(texts), None
        with link._lock:
            link._scene_work = False
            link._scene_text = texts
            link._scene_unsent = rest is None
            # What cannot be sent is tried again when it has changed, or by another connection.
            link._scene_taken_by = None if rest is not None else self.candidate.key
            link._changed.notify_all()
            if rest is None:
                if texts is None and news and not news[-1][0]:
                    link._server_needs_scene = True  # this patch had no scene to change
                return bool(news)
            link._server_needs_scene = False
            if texts.members is not None:
                link._scene_sent_to = self.candidate.key
        texts.sent()
        # Known again once it answers.
        self.base = None
        self.next_scene = time.monotonic() + self.scene_interval
        if base is not None:
            self._ask("scene", {"type": "scene.patch", "base": base}, rest,
                      (texts, texts.version, True))
        elif self.scene_parts:
            self._send_text(b'{"type":"scene.set","more":true,' + rest + b"}")
        else:
            self._ask("scene", {"type": "scene.set"}, rest, (texts, texts.version, False))
        return True

    @property
    def _most(self):
        """Bytes of the members of one message."""
        return self.limits["max_message_bytes"] - 100

    def _take_news(self, news):
        """The scene with what the application handed over since. None: it cannot be sent."""
        link = self.link
        texts, replaced = link._scene_text, 0
        try:
            for is_whole, members, objects in news:
                if objects is None:
                    members, objects, count = encode_scene(members)
                else:
                    gone = dict((name, None) for name, value in members.items() if value is None)
                    there = {name: value for name, value in members.items() if value is not None}
                    members, count = encode_members(there)
                    if not is_whole:
                        members.update(gone)
                replaced += count
                if is_whole:
                    texts = texts or SceneTexts()
                    texts.replace(members, objects)
                elif texts is not None and texts.objects is not None:
                    texts.change(members, objects)
        except NotJson as error:
            link._fail("scene", "the scene was not sent: %s" % error)
            return None
        if replaced:
            link._fail("scene", "%d numbers of the scene are not finite: sent as null" % replaced)
        elif news:
            link._recovered("scene")
        return texts

    def _first_part(self, texts):
        """The members of a scene.set; the parts that follow wait. None: it cannot be sent."""
        length, most = texts.length, self.limits["max_message_bytes"]
        parts = texts.parts(self._most if self.patches else 2 * length + HEAD_BYTES)
        if self.patches and parts is not None:
            most = self.limits["max_scene_bytes"]
        count = len(texts.objects or ()) if parts is not None and len(parts) > 1 else 0
        reason = None
        if parts is None or length > most or len(parts[0]) > self._most:
            reason = "it is %d bytes long and the server takes %d" % (length, most)
        elif count > self.limits["max_patched_objects"]:
            reason = "it has %d objects and the server takes %d" % (
                count, self.limits["max_patched_objects"])
        if reason is not None:
            self.link._fail("scene", "the scene was not sent: %s" % reason)
            return None
        first, self.scene_parts = parts[0], parts[1:]
        if self.scene_parts:
            self.scene_parts.append((texts, texts.version, False))
        return first

    def _send_part(self):
        """The next part; the last one is answered."""
        part = self.scene_parts.pop(0)
        if len(self.scene_parts) > 1:
            self._send_text(b'{"type":"scene.patch","more":true,' + part + b"}")
            return
        (data,), self.scene_parts = self.scene_parts, []
        self._ask("scene", {"type": "scene.patch"}, part, data)

    def _answered_scene(self, message, error, data):
        texts, version, has_base = data
        link = self.link
        revision = message.get("revision")
        if error is None and isinstance(revision, int) and not message.get("superseded"):
            self.base = revision
        with link._lock:
            if link._scene_text is not texts or texts.version != version:
                return
            if error is not None and error.code == "stale" and has_base:
                return  # the whole scene is sent next, because no server has this one
            if error is not None and error.retryable:
                self.next_scene = time.monotonic() + RETRY_SECONDS
            else:
                link._scene_taken_by = self.candidate.key
                link._scene_unsent = error is not None
            if error is None and texts.members is None:
                link._scene_sent_to = None
        if error is not None:
            link._fail("scene", "the server refused the scene: %s" % error.text)
