"""The scene: what Blender reports is read, and told as soon as that costs little."""

import traceback

import bpy

from . import finite, snapshot
from .cadence import Cadence
from .scene_reader import EVERYTHING, MANY, NAMES, SELECTION, SceneReader

# What may have changed beside the objects that Blender names, less than what the reader knows: the
# other members of the scene.
MEMBERS = "members"

# Of the main thread: in a handler, which people wait for, and at each tick of the timer.
HANDLER_SECONDS = 0.002
TICK_SECONDS = 0.0035
# Before the first scene of a file is told.
FIRST_SECONDS = 0.03
# At most one in fifty of the time that goes by between two ticks.
QUIET_SECONDS = 0.001
# This long after the last change everything is read, because Blender does not name all changes.
VERIFY_SECONDS = 1.0
# Between two scenes while no client follows them; a reader asks for a refresh.
UNFOLLOWED_SECONDS = 2.0


class SceneWatch:
    """Reads and tells the scene of one connection. Main thread only."""

    def __init__(self, link, detail, clock, identities, document, warnings, on_told):
        self.failure = None
        self.tells = True  # False: the objects are only listed
        self._link = link
        self._on_told = on_told
        self._clock = clock
        self._document = document
        self._warnings = warnings
        self._cadence = Cadence(clock)
        self._reader = SceneReader(detail, link.limits, clock, identities)
        self._members = None  # as they were told; None: nothing was
        self._change_count = 0
        self._verify_at = None
        self._is_reading = False
        self._all_members = True
        self._spent = 0.0
        self.forget()

    @property
    def busy(self):
        """Something waits to be read, and can be."""
        return self._reader.busy and self._wanted

    @property
    def settled(self):
        """Nothing is left to read or to tell."""
        return not self._reader.busy and not self._cadence.dirty

    def lacks(self, name):
        return not self._reader.busy and self._reader.lacks(name)

    def forget(self):
        """Another file or scene: nothing is told of it before all of it was read."""
        self._reader.forget()
        self._members = None
        self._all_members = True
        self._cadence.changed()

    def changed(self, items, look, may_read=True):
        """`items`: objects by name; `look`: what else may have changed. Reads and tells at once
        what there is time for."""
        if self.failure is not None:
            look = EVERYTHING  # of what failed, something was not read
        if look != MANY:  # which are too many to be told one after the other
            self._reader.note(items)
        # Names that come or go: the camera and the selection are told by the same names, together.
        if look is not None or self._reader.scanning:
            self._all_members = True
        if look == EVERYTHING:
            self._reader.read_again()
        elif look in (NAMES, SELECTION, MANY):
            self._reader.look_again(look)
        self._verify_at = self._clock() + VERIFY_SECONDS
        if self._cadence.changed() and may_read and self._wanted and not self._is_reading:
            self._advance(HANDLER_SECONDS)

    def rested(self):
        """Long enough after the last time, compared with what it took."""
        return self._cadence.rested()

    def tick(self, is_playing):
        limits = self._reader.limits = self._link.limits
        least = 0 if self._link.scene_wanted else UNFOLLOWED_SECONDS
        self._cadence.least = max(least, limits.get("scene_min_interval_ms", 0) / 1000.0)
        # After a failed read the reader holds only a part of the scene.
        if self._link.need_scene and self.failure is None:
            self._cadence.changed()
        if not self._wanted:
            return
        is_quiet = self._verify_at is not None and self._clock() >= self._verify_at
        if is_quiet and not self._reader.busy and not is_playing:
            self._verify_at = None
            self._reader.verify()
        if self._reader.verifying:
            if self._advance(QUIET_SECONDS) and not self._reader.verifying:
                self.failure = None  # everything was read
                self._all_members = True
                self._cadence.changed()
        elif self._reader.busy:
            seconds = QUIET_SECONDS if is_playing else TICK_SECONDS
            self._advance(FIRST_SECONDS if self._members is None else seconds)
        elif self._cadence.due():
            self._advance(0)

    def refresh(self):
        """A reader waits: reads and tells at once. False: something is left to tell."""
        if self._wanted and not self.settled:
            self._cadence.hurry()
            self._advance(FIRST_SECONDS)
        return self.settled and self.failure is None

    @property
    def _wanted(self):
        """False while the scene before is still on its way, or without a server."""
        return self._link.connected and self._link.scene_settled

    def _advance(self, seconds):
        """Reads for so long, and tells what was read when nothing is left. False: reading failed."""
        began = self._clock()
        self._is_reading = True
        try:
            if seconds:
                self._reader.work(seconds, self._cadence.late and self._cadence.rested())
            if seconds != QUIET_SECONDS:  # which is little in any case
                self._spent += self._clock() - began
            # Where changes come faster than they are read, the queue is never empty.
            is_late = self._cadence.late and not self._reader.scanning
            if (self._reader.fits or is_late) and self._cadence.due():
                began = self._clock()
                self._tell()
                self._on_told(self._reader)
                self._rest(self._clock() - began)
                if self._reader.busy:
                    self._cadence.changed()
                    self._all_members = self._reader.scanning
                self.failure = None
            return True
        except Exception as error:
            self._failed(error)
            return False
        finally:
            self._is_reading = False

    def _rest(self, seconds):
        self._cadence.collected(self._spent + seconds)
        self._spent = 0.0

    def _tell(self):
        members = self._read_members()
        if not self.tells:
            self._reader.take()
        elif self._members is None or self._link.need_scene:
            self._change_count += 1
            self._reader.take()
            stamped = dict(members, **snapshot.stamp(self._change_count))
            self._link.patch_scene(stamped, dict(self._reader.texts), True)
        else:
            objects = self._reader.take()
            told = {name: members.get(name) for name in members.keys() | self._members.keys()
                    if members.get(name) != self._members.get(name)}
            if objects or told:
                self._change_count += 1
                self._link.patch_scene(dict(told, **snapshot.stamp(self._change_count)), objects)
        self._members = members
        self._all_members = False

    def _read_members(self):
        if self._all_members or self._members is None:
            return snapshot.members(self._reader, self._warnings(), self._document())
        # Where nothing but objects changed: what Blender gives no notice of.
        document = finite.without_nothing(self._document())
        members = dict(self._members, document=document, **snapshot.view())
        return members

    def _failed(self, error):
        """Said once and not at each change; whatever Blender was doing goes on."""
        failure = "the scene could not be read: %s: %s" % (type(error).__name__, error)
        self._reader.give_up()
        self._rest(0.0)
        if failure != self.failure:
            self.failure = failure
            traceback.print_exc()
