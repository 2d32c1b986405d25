"""What an object is known by as long as its file is open, whatever name it has.

Nothing is written into the file. Blender itself has such a number in newer versions (`session_uid`).
Before, this tells which object is which:

| what happened            | its Python object | its address      | it is known by |
|--------------------------|-------------------|------------------|----------------|
| renamed, edited          | stays             | stays            | the Python object |
| deleted, another added   | is dead           | the other's, maybe | nothing: the other one is new |
| undo, redo of an edit    | is dead           | stays            | address and type, with name or data |
| undo, redo bring it back | –                 | is new           | name and type, with the data if possible |
| another file opened      | is dead           | any              | nothing: all are new |
"""

import uuid

import bpy

MAX_GONE = 10000


class Identities:
    """Main thread only."""

    def __init__(self):
        self.start_over()

    def start_over(self):
        """Another file. Objects of two files, or of two runs of Blender, never have the same uid."""
        self._is_numbered = "session_uid" in bpy.types.ID.bl_rna.properties
        self._prefix = uuid.uuid4().hex[:8]
        self._count = 0
        self._items = {}  # uid -> object
        self._keys = {}  # uid -> (name, type, name of the data)
        self._uids = {}  # address -> uid
        self._room = MAX_GONE

    def uid(self, item, name):
        """`name`: its full name."""
        number = item.session_uid if self._is_numbered else None
        uid = self._uids.get(item.as_pointer()) if number is None else self._text(number)
        if uid is None or self._items.get(uid) is not item:
            if number is None:
                self._count += 1
                uid = self._text(self._count)
            self._take(uid, item)
        elif self._keys[uid][0] != name:
            self._keys[uid] = _key(item)
        return uid

    def undoes(self):
        """Before undo and redo: what is gone by now was deleted, and others may have its address."""
        self._uids = {at: uid for at, uid in self._uids.items() if not self._is_gone(uid)}

    def undone(self):
        """After them: finds again the objects whose Python objects are dead."""
        missed = []
        for item in bpy.data.objects:
            uid = self._uids.get(item.as_pointer())
            if uid is None or self._items[uid] is item:
                missed += [item] if uid is None else []
            elif self._is_gone(uid) and _is_alike(self._keys[uid], _key(item)):
                self._take(uid, item)
            else:
                missed.append(item)
        if missed:
            gone = {}
            for uid in self._items:
                if self._is_gone(uid):
                    gone[self._keys[uid]] = gone[self._keys[uid][:2]] = uid
            for item in missed:
                key = _key(item)
                uid = gone.get(key) or gone.get(key[:2])  # its data may have been renamed
                if uid is not None and self._is_gone(uid):
                    self._take(uid, item)

    def name(self, uid):
        """The full name of now; "": the object is gone; None: it is of another file or run."""
        if not str(uid).startswith(self._prefix):
            return None
        return "" if self._is_gone(uid) else self._items[uid].name_full

    def _text(self, number):
        return "%s.%d" % (self._prefix, number)

    def _take(self, uid, item):
        if len(self._items) > self._room:
            for gone in [each for each in self._items if self._is_gone(each)]:
                del self._items[gone], self._keys[gone]
            self._uids = {at: each for at, each in self._uids.items() if each in self._items}
            self._room = 2 * len(self._items) + MAX_GONE
        self._items[uid] = item
        self._uids[item.as_pointer()] = uid
        self._keys[uid] = _key(item)

    def _is_gone(self, uid):
        try:
            return not self._items[uid].name_full
        except (KeyError, ReferenceError):  # KeyError: it was forgotten
            return True


def _key(item):
    data = item.data
    return item.name_full, item.type, data.name_full if data is not None else ""


def _is_alike(one, other):
    return one[1] == other[1] and (one[0] == other[0] or one[2] == other[2])
