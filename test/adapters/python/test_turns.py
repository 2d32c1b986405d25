import threading
import time
import unittest

from common import link


class Thread(threading.Thread):
    """Stands for the link thread: notes when it runs."""

    def __init__(self, turns):
        threading.Thread.__init__(self, daemon=True)
        self.turns = turns
        self.runs = 0
        self.ended = False
        self.work_seconds = 0.0
        self.working = False

    def run(self):
        while not self.ended:
            self.turns.rest(0.0)
            self.working = True
            self.runs += 1
            time.sleep(self.work_seconds)
            self.working = False


class Turns(unittest.TestCase):
    def setUp(self):
        self.turns, self.thread = self.begin(60.0)

    def begin(self, unasked_seconds):
        turns = link.Turns()
        turns.UNASKED_SECONDS = unasked_seconds
        thread = Thread(turns)
        thread.start()
        self.addCleanup(thread.join, 5.0)
        self.addCleanup(turns.close)
        self.addCleanup(setattr, thread, "ended", True)
        return turns, thread

    def runs(self, least):
        until = time.monotonic() + 5.0
        while self.thread.runs < least and time.monotonic() < until:
            time.sleep(0.001)
        return self.thread.runs

    def test_wait_for_the_end_of_what_the_main_thread_does(self):
        with self.turns:
            with self.turns:
                self.turns.grant()
            time.sleep(0.05)
            self.assertEqual(self.thread.runs, 0)
        self.assertEqual(self.runs(1), 1)

    def test_end_before_the_main_thread_goes_on(self):
        self.thread.work_seconds = 0.2
        self.turns.grant()
        self.runs(1)
        self.assertTrue(self.thread.working)
        with self.turns:
            self.assertFalse(self.thread.working)
            runs = self.thread.runs
            time.sleep(0.05)
            self.assertEqual(self.thread.runs, runs)

    def test_are_taken_back_when_they_did_not_begin(self):
        for _ in range(200):
            self.turns.grant()
            with self.turns:
                runs = self.thread.runs
                time.sleep(0.0002)
                self.assertEqual(self.thread.runs, runs)
        self.assertGreaterEqual(self.runs(1), 1)

    def test_come_unasked_when_the_main_thread_grants_none_for_long(self):
        turns, thread = self.begin(0.05)
        with turns:
            time.sleep(0.5)
        self.assertGreater(thread.runs, 2)

    def test_do_not_come_unasked_inside_of_what_is_short(self):
        turns, thread = self.begin(0.5)
        for _ in range(60):  # none of the turns is asked for
            with turns:
                runs = thread.runs
                time.sleep(0.03)
                self.assertEqual(thread.runs, runs)
            time.sleep(0.001)


if __name__ == "__main__":
    unittest.main()
