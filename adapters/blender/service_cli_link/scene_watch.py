"""The scene is told as soon as that costs little."""

import traceback

from . import scene_facts
from .scene_reader import EVERYTHING, SceneReader
from .values import without_nothing

# Of the main thread: in a handler, which people wait for, and at each tick of the timer.
HANDLER_SECONDS = 0.002
TICK_SECONDS = 0.0035
# Before the first scene of a file is told.
FIRST_SECONDS = 0.03
# At most one in fifty of the time that goes by between two ticks.
QUIET_SECONDS = 0.001
# This long after the last change everything is read, because Blender does not name all changes.
VERIFY_SECONDS = 1.0
# Between two scenes: at least, and while no client follows them; a reader asks for a refresh.
LEAST_SECONDS = 0.03
UNFOLLOWED_SECONDS = 2.0
# Reading and telling take less than 2 % of the time, unless a change would wait longer than this.
COST_RATIO = 50
MOST_SECONDS = 0.5


class SceneWatch:
    """Reads and tells the scene of one connection. Main thread only."""

    def __init__(self, link, detail, clock, identities, document, on_told):
        self.failure = None
        self._link = link
        self._detail = detail
        self._identities = identities
        self._on_told = on_told
        self._clock = clock
        self._document = document
        self._change_count = 0
        self._verify_at = None
        self._is_reading = False
        self._spent = 0.0
        self._told_at = None
        self._cost = 0.0
        self._changed_at = None  # of the first change that was not told
        self._least = 0.0  # seconds, beside what the cost demands
        self.forget()

    def forget(self):
        """Another file or scene: nothing is told of it before all of it was read."""
        self._reader = SceneReader(self._detail, self._link.limits, self._clock, self._identities)
        self._reader.note({}, EVERYTHING)
        self._members = None  # as they were told; None: nothing was
        self._all_members = True
        self._unsaid()

    @property
    def busy(self):
        """Something waits to be read, and can be."""
        return self._reader.busy and self._wanted

    @property
    def settled(self):
        """Nothing is left to read or to tell."""
        return not self._reader.busy and self._changed_at is None

    def lacks(self, name):
        return not self._reader.busy and self._reader.lacks(name)

    def changed(self, items, look=0, may_read=True):
        """`items`: objects by name; `look`: what else may have changed. Reads and tells at once
        what there is time for."""
        if self.failure is not None:
            look = EVERYTHING  # of what failed, something was not read
        self._reader.note(items, look)
        # Names that come or go: the camera and the selection are told by the same names, together.
        if look or self._reader.scanning:
            self._all_members = True
        self._verify_at = self._clock() + VERIFY_SECONDS
        self._unsaid()
        if self.rested and may_read and self._wanted and not self._is_reading:
            self._advance(HANDLER_SECONDS)

    @property
    def rested(self):
        """Long enough after the last time, compared with what it took."""
        interval = max(LEAST_SECONDS, min(COST_RATIO * self._cost, MOST_SECONDS), self._least)
        return self._told_at is None or self._clock() - self._told_at >= interval

    def tick(self, is_playing):
        self._reader.limits = self._link.limits
        self._least = 0.0 if self._link.scene_wanted else UNFOLLOWED_SECONDS
        # After a failed read the reader holds only a part of the scene.
        if self._link.need_scene and self.failure is None:
            self._unsaid()
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
                self._unsaid()
        elif self._reader.busy:
            seconds = QUIET_SECONDS if is_playing else TICK_SECONDS
            self._advance(FIRST_SECONDS if self._members is None else seconds)
        elif self._changed_at is not None and self.rested:
            self._advance(0)

    def refresh(self):
        """A reader waits: reads and tells at once. False: something is left to tell."""
        if self._wanted and not self.settled:
            self._told_at = None
            self._advance(FIRST_SECONDS)
        return self.settled and self.failure is None

    def _unsaid(self):
        if self._changed_at is None:
            self._changed_at = self._clock()

    @property
    def _is_late(self):
        """The first change that was not told should have been told by now."""
        return self._changed_at is not None and self._clock() - self._changed_at >= MOST_SECONDS

    @property
    def _wanted(self):
        """False while the scene before is still on its way, or without a server."""
        return self._link.connected and self._link.scene_settled

    def _advance(self, seconds):
        """Reads for so long, and tells what was read when nothing is left. False: reading failed."""
        began = self._clock()
        self._is_reading = True
        reader = self._reader
        try:
            if seconds:
                reader.work(seconds, self._is_late and self.rested)
            if seconds != QUIET_SECONDS:  # which is little in any case
                self._spent += self._clock() - began
            # Where changes come faster than they are read, some are always left.
            fits = reader.fits or not reader.busy or (self._is_late and not reader.scanning)
            if fits and self._changed_at is not None and self.rested:
                began = self._clock()
                self._tell()
                self._on_told(reader)
                self._rest(self._clock() - began)
                if reader.busy:
                    self._unsaid()
                    self._all_members = reader.scanning
                self.failure = None
            return True
        except Exception as error:
            self._failed(error)
            return False
        finally:
            self._is_reading = False

    def _rest(self, seconds):
        self._cost = self._spent + seconds
        self._told_at = self._clock()
        self._changed_at, self._spent = None, 0.0

    def _tell(self):
        members = self._read_members()
        objects = self._reader.take()
        if self._members is None or self._link.need_scene:
            self._send(members, dict(self._reader.texts), True)
        else:
            told = {name: members.get(name) for name in members.keys() | self._members.keys()
                    if members.get(name) != self._members.get(name)}
            if objects or told:
                self._send(told, objects, False)
        self._members = members
        self._all_members = False

    def _send(self, members, objects, whole):
        self._change_count += 1
        stamped = dict(members, **scene_facts.stamp(self._change_count))
        self._link.patch_scene(stamped, objects, whole)

    def _read_members(self):
        if self._all_members or self._members is None:
            return scene_facts.members(self._reader, self._document())
        # Where nothing but objects changed: what Blender gives no notice of.
        return dict(self._members, document=without_nothing(self._document()))

    def _failed(self, error):
        """Said once and not at each change; whatever Blender was doing goes on."""
        failure = "the scene could not be read: %s: %s" % (type(error).__name__, error)
        self._reader.give_up()
        self._rest(0.0)
        if failure != self.failure:
            self.failure = failure
            traceback.print_exc()
