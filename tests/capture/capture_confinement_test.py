"""A captured script's rights on the machine, without PyTorch."""

import ctypes
import os
import pathlib
import socket
import sys
import tempfile
import unittest

from mirfak.capture import confinement, landlock

WRITES = os.O_WRONLY | os.O_CREAT


def in_child(work):
    """Returns the result of `work` from a process of its own, which gives up rights for good."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, str(said).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as answers:
        return answers.read()


def opened_by_libc(path):
    """Opens a file for writing without Python's knowledge: "ok" or the error."""
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.open(os.fsencode(path), WRITES, 0o644)
    return "ok" if found >= 0 else os.strerror(ctypes.get_errno())


class Confined(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.own, self.user = self.folder / "own", self.folder / "user"
        self.own.mkdir()
        self.user.mkdir()
        (self.user / "old.txt").write_text("old")

    def confined(self, work, port=29500):
        """Returns the result of `work` as a rank of its own."""
        rank = str(len(list(self.own.iterdir())))

        def run():
            sys.modules["torch"] = type(sys)("torch")
            sys.modules["torch"].save = None
            confinement.Confinement(self.own / "written" / rank, self.own).install(port)
            return work()

        return in_child(run)

    def test_what_a_script_writes_it_finds_again_and_nobody_else(self):
        def work():
            with open(self.user / "new.txt", "w") as file:
                file.write("new")
            with open(self.user / "old.txt", "a") as file:
                file.write(" and more")
            descriptor = os.open(self.user / "third.txt", WRITES)
            os.write(descriptor, b"third")
            os.close(descriptor)
            os.replace(self.user / "third.txt", self.user / "fourth.txt")
            os.makedirs(self.user / "a" / "b")
            return [(self.user / name).read_text() for name in ("new.txt", "old.txt", "fourth.txt")]

        self.assertEqual(self.confined(work), "['new', 'old and more', 'third']")
        self.assertEqual([path.name for path in self.user.iterdir()], ["old.txt"])
        self.assertEqual((self.user / "old.txt").read_text(), "old")

    def test_files_that_were_there_are_neither_removed_nor_moved(self):
        old = self.user / "old.txt"
        self.assertIn(confinement.REFUSED, self.confined(lambda: os.remove(old)))
        self.assertIn(confinement.REFUSED, self.confined(lambda: os.replace(old, self.user / "x")))
        self.assertIn(confinement.REFUSED, self.confined(lambda: os.chmod(old, 0)))
        self.assertEqual(old.read_text(), "old")

    def test_a_cache_of_data_sets_is_read_where_it_is_and_written_elsewhere(self):
        cache = self.user / "datasets" / "c4"
        cache.mkdir(parents=True)
        (cache / "a.arrow").write_text("rows")
        (cache / "a.lock").write_text("")
        os.environ["HF_DATASETS_CACHE"] = str(cache.parent)

        def work():
            known = pathlib.Path(os.environ["HF_DATASETS_CACHE"], "c4")
            (known / "b.arrow").write_text("more")
            return (known / "a.arrow").read_text(), opened_by_libc(known / "a.lock")

        self.assertEqual(self.confined(work), "('rows', 'ok')")
        self.assertEqual(sorted(path.name for path in cache.iterdir()), ["a.arrow", "a.lock"])

    @unittest.skipUnless(landlock.version(), "this kernel has no Landlock")
    def test_the_kernel_refuses_writes_of_other_code(self):
        refused = os.strerror(13)
        self.assertEqual(self.confined(lambda: opened_by_libc(self.user / "new.txt")), refused)
        self.assertEqual(self.confined(lambda: opened_by_libc(self.own / "new.txt")), "ok")
        self.assertEqual(self.confined(lambda: opened_by_libc("/dev/null")), "ok")
        self.assertEqual(self.confined(lambda: os.system(f"echo x > {self.user}/shell.txt") != 0), "True")
        self.assertEqual([path.name for path in self.user.iterdir()], ["old.txt"])

    @unittest.skipUnless(landlock.version() >= landlock.TCP_SINCE, "this kernel's Landlock knows no connections")
    def test_the_kernel_refuses_connections_of_other_code(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = server.getsockname()
            self.assertIn("Permission denied", self.confined(lambda: socket.create_connection(address)))
            self.assertIn("socket", self.confined(lambda: socket.create_connection(address), address[1]))

    def test_a_kernel_without_landlock_is_said(self):
        def without():
            landlock.version = lambda: 0
            return confinement.missing()

        self.assertIn("is not confined", in_child(without))
        if landlock.version() >= landlock.TCP_SINCE:
            self.assertEqual(confinement.missing(), "")


if __name__ == "__main__":
    unittest.main()
