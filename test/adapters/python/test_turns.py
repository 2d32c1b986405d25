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
        self.turns = link.Turns()
        self.turns.UNASKED_SECONDS = 60.0
        self.thread = Thread(self.turns)
        self.thread.start()
        self.addCleanup(self.end)

    def end(self):
        self.thread.ended = True
        self.turns.close()
        self.thread.join(5.0)

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


class UnaskedTurns(unittest.TestCase):
    def test_come_when_the_main_thread_grants_none_for_long(self):
        turns = link.Turns()
        turns.UNASKED_SECONDS = 0.05
        thread = Thread(turns)
        thread.start()
        with turns:
            time.sleep(0.5)
        self.assertGreater(thread.runs, 2)
        thread.ended = True
        turns.close()
        thread.join(5.0)


if __name__ == "__main__":
    unittest.main()
