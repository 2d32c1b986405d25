"""What an object is known by as long as its file is open, whatever name it has.

The Python object of an object stays the same until the object is deleted, also when its name changes.
Undo and redo make new ones: what they changed keeps its address, and what they bring back has name,
type and data as before. An address alone says nothing: the next object that is added takes that of a
deleted one.
"""

import uuid

import bpy

from .values import name_of

MAX_GONE = 10000


class Identities:
    """Main thread only."""

    def __init__(self):
        self.start_over()

    def start_over(self):
        """Another file. Objects of two files, or of two runs of Blender, never share a uid."""
        self._prefix = uuid.uuid4().hex[:8]
        self._count = 0
        self._items = {}  # uid -> object
        self._keys = {}  # uid -> (name, type, name of the data)
        self._uids = {}  # address -> uid
        self._room = MAX_GONE

    def uid(self, item, name):
        """`name`: its full name."""
        uid = self._uids.get(item.as_pointer())
        if uid is None or self._items[uid] is not item:
            self._count += 1
            uid = "%s.%d" % (self._prefix, self._count)
            self._take(uid, item)
        elif self._keys[uid][0] != name:
            self._keys[uid] = _key(item)
        return uid

    def undoes(self):
        """Before undo and redo: what is gone by now was deleted, and others may have its address."""
        self._uids = {at: uid for at, uid in self._uids.items() if not self._is_gone(uid)}

    def undone(self):
        """After them: finds again the objects whose Python objects are dead."""
        back, gone = [], {}
        for item in bpy.data.objects:
            uid = self._uids.get(item.as_pointer())
            if uid is not None and self._is_gone(uid) and _is_alike(self._keys[uid], _key(item)):
                self._take(uid, item)
            elif uid is None or self._items[uid] is not item:
                back.append(_key(item) + (item,))
        for uid in self._items if back else ():
            if self._is_gone(uid):
                gone[self._keys[uid]] = gone[self._keys[uid][:2]] = uid
        for name, kind, data, item in back:
            uid = gone.get((name, kind, data)) or gone.get((name, kind))  # data may be renamed
            if uid is not None and self._is_gone(uid):
                self._take(uid, item)

    def name(self, uid):
        """The full name of now; None: the object is gone, or of another file or run."""
        return None if self._is_gone(uid) else name_of(self._items[uid])

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
            return not name_of(self._items[uid])
        except (KeyError, ReferenceError):  # KeyError: it is not known, or no more
            return True


def _key(item):
    data = item.data
    return name_of(item), item.type, name_of(data) if data is not None else ""


def _is_alike(one, other):
    return one[1] == other[1] and (one[0] == other[0] or one[2] == other[2])
