"""What the application shows: the scene, its objects as resources, and feeds of records."""

import collections
import urllib.parse

from .texts import NotJson, clean_text, json_text, omit_none

ENVELOPE_BYTES = 100  # of a message, for what is around the scene
MAX_WAITING = 1000  # audit records, and events, that the server has not acknowledged


class Scene(object):
    """The newest scene, serialised, and how much of it the server has.

    The application's threads hand over under the lock; the link thread does the rest."""

    def __init__(self, lock, fail):
        self._lock, self._fail = lock, fail
        self._news = []  # what was handed over and is not serialised yet
        self._texts = None
        self._is_working = False
        self.is_taken = False  # the server has the texts, or will not take them
        self.is_unsent = False  # they could not be sent, or were refused
        self.is_shared = False  # a server may have a scene of this application
        self.server_lacks = False  # a whole scene is wanted
        self._is_patchable = True

    def hand_over(self, is_whole, members, objects):
        with self._lock:
            news = self._news
            if is_whole:
                self._news = [(True, members, objects)]
                self._is_patchable = objects is not None or not members
            elif not self._is_patchable:
                raise ValueError("the scene came by set_scene(): hand it over with "
                                 "patch_scene(..., whole=True) before you patch it")
            elif news and not news[-1][0]:
                news[-1][1].update(members)
                news[-1][2].update(objects)
            else:
                news.append((False, members, objects))

    @property
    def settled(self):
        """Nothing is waiting or unanswered."""
        with self._lock:
            return not self._news and not self._is_working and (
                self._texts is None or self.is_taken)

    def forget(self):
        """What waits is not sent any more."""
        with self._lock:
            self._news, self._texts, self.is_unsent = [], None, False

    def connected(self, is_needed):
        """Call with the lock. `is_needed`: the server says that it lacks the scene."""
        is_known = self._texts is not None or any(is_whole for is_whole, _, _ in self._news)
        self.server_lacks = is_needed or not is_known  # a patch needs a scene to change
        if is_needed:
            self.is_taken = False

    def next_message(self, base, limits):
        """(head, members as bytes, its SceneTexts), or None. `base`: the revision that the server
        has, None where only a whole scene will do."""
        with self._lock:
            news, self._news = self._news, []
            if not news and (self._texts is None or self.is_taken):
                return None
            self._is_working = True
        texts = rest = error = None
        try:
            texts = _updated(self._texts, news)
            if texts is not None:
                head, rest = texts.message(base, limits)
        except NotJson as problem:
            texts, error = None, str(problem)
        with self._lock:
            self._is_working, self._texts = False, texts
            # What cannot be sent waits for the next change.
            self.is_unsent = self.is_taken = rest is None
            self.server_lacks = rest is None and not news[-1][0]  # a patch had no scene to change
            self.is_shared = self.is_shared or rest is not None and texts.members is not None
        if error is not None:
            self._fail("the scene was not sent: %s" % error)
        elif news:
            self._fail(None)
        return None if rest is None else (head, rest, texts)

    def answered(self, sent, error):
        """What the server answered, or that the connection was lost before."""
        with self._lock:
            if self._texts is not sent:
                return
            if error is None:
                self.is_taken = True
                if sent.members is None:
                    self.is_shared = False
                return
            if not error.caused_by_us or error.code == "stale":
                return  # it is sent again, whole
            self.is_taken = self.is_unsent = True
            if error.code == "lost":  # it may have been the reason
                self._texts = None
        self._fail("the scene was given up: %s" % error.text if error.code == "lost"
                   else "the server refused the scene: %s" % error.text)


class SceneTexts(object):
    """A scene as texts of JSON, and what of it was not sent yet. Of one thread."""

    def __init__(self, members, objects):
        self.members = members  # name -> text; None: the scene is null
        self.objects = objects  # id -> text; None: it came by set_scene(), which tells it whole
        self._news = None  # names of members, ids of objects; None: only the whole scene tells it

    def change(self, members, objects):
        """Changes this scene, which has objects, at the cost of what changes. None: it is gone."""
        for at, (texts, given) in enumerate(((self.members, members), (self.objects, objects))):
            for name, text in given.items():
                if text is None:
                    texts.pop(name, None)
                else:
                    texts[name] = text
            if self._news is not None:
                self._news[at].update(dict.fromkeys(given, True))

    def message(self, base, limits):
        """(head, members as bytes) of a scene.patch or scene.set. Raises NotJson where it is too large."""
        if base is not None and self._news is not None and (
                len(self.objects) <= limits["max_patched_objects"]):
            head, text = {"type": "scene.patch", "base": base}, self._patch()
        else:
            head, text = {"type": "scene.set"}, self._whole()
        length = len(text) + ENVELOPE_BYTES
        if length > limits["max_message_bytes"]:
            raise NotJson("its message would be %d bytes long and the server takes %d" % (
                length, limits["max_message_bytes"]))
        self._news = None if self.objects is None else ({}, {})
        return head, text.encode("ascii")

    def _patch(self):
        (members, unset), (objects, removed) = [
            ([name for name in names if name in texts], [name for name in names if name not in texts])
            for names, texts in zip(self._news, (self.members, self.objects))]
        return ",".join([
            '"objects":[' + ",".join(self.objects[id] for id in objects) + "]",
            '"removed":' + json_text(removed),
            '"members":{' + ",".join(_member(name, self.members[name]) for name in members) + "}",
            '"unset":' + json_text(unset)])

    def _whole(self):
        if self.members is None:
            return '"scene":null'
        members = [_member(name, text) for name, text in self.members.items()]
        if self.objects is not None:
            members.append('"objects":[' + ",".join(self.objects.values()) + "]")
        return '"scene":{' + ",".join(members) + "}"


def _updated(texts, news):
    """The texts with what was handed over since; None: there is no scene to change. Raises NotJson."""
    for is_whole, members, objects in news:
        if is_whole:
            if objects is not None:
                members = omit_none(**members)
            texts = SceneTexts(members and _encode_whole(members), objects)
        elif texts is not None and texts.objects is not None:
            texts.change({name: None if value is None else json_text(value, None, True)
                          for name, value in members.items()}, objects)
    return texts


def _encode_whole(members):
    """Texts by name. What JSON has no form for adds a warning to the scene."""
    replaced = collections.Counter()
    texts = {str(name): json_text(value, replaced, True) for name, value in members.items()}
    if replaced:
        warnings = list(members.get("warnings") or ())
        warnings += [{"code": code, "count": count} for code, count in sorted(replaced.items())]
        texts["warnings"] = json_text(warnings)
    return texts


def _member(name, text):
    return json_text(name) + ":" + text


class OfferedObjects(object):
    """The objects of the scene as resources `<scheme>://<id>`: which there are, and which changed.

    Main thread only. `touch` collects what changed, `tell` tells it, when the scene is told."""

    MAX_LISTED = 200  # the rest is found in the scene, and read by the template
    MAX_TOLD = 100

    def __init__(self, link, scheme, description, mime="application/json"):
        self.scheme = scheme
        self._link, self._mime = link, mime
        self._template = {"uriTemplate": scheme + "://{name}", "name": "One object",
                          "description": description, "mimeType": mime}
        self._is_offered = None  # False: refused; None: neither yet
        self._touched = {}
        self._listed = []

    def offer(self, is_offered=True):
        """False: lists nothing, and has no template; a read still arrives, and on_read refuses it."""
        if is_offered != self._is_offered:
            self._is_offered, self._listed = is_offered, []
            self._register()

    def touch(self, ids):
        """These changed since they were told."""
        for id in ids:
            if len(self._touched) < self.MAX_TOLD:
                self._touched[id] = True

    def tell(self, ids=None):
        """Tells what was touched; `ids`: those to list now, the first ones count, None: as before."""
        if ids is not None and self._is_offered:
            ids = list(ids)[:self.MAX_LISTED]
            if ids != self._listed:
                self.touch(sorted(set(self._listed) - set(ids)))
                self._listed = ids
                self._register()
        touched, self._touched = self._touched, {}
        for id in touched:
            self._link.updated(self.uri(id))

    def uri(self, id):
        return "%s://%s" % (self.scheme, urllib.parse.quote(clean_text(id), safe=""))

    def id_of(self, uri):
        """The id in an address, as clean_text() makes it."""
        name = uri.partition("://")[2].split("#")[0].split("?")[0]
        return urllib.parse.unquote(name)

    def _register(self):
        resources = [{"uri": self.uri(id), "name": clean_text(id), "mimeType": self._mime}
                     for id in self._listed]
        self._link.register(self.scheme, resources, [self._template] if self._is_offered else [])


class Feed(object):
    """The newest audit records or events that the server has not acknowledged.

    What a lost connection or a passing refusal left out is sent again: each arrives at least once,
    unless it was the oldest of too many. Call with the lock of the link."""

    def __init__(self, type, name):
        self.type, self.name = type, name  # of the message, and of its list
        self.in_flight = []
        self.alone = 0  # of so many one is invalid: each goes in a message of its own
        self._items = collections.deque()  # (session id or None, text)

    def __len__(self):
        return len(self._items) + len(self.in_flight)

    def add(self, session, text):
        self._items.append((session, text))
        self._trim()

    def take(self, max_count, max_bytes):
        """(session, texts) of the oldest that fit in one message: of one session, in order."""
        if self.alone:
            self.alone, max_count = self.alone - 1, 1
        session, size = self._items[0][0], 0
        while self._items and self._items[0][0] == session and len(self.in_flight) < max_count:
            size += len(self._items[0][1]) + 1
            if self.in_flight and size > max_bytes:
                break
            self.in_flight.append(self._items.popleft())
        return session, [text for _, text in self.in_flight]

    def restore(self):
        """What is still in flight waits again."""
        self._items.extendleft(reversed(self.in_flight))
        self.in_flight = []
        self._trim()

    def _trim(self):
        while self._items and len(self) > MAX_WAITING:
            self._items.popleft()
