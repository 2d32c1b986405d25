"""The scene as texts of JSON: of each object and of each other member."""

import json

from .json_text import NotJson, compact_json, encode_json, pieces
from .limits import MAX_DEPTH

# The server takes ids of up to so many characters.
MAX_ID = 255


class SceneTexts(object):
    """The newest scene, serialised, and what of it was not sent yet. Of one thread."""

    def __init__(self):
        self.members = None  # name -> text; None: the scene is null
        self.objects = None  # id -> text; None: it has no objects that each have their own id
        self.length = 0  # of all texts
        self.version = 0  # of every change another one
        self._news = None  # names of members, ids of objects; None: only the whole scene tells it

    def replace(self, members, objects):
        """Takes another scene."""
        news, old, before = self._news, self.objects, self.members or {}
        # A patch does not change the order of objects that stay.
        stayed = [id for id in old if id in objects] if old and objects else []
        if news is None or objects is None or list(objects)[:len(stayed)] != stayed:
            self._news = None
        else:
            news[0].update(_differing(before, members))
            news[1].update(_differing(old, objects))
            if not (news[0] or news[1]) and members:
                # Readers are told of every scene, also of an equal one.
                news[0][min(members, key=lambda name: len(members[name]))] = True
        self.members, self.objects = members, objects
        self.length = sum(len(text) for texts in (members, objects) if texts
                          for text in texts.values())
        self.version += 1

    def change(self, members, objects):
        """Changes this scene, which has objects, at the cost of what changes. None: it is gone."""
        for at, (texts, given) in enumerate(((self.members, members), (self.objects, objects))):
            for name, text in given.items():
                self.length += len(text or "") - len(texts.pop(name, "") if text is None
                                                     else texts.get(name, ""))
                if text is not None:
                    texts[name] = text
            if self._news is not None:
                self._news[at].update(dict.fromkeys(given, True))
        self.version += 1

    def patch(self):
        """The members of a scene.patch as bytes, or None where the whole scene is better."""
        if self._news is None:
            return None
        (members, unset), (objects, removed) = [
            ([name for name in names if name in texts], [name for name in names if name not in texts])
            for names, texts in zip(self._news, (self.members, self.objects))]
        text = ",".join([
            '"objects":[' + ",".join(self.objects[id] for id in objects) + "]",
            '"removed":' + compact_json(removed),
            '"members":{' + ",".join(_member(name, self.members[name]) for name in members) + "}",
            '"unset":' + compact_json(unset)])
        return text.encode("ascii") if len(text) * 2 < self.length else None

    def whole(self):
        """The scene as the member of a scene.set, as bytes."""
        if self.members is None:
            return b'"scene":null'
        members = [_member(name, text) for name, text in self.members.items()]
        if self.objects is not None:
            members.append('"objects":[' + ",".join(self.objects.values()) + "]")
        return ('"scene":{' + ",".join(members) + "}").encode("ascii")

    def sent(self):
        """What changes from now on is news."""
        self._news = None if self.objects is None else ({}, {})


def _differing(before, after):
    names = [name for name in after if before.get(name) != after[name]]
    return dict.fromkeys(names + [name for name in before if name not in after], True)


def _member(name, text):
    return compact_json(name) + ":" + text


def encode_scene(scene):
    """(members, objects, number of non-finite numbers sent as null). Raises NotJson."""
    if scene is None:
        return None, None, 0
    if not all(type(name) is str for name in scene):
        scene = json.loads(encode_json(scene)[0])
    by_id = _by_id(scene.get("objects"))
    members = {name: value for name, value in scene.items()
               if name != "objects" or by_id is None}
    members, replaced = encode_members(members)
    if by_id is None:
        return members, None, replaced
    objects = {}
    for id, value in by_id.items():
        objects[id], count = encode_json(value, compact_json, MAX_DEPTH - 2)
        replaced += count
    return members, objects, replaced


def encode_members(members):
    """({name: text}, number of non-finite numbers sent as null). Raises NotJson."""
    texts, replaced = {}, 0
    for name, value in members.items():
        texts[name], count = encode_json(value, _in_pieces, MAX_DEPTH - 1)
        replaced += count
    return texts, replaced


def _in_pieces(value):
    return "".join(pieces(value, 1))


def _by_id(objects):
    """The objects by id, or None when one has none of its own."""
    if type(objects) not in (list, tuple):
        return None
    by_id = {}
    for each in objects:
        name = each.get("id") if type(each) is dict else None
        if not isinstance(name, str) or not 0 < len(name) <= MAX_ID or name in by_id:
            return None
        by_id[name] = each
    return by_id
