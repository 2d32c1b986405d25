"""The scene as texts of JSON: of each object and of each other member."""

import json

from .json_text import compact_json, encode_json, pieces
from .limits import MAX_DEPTH

# The server takes ids of up to so many characters.
MAX_ID = 255


class SceneTexts(object):
    """What was serialised of one scene, to find out what another one changes."""

    def __init__(self, members, objects, sources=None):
        self.members = members  # name -> text; None: the scene is null
        self.objects = objects  # id -> text; None: it has no objects that each have their own id
        self.length = sum(len(text) for texts in (members, objects) if texts
                          for text in texts.values())
        self._sources = sources or {}  # id of a value -> (the value, its text)

    def text_of(self, value):
        """The text of the same value, which is not changed once it was handed over; else None."""
        source = self._sources.get(id(value))
        return source[1] if source is not None else None

    @property
    def whole(self):
        if self.members is None:
            return b"null"
        parts = [compact_json(name) + ":" + text for name, text in self.members.items()]
        if self.objects is not None:
            parts.append('"objects":[' + ",".join(self.objects.values()) + "]")
        return ("{" + ",".join(parts) + "}").encode("ascii")

    def changes_since(self, old):
        """The members of a scene.patch as bytes, or None where the whole scene is better."""
        if old.objects is None or self.objects is None:
            return None
        left = [id for id in old.objects if id not in self.objects]
        stayed = [id for id in old.objects if id in self.objects]
        if list(self.objects)[:len(stayed)] != stayed:
            return None  # a patch does not change the order
        objects = [text for id, text in self.objects.items() if old.objects.get(id) != text]
        members = [(name, text) for name, text in self.members.items()
                   if old.members.get(name) != text]
        unset = [name for name in old.members if name not in self.members]
        if not (left or objects or members or unset):
            if not self.members:
                return None
            # Readers are told of every scene, also of an equal one.
            members = [min(self.members.items(), key=lambda member: len(member[1]))]
        parts = ['"objects":[' + ",".join(objects) + "]", '"removed":' + compact_json(left),
                 '"members":{' + ",".join(
                     compact_json(name) + ":" + text for name, text in members) + "}",
                 '"unset":' + compact_json(unset)]
        return ",".join(parts).encode("ascii")


def encode_scene(scene, shares=False, before=None):
    """(SceneTexts, number of non-finite numbers sent as null). Raises NotJson.

    shares: objects and lists that the SceneTexts `before` has are not serialised again."""
    if scene is None:
        return SceneTexts(None, None), 0
    if not all(type(name) is str for name in scene):
        scene = json.loads(encode_json(scene)[0])
    replaced, sources = 0, {}

    def text_of(value, encode, levels):
        text = before.text_of(value) if shares and before is not None else None
        if text is None:
            text, count = encode_json(value, encode, levels)
            nonlocal replaced
            replaced += count
        if shares and isinstance(value, (dict, list)):
            sources[id(value)] = (value, text)
        return text

    by_id = _by_id(scene.get("objects"))
    members, objects = {}, None
    for name, value in scene.items():
        if name == "objects" and by_id is not None:
            objects = {name: text_of(each, compact_json, MAX_DEPTH - 2) for name, each in by_id.items()}
        else:
            members[name] = text_of(value, _in_pieces, MAX_DEPTH - 1)
    return SceneTexts(members, objects, sources), replaced


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
