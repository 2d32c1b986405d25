"""When to collect the scene: at once for the first change, then no more than the cost allows."""

QUIET_SECONDS = 0.1
# A few objects cost little: again soon, as long as they take less than 2 % of the time.
FEW_SECONDS = 0.03
FEW_COST_RATIO = 50
FORCED_SECONDS = 0.5
COST_RATIO = 10
CHEAP_SECONDS = 0.02


class Cadence:
    """Decides, and does nothing itself. `clock` gives seconds that never go back.

    The first change after a pause is collected inside the handler that reports it (leading edge),
    when collecting was cheap so far. Later ones wait until nothing changed for a while, or until
    the oldest has waited long enough (trailing edge). In any case collecting takes no more than
    about a tenth of the time. `few`: only a few objects that moved are to be collected.
    """

    def __init__(self, clock):
        self._clock = clock
        self._first_change = None
        self._last_change = None
        self._last_collected = None
        self._cost = 0.0
        self._few_cost = 0.0
        self.server_interval = 0.0

    @property
    def dirty(self):
        return self._first_change is not None

    def interval(self, few=False):
        if few:
            return max(FEW_SECONDS, FEW_COST_RATIO * self._few_cost, self.server_interval)
        return max(QUIET_SECONDS, COST_RATIO * self._cost, self.server_interval)

    def changed(self, few=False):
        """Something changed. True: collect it now."""
        now = self._clock()
        if self._first_change is None:
            self._first_change = now
        self._last_change = now
        return (few or self._cost <= CHEAP_SECONDS) and self._rested(now, few)

    def due(self, few=False):
        """Asked by the timer. True: collect now."""
        if self._first_change is None:
            return False
        now = self._clock()
        quiet = now - self._last_change >= QUIET_SECONDS
        forced = now - self._first_change >= FORCED_SECONDS
        return (few or quiet or forced) and self._rested(now, few)

    def collected(self, seconds, few=False):
        if few:
            self._few_cost = seconds
        else:
            self._cost = seconds
        self._last_collected = self._clock()
        self._first_change = None
        self._last_change = None

    def _rested(self, now, few):
        since = self._last_collected
        return since is None or now - since >= self.interval(few)
