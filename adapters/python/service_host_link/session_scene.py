"""Session: the scene."""

import time

from .json_text import NotJson, encode_json
from .limits import RETRY_SECONDS


class SessionScene(object):
    """Sends the newest scene, one at a time."""

    def _send_scene(self, now):
        link = self.link
        if now < self.next_scene or any(what == "scene" for (what, _), _ in self.waiting.values()):
            return False
        with link._lock:
            if link._scene_new:
                scene, link._scene_new = link._scene_new[0], []
                link._scene_work = True
            elif link._scene_text is None or link._scene_taken_by is not None:
                return False
            else:
                scene = None
        if link._scene_work:
            text = self._scene_bytes(scene)
            del scene
            with link._lock:
                link._scene_work = False
                link._scene_text, link._scene_taken_by = text, None
                link._changed.notify_all()
            if text is None:
                return True
        with link._lock:
            link._server_needs_scene = False
            text = link._scene_text
            if text != b"null":
                link._scene_sent_to = self.candidate.key
        self._ask("scene", {"type": "scene.set"}, b'"scene":' + text, text)
        self.next_scene = time.monotonic() + self.scene_interval
        return True

    def _scene_bytes(self, scene):
        """None when it cannot be sent. Not even the one before is, then: it is not the newest."""
        link, most = self.link, self.limits["max_message_bytes"]
        try:
            if scene is not None and not isinstance(scene, dict):
                raise NotJson("it is no dict")
            text, replaced = encode_json(scene)
            if len(text) + 100 > most:
                raise NotJson("it is %d bytes long and the server takes %d" % (len(text), most))
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
        with link._lock:
            if link._scene_text is not text:
                return
            if error is None:
                link._scene_taken_by = self.candidate.key
                if text == b"null":
                    link._scene_sent_to = None
            elif error.retryable:
                self.next_scene = time.monotonic() + RETRY_SECONDS
            else:
                link._scene_text = None
        if error is not None:
            link._fail("scene", "the server refused the scene: %s" % error.text)
