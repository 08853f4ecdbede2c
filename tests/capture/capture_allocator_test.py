"""The model of PyTorch's caching allocator, by sequences whose sums fit into a comment."""

import random
import unittest

from mirfak.capture.allocator import Allocator, OutOfMemory, private

KIB, MIB = 1 << 10, 1 << 20


class Sizes(unittest.TestCase):
    def test_requests_are_rounded_to_512_bytes(self):
        self.assertEqual([Allocator.rounded(size) for size in (1, 512, 513, 100_000)], [512, 512, 1024, 100_352])

    def test_segments_have_2_mib_20_mib_or_multiples_of_2_mib(self):
        # Up to 1 MiB; under 10 MiB; from there rounded up to 2 MiB.
        sizes = (512, MIB, MIB + 512, 10 * MIB - 512, 10 * MIB, 11 * MIB)
        self.assertEqual([Allocator.segment_of(s) // MIB for s in sizes], [2, 2, 20, 20, 10, 12])


class Reuse(unittest.TestCase):
    def test_small_requests_share_a_segment(self):
        allocator = Allocator()
        for _ in range(4):
            allocator.allocate(512 * KIB)
        self.assertEqual((allocator.allocated, allocator.reserved), (2 * MIB, 2 * MIB))
        allocator.allocate(1)
        self.assertEqual((allocator.allocated, allocator.reserved), (2 * MIB + 512, 4 * MIB))

    def test_what_is_left_of_a_large_block_is_split_off_if_it_exceeds_1_mib(self):
        allocator = Allocator()
        allocator.allocate(9 * MIB)  # of a segment of 20 MiB: 11 MiB are left
        second = allocator.allocate(10 * MIB)  # of these 11; 1 MiB is not more than 1 MiB, so it stays with the block
        self.assertEqual((second.size, allocator.reserved), (11 * MIB, 20 * MIB))
        self.assertEqual((allocator.allocated, allocator.requested), (20 * MIB, 19 * MIB))

    def test_the_smallest_block_that_fits_is_taken(self):
        allocator = Allocator()
        large, middle = allocator.allocate(40 * MIB), allocator.allocate(30 * MIB)
        allocator.release(large)
        allocator.release(middle)
        self.assertIs(allocator.allocate(30 * MIB).segment, middle.segment)
        self.assertIs(allocator.allocate(30 * MIB).segment, large.segment)
        self.assertEqual(allocator.reserved, 70 * MIB)

    def test_streams_do_not_share(self):
        allocator = Allocator()
        allocator.release(allocator.allocate(30 * MIB, stream=0))
        allocator.allocate(30 * MIB, stream=1)
        self.assertEqual((allocator.allocated, allocator.reserved), (30 * MIB, 60 * MIB))

    def test_free_neighbours_merge(self):
        allocator = Allocator()
        blocks = [allocator.allocate(5 * MIB) for _ in range(4)]  # a segment of 20 MiB
        for index in (1, 3, 2):
            allocator.release(blocks[index])
        self.assertEqual(allocator.reserved, 20 * MIB)
        allocator.allocate(9 * MIB)  # fits into the 15 MiB that merged
        self.assertEqual(allocator.reserved, 20 * MIB)


class Fragmentation(unittest.TestCase):
    def test_growing_requests_leave_holes(self):
        # 12, then 14, then 16 MiB, each released before the next: none fits into an earlier segment.
        allocator = Allocator()
        for size in (12, 14, 16):
            allocator.release(allocator.allocate(size * MIB))
        self.assertEqual((allocator.peak_allocated, allocator.peak_reserved), (16 * MIB, 42 * MIB))

    def test_expandable_segments_leave_none(self):
        # One segment grows by pages of 20 MiB: 20 MiB hold each of them in turn.
        allocator = Allocator(expandable_segments=True)
        for size in (12, 14, 16):
            allocator.release(allocator.allocate(size * MIB))
        self.assertEqual((allocator.peak_allocated, allocator.peak_reserved), (16 * MIB, 20 * MIB))

    def test_an_expandable_segment_grows_at_its_end(self):
        allocator = Allocator(expandable_segments=True)
        kept = allocator.allocate(19 * MIB)  # 1 MiB of a page is left
        allocator.allocate(21 * MIB)  # that and another page
        self.assertEqual((allocator.allocated, allocator.reserved), (40 * MIB, 40 * MIB))
        allocator.release(kept)
        allocator.empty_cache()  # the hole is not at the end
        self.assertEqual(allocator.reserved, 40 * MIB)

    def test_cached_segments_go_back_before_memory_is_out(self):
        allocator = Allocator(capacity=50 * MIB)
        allocator.release(allocator.allocate(30 * MIB))
        allocator.allocate(40 * MIB)
        self.assertEqual(allocator.reserved, 40 * MIB)
        with self.assertRaises(OutOfMemory):
            allocator.allocate(20 * MIB)


class Laws(unittest.TestCase):
    def test_bytes_are_kept_whatever_the_order(self):
        for expandable in (False, True):
            for seed in range(20):
                chance, held, allocator = random.Random(seed), [], Allocator(expandable_segments=expandable)
                for _ in range(400):
                    if held and chance.random() < 0.5:
                        allocator.release(held.pop(chance.randrange(len(held))))
                    else:
                        size = int(2 ** chance.uniform(0, 26))
                        held.append(allocator.allocate(size, chance.randrange(2)))
                    self.assertEqual(allocator.allocated, sum(block.size for block in held))
                    self.assertLessEqual(allocator.requested, allocator.allocated)
                    self.assertLessEqual(allocator.allocated, allocator.reserved)
                    self.assertEqual(allocator.reserved % (2 * MIB), 0)
                for block in held:
                    allocator.release(block)
                allocator.empty_cache()
                self.assertEqual((allocator.allocated, allocator.requested, allocator.reserved), (0, 0, 0))

    def test_memory_of_cuda_graphs_is_kept_for_their_replays(self):
        allocator = Allocator()
        allocator.release(allocator.allocate(12 * MIB, private(1)))
        self.assertEqual((allocator.allocated, allocator.held_by_graphs()), (0, 12 * MIB))
        allocator.empty_cache()
        self.assertEqual(allocator.reserved, 12 * MIB)
        other = allocator.allocate(12 * MIB)  # no stream of the program takes it
        self.assertEqual(allocator.reserved, 24 * MIB)
        again = allocator.allocate(12 * MIB, private(1))
        self.assertEqual((allocator.reserved, allocator.held_by_graphs()), (24 * MIB, 0))
        for block in (other, again):
            allocator.release(block)


if __name__ == "__main__":
    unittest.main()
