"""Session: the scene."""

import time

from .json_text import NotJson
from .limits import RETRY_SECONDS
from .scene_texts import encode_scene


class SessionScene(object):
    """Sends the newest scene, one at a time, and of it what the server has not."""

    def _send_scene(self, now):
        link = self.link
        if now < self.next_scene or any(what == "scene" for (what, _), _ in self.waiting.values()):
            return False
        with link._lock:
            if link._scene_new:
                (scene, shares), link._scene_new = link._scene_new[0], []
                link._scene_work = True
            elif link._scene_text is None or link._scene_taken_by is not None:
                return False
        if link._scene_work:
            text = self._scene_texts(scene, shares)
            del scene
            with link._lock:
                link._scene_work = False
                link._scene_text, link._scene_taken_by = text, None
                link._changed.notify_all()
            if text is None:
                return True
        head, rest = self._scene_message(link._scene_text)
        if self._is_too_long(rest):
            return True
        with link._lock:
            link._server_needs_scene = False
            text = link._scene_text
            if text.members is not None:
                link._scene_sent_to = self.candidate.key
        self._ask("scene", head, rest, text)
        # Known again once it answers.
        self.server_scene = None
        self.next_scene = time.monotonic() + self.scene_interval
        return True

    def _scene_message(self, text):
        """(head, text of the other members) of what changed, or of the whole scene."""
        if self.patches and self.server_scene is not None:
            old, revision = self.server_scene
            changes = text.changes_since(old)
            if changes is not None and len(changes) * 2 < text.length:
                return {"type": "scene.patch", "base": revision}, changes
        return {"type": "scene.set"}, b'"scene":' + text.whole

    def _is_too_long(self, rest):
        link, most = self.link, self.limits["max_message_bytes"]
        if len(rest) + 100 <= most:
            return False
        with link._lock:
            link._scene_text = None
            link._changed.notify_all()
        reason = "it is %d bytes long and the server takes %d" % (len(rest), most)
        link._fail("scene", "the scene was not sent: %s" % reason)
        return True

    def _scene_texts(self, scene, shares):
        """None when it cannot be sent. Not even the one before is, then: it is not the newest."""
        link = self.link
        try:
            if scene is not None and not isinstance(scene, dict):
                raise NotJson("it is no dict")
            text, replaced = encode_scene(scene, shares, link._scene_text)
        except NotJson as error:
            link._fail("scene", "the scene was not sent: %s" % error)
            return None
        if replaced:
            link._fail("scene", "%d numbers of the scene are not finite: sent as null" % replaced)
        else:
            link._recovered("scene")
        return text

    def _answered_scene(self, message, error, text):
        link = self.link
        revision = message.get("revision")
        if error is None and isinstance(revision, int) and not message.get("superseded"):
            self.server_scene = (text, revision)
        with link._lock:
            if link._scene_text is not text:
                return
            if error is not None and error.code == "stale":
                return  # the whole scene is sent next, because no server has this one
            if error is None:
                link._scene_taken_by = self.candidate.key
                if text.members is None:
                    link._scene_sent_to = None
            elif error.retryable:
                self.next_scene = time.monotonic() + RETRY_SECONDS
            else:
                link._scene_text = None
        if error is not None:
            link._fail("scene", "the server refused the scene: %s" % error.text)
