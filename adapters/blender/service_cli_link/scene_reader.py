"""What is known of the objects of the scene: those that Blender names are read at once, all others in
turn."""

import gc
from collections import Counter
from itertools import islice

import bpy

from . import object_facts, scene_facts
from .service_host_link import json_text
from .values import REPLACED, Cleaner, name_of, names_of

# What may have changed beside the objects that Blender names: other members of the scene; which
# objects there are, are shown and selected; anything.
MEMBERS, NAMES, EVERYTHING = 1, 2, 3
# Objects between two looks at the clock that are read, and that are compared.
STEP = 8
COMPARED = 64
# The end of the text of a selected object.
SELECTED = ',"selected":true}'


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
        self.replaced = set()  # names with bytes that are not UTF-8
        self.selected = set()
        self.listing_changed = True  # also where a scene has no objects
        self._clock = clock
        self._identities = identities
        self._kinds = {}
        self._parents = {}
        self._hidden = set()
        self._memberships = {}
        self._bytes = 0
        self._changed = {}
        self._dirty = {}
        self._reselected = set()  # names
        self._stale = set()  # names to be read again by the next scan
        self._wanted = 0  # NAMES or EVERYTHING: what the next scan looks at
        self._scan = None
        self.fits = False  # what was read belongs together, even if more has changed since

    @property
    def busy(self):
        """Something that Blender told of is not read yet."""
        return bool(self._dirty) or self.scanning

    @property
    def scanning(self):
        return self._wanted > 0 or (self._scan is not None and not self._scan.verifies)

    @property
    def verifying(self):
        return self._scan is not None and self._scan.verifies

    def note(self, items, look):
        """Objects by name that Blender says have changed, and what else may have."""
        for name, item in items.items():
            if name in self._kinds:
                self._dirty[name] = item
            else:
                look = max(look, NAMES)
        if look < NAMES:
            return
        self._wanted = max(self._wanted, look)
        if look == EVERYTHING:
            self._dirty.clear()
        if self._scan is not None and (self._scan.verifies or look > self._scan.looks):
            self._scan = None

    def verify(self):
        """Reads everything once more: Blender does not tell of every change."""
        self._begin(_Scan(EVERYTHING, True))

    def give_up(self):
        """What was to be read is left, until something changes."""
        self._dirty.clear()
        self._wanted, self._scan = 0, None

    def take(self):
        """The texts that changed since the last call, None for objects that are gone."""
        changed, self._changed = self._changed, {}
        return changed

    def work(self, seconds, is_late=False):
        """Goes on reading for about so long. `is_late`: the scene must be told soon. When objects
        came or went during a scan, all names are then compared once more, without a pause: else no
        scene would be told where changes come faster than scans end."""
        until = self._clock() + seconds
        self.fits = False
        is_collecting = gc.isenabled()
        gc.disable()  # it takes longer than a slice
        try:
            while self._step(is_late) and self._clock() < until:
                pass
        except ReferenceError:
            self._scan = None
            self.note({}, EVERYTHING)
        finally:
            if is_collecting:
                gc.enable()

    def _step(self, is_late):
        """False: nothing is left to do, or what was read can be told."""
        for name in list(islice(self._dirty, STEP)):
            item = self._dirty.pop(name)
            if name_of(item) == name:  # else it was renamed: comparing the names finds it
                self._read(name, item)
        if self._scan is None and self._wanted:
            self._begin(_Scan(self._wanted, False))
        elif self._scan is not None and not self._advance(self._scan):
            wanted = self._wanted
            while self._wanted and is_late:
                scan = _Scan(NAMES, False)
                self._begin(scan)
                while self._advance(scan):
                    pass
            self.fits = not self._wanted
            if wanted == EVERYTHING:
                self._wanted = wanted
            return not self.fits
        return self.busy or self.verifying

    def _begin(self, scan):
        self._scan, self._wanted = scan, 0
        names = set(names_of(bpy.context.view_layer.objects.selected))
        self._reselected |= names ^ self.selected
        self.selected = names
        if self.detail == object_facts.FULL:
            before, self._memberships = self._memberships, scene_facts.memberships(bpy.context.scene)
            self._stale.update(name for name in before.keys() | self._memberships.keys()
                               if before.get(name) != self._memberships.get(name))

    def _advance(self, scan):
        """Looks at the next objects; False at the end."""
        kinds, hidden, stale, everything = self._kinds, self._hidden, self._stale, scan.looks == EVERYTHING
        items = list(islice(scan.items, STEP if everything else COMPARED))
        names = names_of(items)
        scan.seen.update(names)
        for name, item in zip(names, items):
            if (everything or name not in kinds or name in stale
                    or (name in hidden) == item.visible_get()):
                stale.discard(name)
                self._read(name, item)
        for name in list(islice(self._reselected, COMPARED)):
            self._reselected.discard(name)
            self._reselect(name, name in self.selected)
        if items or self._reselected:
            return True
        self._scan = None
        # What was seen is known: as many known as seen, and none is gone.
        gone = kinds.keys() - scan.seen if len(kinds) > len(scan.seen) else set()
        for name in gone:
            self._drop(name)
        self.total = len(scan.seen)
        self._stale = set()
        if gone and not everything:
            # Renamed, perhaps: its children tell the name of their parent.
            self._stale = {name for name, parent in self._parents.items() if parent in gone}
            if self._stale:
                self._wanted = max(self._wanted, NAMES)
        return False

    def _read(self, name, item):
        cleaner = Cleaner()
        facts = object_facts.object_facts(
            item, name, self._identities.uid(item, name), self.detail, cleaner, self._memberships)
        text = json_text(facts)
        if name in self.selected:
            text = text[:-1] + SELECTED
        before = self.texts.get(name)
        if text == before:
            return
        self._count(name, facts["type"])
        if before is None and self._is_full(text):
            return
        self._set(name, text)
        self.not_finite.pop(name, None)
        if cleaner.dropped:
            self.not_finite[name] = cleaner.dropped
        if REPLACED in name:
            self.replaced.add(name)
        (self._hidden.discard if facts["visible"] else self._hidden.add)(name)
        if facts["parent"] is None:
            self._parents.pop(name, None)
        else:
            self._parents[name] = facts["parent"]

    def _reselect(self, name, is_selected):
        """Without reading it again, which takes much longer."""
        before = self.texts.get(name)
        if before is not None and is_selected != before.endswith(SELECTED):
            self._set(name, before[:-1] + SELECTED if is_selected else before[: -len(SELECTED)] + "}")

    def _set(self, name, text):
        self._bytes += len(text) - len(self.texts.get(name, ""))
        self.texts[name] = self._changed[name] = text

    def _is_full(self, text):
        most = self.limits["max_message_bytes"] * 0.9
        return (len(self.texts) >= self.limits["max_patched_objects"]
                or self._bytes + len(text) > most)

    def _drop(self, name):
        if name in self.texts:
            self._bytes -= len(self.texts.pop(name))
            self._changed[name] = None
        self._hidden.discard(name)
        self.replaced.discard(name)
        self._parents.pop(name, None)
        self.not_finite.pop(name, None)
        self._dirty.pop(name, None)
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

    def listed(self):
        """Names for a list: cameras and lights first."""
        return sorted(self._kinds, key=lambda name: self._kinds[name] not in ("camera", "light"))


class _Scan:
    """A walk through all objects of the scene."""

    __slots__ = ("items", "looks", "verifies", "seen")

    def __init__(self, looks, verifies):
        self.items = iter(bpy.context.scene.objects[:])
        self.looks = looks  # NAMES: reads only objects that came, went or were shown or hidden
        self.verifies = verifies
        self.seen = set()
