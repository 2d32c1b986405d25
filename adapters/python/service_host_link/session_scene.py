"""Session: the scene."""

import time

from .json_text import NotJson
from .limits import RETRY_SECONDS
from .scene_texts import SceneTexts, encode_members, encode_scene

# Of a message, for what is around the scene.
ENVELOPE_BYTES = 100


class SessionScene(object):
    """Sends the newest scene, one at a time, and of it what the server has not."""

    def _send_scene(self, now):
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
            rest, base = self._patch_members(texts), self.base
            if rest is None:
                rest, base = self._scene_member(texts), None
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
        else:
            self._ask("scene", {"type": "scene.set"}, rest, (texts, texts.version, False))
        return True

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

    def _patch_members(self, texts):
        """The members of a scene.patch, or None where the whole scene is sent."""
        count = len(texts.objects or ())
        if not self.patches or self.base is None or count > self.limits["max_patched_objects"]:
            return None
        return texts.patch()

    def _scene_member(self, texts):
        """The scene of a scene.set. None: the server does not take so much."""
        rest, most = texts.whole(), self.limits["max_message_bytes"]
        length = len(rest) + ENVELOPE_BYTES
        if length <= most:
            return rest
        self.link._fail("scene", "the scene was not sent: its message would be %d bytes long and "
                        "the server takes %d" % (length, most))
        return None

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
