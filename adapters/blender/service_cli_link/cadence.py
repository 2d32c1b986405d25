"""When to tell the scene: at once for the first change, then no more than the cost allows."""

LEAST_SECONDS = 0.03
# Reading and telling take less than 2 % of the time, unless a change would wait longer than this.
COST_RATIO = 50
MOST_SECONDS = 0.5


class Cadence:
    """Decides, and does nothing itself. `clock` gives seconds that never go back.

    The first change after a pause is told inside the handler that reports it (leading edge). Later
    ones wait until enough time has passed for what telling the ones before has taken.
    """

    def __init__(self, clock):
        self._clock = clock
        self._told_at = None
        self._cost = 0.0
        self._changed_at = None
        self.dirty = False
        self.least = 0.0  # seconds, beside what the cost demands

    @property
    def interval(self):
        wanted = min(COST_RATIO * self._cost, MOST_SECONDS)
        return max(LEAST_SECONDS, wanted, self.least)

    def changed(self):
        """Something changed. True: tell it now."""
        if not self.dirty:
            self._changed_at = self._clock()
        self.dirty = True
        return self.rested()

    @property
    def late(self):
        """The first change that was not told should have been told by now."""
        return self.dirty and self._clock() - self._changed_at >= MOST_SECONDS

    def due(self):
        """Asked by the timer. True: tell it now."""
        return self.dirty and self.rested()

    def collected(self, seconds):
        """Told, after so much work."""
        self._cost = seconds
        self._told_at = self._clock()
        self.dirty = False

    def hurry(self):
        """The next one is due at once."""
        self._told_at = None

    def rested(self):
        return self._told_at is None or self._clock() - self._told_at >= self.interval
