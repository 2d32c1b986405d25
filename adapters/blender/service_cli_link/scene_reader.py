"""What is known of the objects of the scene, and reading again what may have changed."""

import gc
from collections import Counter
from itertools import islice

import bpy

from . import finite, object_facts, scene_facts
from .service_host_link import json_text

# Objects between two looks at the clock that are read, and that are compared.
STEP = 8
COMPARED = 64
# More that wait to be read are found by reading everything.
MAX_QUEUED = 1000
# The end of the text of a selected object.
SELECTED = ',"selected":true}'
# What may have changed: which objects there are, are shown and selected; most likely only which are
# selected; more objects than can be named; anything.
NAMES, SELECTION, MANY, EVERYTHING = "names", "selection", "many", "everything"
# What is looked at then and, in this order, told.
_LOOKS = {NAMES: [NAMES], SELECTION: [SELECTION, NAMES], MANY: [NAMES, EVERYTHING]}


class SceneReader:
    """Holds the JSON text of every object, and reads objects in slices of time. Main thread only.

    Held references are safe: touched after Blender has freed what they stand for, they raise
    ReferenceError, and everything is read anew. Texts instead of dicts, because Python's garbage
    collector looks through all dicts again and again.
    """

    def __init__(self, detail, limits, clock, identities):
        self.detail = detail
        self.limits = limits
        self.texts = {}
        self.counts = Counter()  # by common type
        self.total = 0  # objects of the scene, also those that are left out
        self.not_finite = {}  # name -> numbers left out
        self.selected = set()
        self.listing_changed = False
        self._clock = clock
        self._identities = identities
        self._kinds = {}
        self._parents = {}
        self._hidden = set()
        self._memberships = {}
        self._bytes = 0
        self._changed = {}
        self._queue = {}
        self._stale = set()  # names to be read again by the next scan
        self._reselected = set()  # names
        self._wanted = []  # what to look at, one after the other
        self._outdated = False  # objects came or went since the last walk began
        self._scan = None
        self._is_whole = False
        self._is_late = False

    @property
    def busy(self):
        """Something that Blender told of is not read yet."""
        return bool(self._queue) or self.scanning

    @property
    def scanning(self):
        is_scanning = self._scan is not None and not self._scan.verifies
        return is_scanning or bool(self._reselected or self._wanted)

    @property
    def fits(self):
        """What was read belongs together, so it can be told, even if more has changed since."""
        return self._is_whole or not self.busy

    @property
    def verifying(self):
        return self._scan is not None and self._scan.verifies

    def note(self, items):
        """Objects by name that Blender says have changed."""
        for name, item in items.items():
            if name in self._kinds:
                self._queue[name] = item
            else:
                self.look_again()
        if len(self._queue) > MAX_QUEUED:
            self.read_again()

    def look_again(self, look=NAMES):
        """For all but EVERYTHING."""
        self._outdated = self._outdated or look != SELECTION
        if self._wanted[:1] != [EVERYTHING]:
            rest = [EVERYTHING] if EVERYTHING in self._wanted and look != MANY else []
            self._wanted = _LOOKS[look] + rest
        if self.verifying:
            self._scan = None

    def read_again(self):
        """Anything may have changed."""
        self._outdated = True
        self._wanted = [EVERYTHING]
        self._queue.clear()
        if self._scan is not None and (self._scan.verifies or not self._scan.everything):
            self._scan = None

    def give_up(self):
        """What was to be read is left, until something changes."""
        self._queue.clear()
        self._reselected.clear()
        self._wanted, self._scan, self._outdated = [], None, False

    def verify(self):
        """Reads everything once more: Blender does not tell of every change."""
        items = bpy.context.scene.objects[:]
        if self._hidden:  # what is hidden moves without a notice
            items.sort(key=lambda item: item.name_full not in self._hidden)
        self._begin(_Scan(items, True, True))

    def forget(self):
        """Another scene: nothing of the one before is told again."""
        self.__init__(self.detail, self.limits, self._clock, self._identities)
        self._wanted = [EVERYTHING]
        self.listing_changed = True  # also where the new scene has no objects

    def take(self):
        """The texts that changed since the last call, None for objects that are gone."""
        changed, self._changed = self._changed, {}
        return changed

    def work(self, seconds, is_late=False):
        """Goes on reading for about so long. `is_late`: the scene must be told soon. When objects came
        or went during a walk, all names are then compared once more at its end, without a pause."""
        self._is_late = is_late
        until = self._clock() + seconds
        self._is_whole = False
        is_collecting = gc.isenabled()
        gc.disable()  # it takes longer than a slice
        try:
            while self._step() and self._clock() < until:
                pass
        except ReferenceError:
            self._scan = None
            self.read_again()
        finally:
            if is_collecting:
                gc.enable()

    def _step(self):
        """False: nothing is left to do, or what was read can be told."""
        for name in list(islice(self._queue, STEP)):
            item = self._queue.pop(name)
            if item.name_full == name:  # else it was renamed: comparing the names finds it
                self._read(name, item)
        if self._reselected:
            self._reselect()
            # A scene must have all that is selected in it, and nothing that is gone.
            self._is_whole = (self._scan is None and self._wanted[:1] == [NAMES] and not self._outdated
                              and not self._reselected and self.selected <= self._kinds.keys())
            return not self._is_whole
        if self._scan is not None:
            size = STEP if self._scan.everything else COMPARED
            items = list(islice(self._scan.items, size))
            if items:
                self._look_at(items, self._scan)
            else:
                self._end(self._scan)
                while self._outdated and self._is_late:
                    self._compare_names()
                self._is_whole = not self._outdated
                return not self._is_whole
        elif self._wanted:
            wanted = self._wanted.pop(0)
            if wanted == SELECTION:
                self._look_at_selection()
            else:
                self._begin(_Scan(bpy.context.scene.objects[:], wanted == EVERYTHING, False))
        return self.busy or self.verifying

    def _look_at_selection(self):
        names = {item.name_full for item in bpy.context.view_layer.objects.selected}
        self._reselected |= names ^ self.selected
        self.selected = names

    def _begin(self, scan):
        self._scan = scan
        self._outdated = False
        self._look_at_selection()
        if self.detail == object_facts.FULL:
            before, self._memberships = self._memberships, scene_facts.memberships(bpy.context.scene)
            self._stale.update(name for name in before.keys() | self._memberships.keys()
                               if before.get(name) != self._memberships.get(name))

    def _compare_names(self):
        """Without a pause: else no scene would be told where changes come faster than walks end."""
        scan = _Scan(bpy.context.scene.objects[:], False, False)
        self._begin(scan)
        while self._reselected:
            self._reselect()
        self._look_at(list(scan.items), scan)
        self._end(scan)

    def _look_at(self, items, scan):
        kinds, hidden, stale, everything = self._kinds, self._hidden, self._stale, scan.everything
        names = [item.name_full for item in items]
        scan.seen.update(names)
        for name, item in zip(names, items):
            if (everything or name not in kinds or name in stale
                    or (name in hidden) == item.visible_get()):
                stale.discard(name)
                self._read(name, item)

    def _end(self, scan):
        self._scan = None
        # What was seen is known: as many known as seen, and none is gone.
        gone = self._kinds.keys() - scan.seen if len(self._kinds) > len(scan.seen) else set()
        for name in gone:
            self._drop(name)
        self.total = len(scan.seen)
        self._stale = set()
        if gone and not scan.everything:
            # Renamed, perhaps: its children tell the name of their parent.
            self._stale = {name for name, parent in self._parents.items() if parent in gone}
            if self._stale:
                self.look_again()

    def _read(self, name, item):
        cleaner = finite.Cleaner()
        facts = object_facts.object_facts(
            item, self._identities.uid(item, name), self.detail, cleaner, self._memberships)
        text = json_text(facts)
        if name in self.selected:
            text = text[:-1] + SELECTED
        before = self.texts.get(name)
        if text == before:
            return
        self._count(name, facts["type"])
        if before is None and self._is_full(text):
            return
        self._bytes += len(text) - len(before or "")
        self.texts[name] = self._changed[name] = text
        self.not_finite.pop(name, None)
        if cleaner.dropped:
            self.not_finite[name] = cleaner.dropped
        (self._hidden.discard if facts["visible"] else self._hidden.add)(name)
        if facts["parent"] is None:
            self._parents.pop(name, None)
        else:
            self._parents[name] = facts["parent"]

    def _reselect(self):
        """So many, without reading them again, which takes much longer."""
        reselected, selected, texts, changed = (
            self._reselected, self.selected, self.texts, self._changed)
        for _ in range(min(len(reselected), COMPARED)):
            name = reselected.pop()
            before, is_selected = texts.get(name), name in selected
            if before is not None and is_selected != before.endswith(SELECTED):
                text = before[:-1] + SELECTED if is_selected else before[: -len(SELECTED)] + "}"
                texts[name] = changed[name] = text
                self._bytes += len(text) - len(before)

    def _is_full(self, text):
        most = self.limits["max_message_bytes"] * 0.9
        return (len(self.texts) >= self.limits["max_patched_objects"]
                or self._bytes + len(text) > most)

    def _drop(self, name):
        if name in self.texts:
            self._bytes -= len(self.texts.pop(name))
            self._changed[name] = None
        self._hidden.discard(name)
        self._parents.pop(name, None)
        self.not_finite.pop(name, None)
        self._queue.pop(name, None)
        self._count(name, None)

    def _count(self, name, kind):
        before = self._kinds.pop(name, None)
        if kind is not None:
            self._kinds[name] = kind
            self.counts[kind] += 1
        if before is not None:
            self.counts[before] -= 1
        if kind != before:
            self.listing_changed = True

    def lacks(self, name):
        """False as long as nothing was read."""
        return bool(self._kinds) and name not in self._kinds

    def listed(self, most):
        """Names for a list: cameras and lights first."""
        first = [name for name, kind in self._kinds.items() if kind in ("camera", "light")][:most]
        rest = [name for name, kind in self._kinds.items() if kind not in ("camera", "light")]
        return first + rest[: most - len(first)]


class _Scan:
    """A walk through all objects of the scene."""

    __slots__ = ("items", "everything", "verifies", "seen")

    def __init__(self, items, everything, verifies):
        self.items = iter(items)
        self.everything = everything  # else only those that came, went or were shown or hidden
        self.verifies = verifies
        self.seen = set()
