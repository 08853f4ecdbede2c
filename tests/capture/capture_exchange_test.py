"""Objects between captured ranks: however late one comes, it is waited for; ranks that wait for each other are told so."""

import pathlib
import tempfile
import threading
import time
import unittest
from unittest import mock

from mirfak.capture import exchange
from mirfak.capture.exchange import Exchange
from mirfak.errors import InputError


class ExchangeOfObjects(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        looks = mock.patch.object(exchange, "LOOK_S", 0.02)
        looks.start()
        self.addCleanup(looks.stop)
        self.ranks = [Exchange(self.folder, rank, range(3)) for rank in range(3)]

    def in_threads(self, *calls):
        """Returns what the calls return or raise when they are made at once."""
        out = [None] * len(calls)

        def run(place, call):
            try:
                out[place] = call()
            except InputError as error:
                out[place] = str(error)
                self.ranks[place].end()

        threads = [threading.Thread(target=run, args=each) for each in enumerate(calls)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return out

    def test_a_late_object_is_waited_for(self):
        def late():
            time.sleep(0.3)  # fifteen looks
            self.ranks[1].send(0, "late")

        self.assertEqual(self.in_threads(lambda: self.ranks[0].receive(1), late)[0], "late")
        self.assertFalse(list(self.folder.glob("*.waits")))

    def test_ranks_that_wait_for_each_other_are_told_so(self):
        said = self.in_threads(*(lambda rank=rank: self.ranks[rank].receive((rank + 1) % 3) for rank in range(3)))
        self.assertTrue(any("wait for each other" in str(each) for each in said), said)
        self.assertIn("ranks ", next(each for each in said if "wait for each other" in str(each)))

    def test_a_rank_that_ended_sends_nothing(self):
        self.ranks[1].end()
        with self.assertRaisesRegex(InputError, "which ended without it"):
            self.ranks[0].receive(1)


if __name__ == "__main__":
    unittest.main()
