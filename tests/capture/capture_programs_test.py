"""Programs captured here: skipped, aloud, where PyTorch is missing.

The small program of these tests has to give the capture that is committed. Programs of ../shared/capture have to equal
what real processes did, for every rank.
"""

import collections
import csv
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from mirfak.capture import read_capture
from mirfak.capture.capture_file import did_the_same
from mirfak.capture.show import document

SOURCE = pathlib.Path(os.environ["MIRFAK_SOURCE"])
PROGRAMS = SOURCE / "tests" / "capture" / "programs"
SHARED = SOURCE.parent / "shared" / "capture"

# Masks of flexible attention: two that follow from positions, and one that depends on data.
MASKS = (
    "    scores = torch.randn(1024, device='cuda')\n"
    "    def causal(b, h, q, k): return q >= k\n"
    "    def near(b, h, q, k): return q - k < 128\n"
    "    def seen(b, h, q, k): return scores[q] > scores[k]\n"
)
SCRIPT_HEAD = (
    "import torch, torch.distributed as dist\ndist.init_process_group('nccl')\nx = torch.ones(4, device='cuda')\n"
)


def products_of(rank):
    """Products of a rank by their factors: a compiler may add a residual to one, which is then an addmm."""
    found = collections.Counter()
    for product in rank["products"]:
        found[str((product["a"], product["b"], product["dtype"]))] += product["count"]
    return found


def kernels_of(capture):
    """Number of operators that rank 0 launches, and bytes that they move, without products and attention."""
    entries = [capture.tables["operators"][event[1]] for event in capture.rank(0)["events"] if event[0] == "op"]
    kept = [entry for entry in entries if "mm" not in entry["name"] and "scaled_dot" not in entry["name"]]
    kept = [entry for entry in kept if not entry["name"].startswith("fsdp::") and "_fused_adamw" not in entry["name"]]
    return len(kept), sum(entry["read_bytes"] + entry["written_bytes"] for entry in kept)


def field_of(found, rank, name):
    """A field of a rank, if need be from the rank that did the same."""
    said = found["ranks"][rank]
    said = said if "same_as" in said else said[name]
    return field_of(found, str(said["same_as"]), name) if isinstance(said, dict) else said


def facts_of(found, rank):
    """Returns what a rank does, as the truth of a program says it: calls in order, products, bytes."""
    table = found["collective_table"]
    products = [
        (item["op"], item["a"], item["b"], item["dtype"], item["count"]) for item in field_of(found, rank, "products")
    ]
    return {
        "collectives": [table[place] for count, place in field_of(found, rank, "collectives") for _ in range(count)],
        "products": sorted(products),
        **{key: field_of(found, rank, key) for key in ("param_bytes", "optimizer_state_bytes")},
    }


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "a.capture"

    def capture(self, script, world_size, *options, arguments=()):
        command = [sys.executable, "-m", "mirfak.capture", "--world-size", world_size, "--out", self.out, *options]
        command += ["--", script, *arguments]
        return subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=self.folder)

    def failing(self, body):
        return self.failing_job(body, "--ranks", "0")

    def failing_job(self, body, *options):
        script = self.folder / "train.py"
        script.write_text(SCRIPT_HEAD + body)
        asked = self.capture(script, 2, *options)
        self.assertEqual(asked.returncode, 2, asked.stderr)
        self.assertFalse(self.out.exists())
        self.assertNotIn("Traceback", asked.stderr)
        return asked.stderr

    def test_the_committed_captures_are_what_their_programs_give(self):
        for program in ("ddp", "compiled"):
            with self.subTest(program):
                asked = self.capture(PROGRAMS / f"{program}.py", 2, "--ranks", "all")
                self.assertEqual(asked.returncode, 0, asked.stderr)
                made, committed = read_capture(self.out), read_capture(PROGRAMS / f"{program}.capture")
                self.assertEqual(made.tables, committed.tables)
                for number, rank in committed.ranks.items():
                    again = made.ranks[number]
                    self.assertTrue(did_the_same(again, rank))
                    if "python_lines" in rank:  # they depend a little on the version of Python
                        self.assertAlmostEqual(again["python_lines"] / rank["python_lines"], 1, delta=0.15)
                self.assertEqual(made.header["lines"], committed.header["lines"])

    def test_a_compiled_program_multiplies_and_communicates_as_without_a_compiler(self):
        asked = self.capture(PROGRAMS / "compiled.py", 2, "--ranks", "all", arguments=["eager"])
        self.assertEqual(asked.returncode, 0, asked.stderr)
        eager, compiled = read_capture(self.out), read_capture(PROGRAMS / "compiled.capture")
        one, other = document(eager)["ranks"]["0"], document(compiled)["ranks"]["0"]
        self.assertGreater(one["product_flop"], 0)
        for key in ("product_flop", "sdpa_flop", "sdpa", "count_by_kind", "bytes_by_kind", "param_bytes"):
            self.assertEqual(one[key], other[key], key)
        self.assertEqual(products_of(one), products_of(other))
        self.assertEqual(other["notes"], {})
        # Chains of operators are single kernels, and move a third less.
        kernels, moved = zip(*map(kernels_of, (eager, compiled)), strict=True)
        self.assertLess(kernels[1], kernels[0])
        self.assertLess(moved[1], moved[0] * 0.7)
        self.assertLess(other["memory"]["peak_allocated_bytes"], one["memory"]["peak_allocated_bytes"])

    def test_a_fused_kernel_belongs_to_the_module_and_phase_of_its_operators(self):
        capture = read_capture(PROGRAMS / "compiled.capture")
        found = {}
        for event in capture.rank(0)["events"]:
            if event[0] == "op":
                entry = capture.tables["operators"][event[1]]
                place = capture.tables["modules"][event[2]], event[3]
                found.setdefault(place, []).append((entry["settings"].get("kernel", entry["name"]), entry))
        gate = dict(found["FSDPSequential.1", 0])["triton_poi_fused__unsafe_view_mul_silu"]
        # Reads gate and up, 256 rows of 256 columns in bfloat16, and writes one of them.
        self.assertEqual((gate["name"], gate["read_bytes"], gate["written_bytes"]), ("inductor::pointwise", 2**18, 2**17))
        norm = dict(found["FSDPSequential.0.norms.0", 0])["triton_per_fused__fused_rms_norm"]
        # 256 rows of 64 in bfloat16 and a weight; the rows, and a number for each in float32.
        self.assertEqual((norm["name"], norm["read_bytes"]), ("inductor::rows", 256 * 64 * 2 + 64 * 2))
        self.assertEqual(norm["written_bytes"], 256 * 64 * 2 + 256 * 4)
        backward = {name for name, _ in found["FSDPSequential.1", 2]}
        self.assertIn("triton_poi_fused__unsafe_view_mul_silu_silu_backward_view", backward)
        self.assertEqual(len(found["FSDPSequential.1.gate", 2]), 2)

    def test_a_compiled_function_is_captured_twice(self):
        script = self.folder / "train.py"
        script.write_text(
            "import mirfak, torch\n"
            "wave = torch.compile(lambda x: (x.sin() * 2 + 1).cos())\n"
            "def captured():\n"
            "    with mirfak.capture(world_size=1) as job:\n"
            "        wave(torch.ones(1024, device='cuda'))\n"
            "    return job.capture\n"
            "first, second, third = captured(), captured(), captured()\n"
            "assert first.tables == second.tables == third.tables\n"
            # The first call executes lines of Python that belong to compiling, though not to the compiler.
            "launches = [[event for event in job.ranks[0]['events'] if event[0] != 'python'] for job in (first, second)]\n"
            "assert launches[0] == launches[1] and second.ranks == third.ranks\n"
            "names = [entry['name'] for entry in first.tables['operators']]\n"
            "assert names == ['aten::ones', 'inductor::pointwise'], names\n"
        )
        ran = subprocess.run([sys.executable, str(script)], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_what_torch_compile_leaves_out(self):
        """A graph on the host computes; one that ends early is noted; masks of compiled attention are looked at."""
        script = self.folder / "train.py"
        script.write_text(
            "import mirfak, torch\n"
            "from torch.nn.attention.flex_attention import and_masks, create_block_mask, flex_attention\n"
            "with mirfak.capture(world_size=1) as job:\n"
            "    doubled = torch.compile(lambda x: x * 2 + 1)\n"
            "    assert doubled(torch.ones(3)).tolist() == [3, 3, 3]\n"
            "    @torch.compile\n"
            "    def in_two(x):\n"
            "        y = x.sin() * 2\n"
            "        torch._dynamo.graph_break()\n"
            "        return y.cos() + 1\n"
            "    in_two(torch.ones(1024, device='cuda'))\n"
            + MASKS +
            "    q, k, v = (torch.ones(1, 2, 1024, 64, device='cuda', requires_grad=True) for _ in range(3))\n"
            "    compiled = torch.compile(flex_attention)\n"
            "    for mask in (causal, and_masks(causal, near), and_masks(causal, seen), seen):\n"
            "        compiled(q, k, v, block_mask=create_block_mask(mask, 1, 1, 1024, 1024)).sum().backward()\n"
            "assert not torch.cuda.is_available()\n"
            "mirfak.capture.write_capture(job.capture, 'a.capture')\n"
        )
        subprocess.run([sys.executable, str(script)], check=True, cwd=self.folder, capture_output=True)
        capture = read_capture(self.out)
        entries = [capture.tables["operators"][event[1]] for event in capture.rank(0)["events"] if event[0] == "op"]
        waves = [entry for entry in entries if "sin" in entry["settings"].get("kernel", "").split("_")]
        waves += [entry for entry in entries if "cos" in entry["settings"].get("kernel", "").split("_")]
        self.assertEqual([(entry["read_bytes"], entry["written_bytes"]) for entry in waves], [(4096, 4096)] * 2)
        self.assertTrue(any("a graph ends" in note for note in capture.rank(0)["notes"]))
        self.assertTrue(any("depends on data" in note for note in capture.rank(0)["notes"]))
        for name in ("higher_order::flex_attention", "higher_order::flex_attention_backward"):
            shares = [entry["settings"]["computed"] for entry in entries if entry["name"] == name]
            self.assertEqual(shares, [36 / 64, 15 / 64, 36 / 64, 1])

    def test_errors_name_the_line_of_the_script(self):
        said = self.failing("y = x + torch.ones(5, device='cuda')\n")
        self.assertIn("train.py:4: rank 0: ", said)
        self.assertIn("ended after 0 steps", self.failing("x.sum().item()\n"))
        self.assertIn("left with status 3", self.failing("raise SystemExit(3)\n"))

    def test_a_world_size_that_the_script_refuses(self):
        script = self.folder / "train.py"
        script.write_text("import torch.distributed as dist\ndist.init_process_group('nccl', world_size=4, rank=0)\n")
        said = self.capture(script, 2, "--ranks", "0").stderr
        self.assertIn("makes a group of 4 ranks", said)
        self.assertIn("--world-size 4", said)

    def test_values_that_a_program_reads_back(self):
        """Counts of a balanced choice among unknown scores, exchanged and read; a mask that takes every element."""
        body = (
            "chosen = torch.randn(8, 4, device='cuda').topk(2).indices\n"
            "counts = torch.bincount(chosen.flatten(), minlength=4).view(2, 2).sum(1)\n"
            "others = torch.empty_like(counts)\n"
            "dist.all_to_all_single(others, counts)\n"
            "assert counts.tolist() == others.tolist() == [8, 8], (counts.tolist(), others.tolist())\n"
            "assert torch.arange(5, device='cuda').sum().item() == 10\n"
            "assert torch.randn(7, device='cuda')[torch.randn(7, device='cuda') > 0].shape == (7,)\n"
            "count = torch.zeros(1, device='cuda')\n"
            "count += torch.isinf(torch.randn(4096, 1024, device='cuda')).any()\n"
            "count += 2\n"
            "assert count.item() == 2 and torch.tensor([count, count]).sum() == 4\n"
            "norm = torch.randn(9, device='cuda').norm()\n"
            "assert norm.item() == 1 and not (norm < 0) and (norm > 0.5)\n"
            "y = torch.randn(3, device='cuda')\n"
            "assert not torch.isnan(y).any() and not torch.isinf(y).any() and torch.isfinite(y).all()\n"
        )
        self.assertIn("ended after 0 steps", self.failing(body))

    def test_a_loop_that_draws_again_until_all_is_within_bounds_ends(self):
        body = (
            "torch.nn.init.trunc_normal_(torch.empty(64, 64, device='cuda'))\n"
            "tries = 0\n"
            "while (torch.randn(5000, 5000, device='cuda') > 3).any():\n"
            "    tries += 1\n"
            "print('tried', tries)\n"
            "assert tries < 2000\n"
        )
        self.assertIn("ended after 0 steps", self.failing(body))

    def test_a_cuda_graph_is_launched_at_once(self):
        script = self.folder / "train.py"
        script.write_text(
            SCRIPT_HEAD
            + "model = torch.nn.Linear(4, 4, device='cuda')\n"
            + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            + "graph = torch.cuda.CUDAGraph()\n"
            + "with torch.cuda.graph(graph):\n"
            + "    y = x @ x\n"
            + "    dist.all_reduce(y)\n"
            + "for _ in range(3):\n"
            + "    graph.replay()\n"
            + "    optimizer.step()\n"
        )
        asked = self.capture(script, 2)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        capture = read_capture(self.out)
        events = capture.rank(0)["events"]
        place = [event[0] for event in events].index("graph")
        count = events[place][1]
        kinds = [event[0] for event in events[place + 1 : place + 1 + count]]
        self.assertEqual((kinds[:2], set(kinds[2:])), (["op", "comm"], {"wait"}))
        self.assertEqual([event[0] for event in events].count("graph"), 1)
        names = [capture.tables["operators"][event[1]]["name"] for event in events if event[0] == "op"]
        self.assertEqual(names.count("aten::dot"), 1)
        # The graph runs on a stream of its own, which waits for the stream that launches it, and the other way round.
        self.assertEqual([event[0] for event in events[place - 2 : place]], ["record", "await"])
        self.assertEqual([event[0] for event in events[place + 1 + count :][:2]], ["record", "await"])

    def test_flexible_attention_computes_the_blocks_that_its_mask_lets_through(self):
        script = self.folder / "train.py"
        script.write_text(
            "import mirfak, torch\n"
            "from torch.nn.attention.flex_attention import and_masks, create_block_mask, flex_attention\n"
            "with mirfak.capture(world_size=1) as job:\n"
            "    documents = torch.zeros(1024, dtype=torch.int64, device='cuda')\n"
            + MASKS +
            "    x = torch.ones(1, 2, 1024, 64, device='cuda', requires_grad=True)\n"
            "    for mask in (causal, and_masks(causal, near), and_masks(causal, seen)):\n"
            "        flex_attention(x, x, x, block_mask=create_block_mask(mask, 1, 1, 1024, 1024)).sum().backward()\n"
            "mirfak.capture.write_capture(job.capture, 'a.capture')\n"
        )
        subprocess.run([sys.executable, str(script)], check=True, cwd=self.folder, capture_output=True)
        capture = read_capture(self.out)
        entries = [e for e in capture.tables["operators"] if e["name"].startswith("higher_order::flex_attention")]
        forward = [e["settings"]["computed"] for e in entries if not e["name"].endswith("backward")]
        # Shares of 64 blocks: on and under the diagonal; on two diagonals; a mask by data lets all through.
        self.assertEqual(forward, [36 / 64, 15 / 64])
        self.assertEqual({e["settings"]["computed"] for e in entries if e["name"].endswith("backward")}, set(forward))
        self.assertTrue(any("depends on data" in note for note in capture.rank(0)["notes"]))

    def test_autocast_chooses_the_format_of_attention(self):
        script = self.folder / "train.py"
        script.write_text(
            "import mirfak, torch\n"
            "with mirfak.capture(world_size=1) as job:\n"
            "    x = torch.ones(1, 2, 256, 64, device='cuda', requires_grad=True)\n"
            "    for enabled in (True, False):\n"
            "        with torch.autocast('cuda', torch.bfloat16, enabled=enabled):\n"
            "            torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).sum().backward()\n"
            "mirfak.capture.write_capture(job.capture, 'a.capture')\n"
        )
        subprocess.run([sys.executable, str(script)], check=True, cwd=self.folder)
        entries = read_capture(self.out).tables["operators"]
        ran = [(entry["name"], entry["in"][0][0]) for entry in entries if "attention" in entry["name"]]
        self.assertEqual([name.rpartition("product_")[2] for name, _ in ran[::2]], ["cudnn_attention", "efficient_attention"])
        self.assertEqual([form for _, form in ran], ["bfloat16", "bfloat16", "float32", "float32"])

    def test_ranks_that_wait_for_each_other_forever(self):
        said = self.failing_job(
            "model = torch.nn.Linear(4, 4, device='cuda')\n"
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "for _ in range(3):\n"
            "    dist.all_reduce(x if dist.get_rank() else x.double())\n"
            "    optimizer.step()\n"
        )
        self.assertIn("ranks 0 and 1: call 1 of their group", said)
        self.assertIn("float64", said)

    def test_all_ranks_of_large_programs_follow_from_few(self):
        script = self.folder / "train.py"
        script.write_text(
            "import torch, torch.distributed as dist\n"
            "from torch.distributed.device_mesh import init_device_mesh\n"
            "mesh = init_device_mesh('cuda', (128, 8), mesh_dim_names=('data', 'tensor'))\n"
            "model = torch.nn.Linear(4, 4, device='cuda')\n"
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "for _ in range(3):\n"
            "    dist.all_reduce(torch.ones(4, device='cuda'), group=mesh.get_group('tensor'))\n"
            "    dist.all_reduce(torch.ones(2, device='cuda'), group=mesh.get_group('data'))\n"
            "    optimizer.step()\n"
        )
        asked = self.capture(script, 1024)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        capture = read_capture(self.out)
        self.assertEqual((len(capture.ranks), capture.captured()), (1024, [0]))
        self.assertLess(len(capture.header["proved_on"]), 8)
        calls = [capture.tables["collectives"][event[1]]["ranks"] for event in capture.calls(1001)]
        self.assertEqual(calls, [list(range(1000, 1008)), list(range(1, 1024, 8))])

    def test_parameters_stay_tied_and_known_to_their_optimizer(self):
        body = (
            "model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))\n"
            "model[1].weight = model[0].weight\n"
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "model.to(0)\n"
            "assert model[1].weight is model[0].weight and model[0].weight.is_cuda\n"
            "assert optimizer.param_groups[0]['params'][0] is model[0].weight\n"
            "assert len(list(model.parameters())) == 3\n"
        )
        self.assertIn("ended after 0 steps", self.failing(body))

    def test_a_block_of_a_program(self):
        script = self.folder / "block.py"
        script.write_text(
            "import mirfak, torch, torch.distributed as dist\n"
            "with mirfak.capture(world_size=64, rank=9) as job:\n"
            "    dist.init_process_group('nccl')\n"
            "    x = torch.ones(256, 256, device='cuda')\n"
            "    dist.all_reduce(x @ x)\n"
            "assert not torch.cuda.is_available()\n"
            "mirfak.capture.write_capture(job.capture, 'a.capture')\n"
        )
        subprocess.run([sys.executable, str(script)], check=True, cwd=self.folder)
        capture = read_capture(self.out)
        self.assertEqual([entry["name"] for entry in capture.tables["operators"]], ["aten::ones", "aten::mm"])
        (collective,) = capture.tables["collectives"]
        self.assertEqual((collective["ranks"], collective["in_bytes"]), (list(range(64)), 256 * 256 * 4))
        # Two matrices of 256 KiB, and cuBLAS's workspace of 32 MiB; a segment of 2 MiB for the matrices, 32 for that.
        memory = capture.rank(9)["memory"]
        self.assertEqual(memory["peak_allocated_bytes"], 2 * 2**18 + 2**25)
        self.assertEqual(memory["peak_reserved_bytes"], 2**21 + 2**25)

    def test_the_steps_that_were_measured_on_a_gpu_have_their_memory(self):
        """validate/measured/h100-80gb-hbm3/torch: peaks of PyTorch's allocator, of the script that measured them."""
        measured = SOURCE / "validate" / "measured" / "h100-80gb-hbm3" / "torch" / "steps.csv"
        wanted = ("llama-1b-s4k", "llama-8b-8-s8k-full")  # compiled, without recomputation and with it
        with measured.open() as file:
            rows = [row for row in csv.DictReader(file) if row["flags"].endswith("eager") or row["model"] in wanted]
        self.assertEqual(len(rows), 5)
        for row in rows:
            with self.subTest(row["model"]):
                script = SOURCE / "validate" / "measure" / "torch_steps.py"
                asked = self.capture(script, 1, "--step", "3", arguments=["out", "--jobs", f"^{row['model']}$"])
                self.assertEqual(asked.returncode, 0, asked.stderr)
                predicted = read_capture(self.out).rank(0)["memory"]["peak_allocated_bytes"] / 2**30
                expected = float(row["memory_allocated_gib"])
                self.assertAlmostEqual(predicted / expected, 1, delta=0.002)

    def test_backward_belongs_to_modules_whose_checkpoints_compute_again(self):
        body = (
            "import torch\nfrom torch.utils.checkpoint import checkpoint\n"
            "class Net(torch.nn.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.blocks = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(),\n"
            "                                                              torch.nn.Linear(8, 8)) for _ in range(6))\n"
            "    def forward(self, x):\n"
            "        for block in self.blocks: x = checkpoint(block, x, use_reentrant={})\n"
            "        return x.sum()\n"
            "net = Net().cuda()\n"
            "optimizer = torch.optim.SGD(net.parameters())\n"
            "for _ in range(3):\n"
            "    net(torch.ones(4, 8, device='cuda', requires_grad=True)).backward()\n"
            "    optimizer.step()\n"
        )
        for reentrant in (True, False):
            with self.subTest(reentrant):
                script = self.folder / "train.py"
                script.write_text(body.format(reentrant))
                asked = self.capture(script, 1)
                self.assertEqual(asked.returncode, 0, asked.stderr)
                capture = read_capture(self.out)
                operators, modules = (capture.tables[name] for name in ("operators", "modules"))
                products = collections.Counter(
                    (modules[event[2]], event[3])
                    for event in capture.rank(0)["events"]
                    if event[0] == "op" and "mm" in operators[event[1]]["name"]
                )
                linear = [f"Net.blocks.{block}.{place}" for block in range(6) for place in (0, 2)]
                counts = {0: 1, 1: 1, 2: 2}  # by phase: forward, again, backward
                expected = {(path, phase): count for path in linear for phase, count in counts.items()}
                if not reentrant:  # stops before the last product, of which backward needs nothing
                    expected = {key: count for key, count in expected.items() if not (key[0].endswith(".2") and key[1] == 1)}
                self.assertEqual(products, expected)

    def test_checkpoints_of_compiled_regions_have_what_is_within(self):
        body = (
            "import functools\n"
            "from torch.nn.attention.flex_attention import create_block_mask, flex_attention\n"
            "from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts\n"
            "torch._inductor.config.wrap_inductor_compiled_regions = True\n"
            "compiled = torch.compile(flex_attention)\n"
            "mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 1024, 1024, device='cuda')\n"
            "policy = lambda *arguments, **keywords: CheckpointPolicy.PREFER_RECOMPUTE\n"
            "contexts = functools.partial(create_selective_checkpoint_contexts, policy)\n"
            "q = torch.nn.Parameter(torch.ones(1, 4, 1024, 64, device='cuda', dtype=torch.bfloat16))\n"
            "optimizer = torch.optim.SGD([q])\n"
            "def attend(x): return compiled(x, x * 2, x * 3, block_mask=mask)\n"
            "for _ in range(3):\n"
            "    checkpoint(attend, q, use_reentrant=False, context_fn=contexts).sum().backward()\n"
            "    optimizer.step()\n"
        )
        script = self.folder / "train.py"
        script.write_text(SCRIPT_HEAD + body)
        asked = self.capture(script, 1)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        capture = read_capture(self.out)
        operators = capture.tables["operators"]
        names = [operators[event[1]]["name"] for event in capture.rank(0)["events"] if event[0] == "op"]
        self.assertEqual(names.count("higher_order::flex_attention"), 2)  # forward, and again
        self.assertEqual(names.count("higher_order::flex_attention_backward"), 1)
        self.assertNotIn("higher_order::inductor_compiled_code", names)

    def test_ranks_that_a_script_starts_itself(self):
        body = (
            "import torch, torch.distributed as dist, torch.multiprocessing as mp\n"
            "def train(rank, size):\n"
            "    dist.init_process_group('nccl', init_method='tcp://127.0.0.1:29501', rank=rank, world_size=size)\n"
            "    model = torch.nn.Linear(4, 4 + rank, device='cuda')\n"
            "    optimizer = torch.optim.SGD(model.parameters())\n"
            "    for _ in range(3):\n"
            "        model(torch.ones(2, 4, device='cuda')).sum().backward()\n"
            "        optimizer.step()\n"
            "def main():\n"
        )
        own = "    workers = [mp.Process(target=train, args=(k, 2)) for k in range(2)]\n    for w in workers: w.start()\n"
        for name, start in {
            "spawn": "    mp.spawn(train, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count())\n",
            "processes": own + "    for w in workers: w.join()\n",
        }.items():
            with self.subTest(name):
                script = self.folder / "train.py"
                script.write_text(body + start + "if __name__ == '__main__': main()\n")
                asked = self.capture(script, 2, "--ranks", "all")
                self.assertEqual(asked.returncode, 0, asked.stderr)
                shapes = [document(read_capture(self.out))["ranks"][str(rank)]["products"][0]["b"] for rank in (0, 1)]
                self.assertEqual(shapes, [[4, 4], [4, 5]])
        asked = self.capture(script, 4, "--ranks", "0")
        self.assertIn("capture with --world-size 2", asked.stderr)

    def test_processes_that_are_no_ranks_run(self):
        body = (
            "import torch.multiprocessing as mp\n"
            "def work(number): open(f'{number}.txt', 'w').write('done')\n"
            "if __name__ == '__main__':\n"
            "    context = mp.get_context('fork')\n"
            "    workers = [context.Process(target=work, args=(k,)) for k in range(2)]\n"
            "    for w in workers: w.start()\n"
            "    for w in workers: w.join()\n"
            "    raise ValueError([w.exitcode for w in workers] + [open('0.txt').read(), open('1.txt').read()])\n"
        )
        script = self.folder / "train.py"
        script.write_text(body)
        for rank in range(3):
            with self.subTest(rank):
                asked = self.capture(script, 3, "--ranks", str(rank))
                self.assertIn("[0, 0, 'done', 'done']", asked.stderr)

    def test_what_torchrun_would_start_is_captured(self):
        script = PROGRAMS / "ddp.py"
        for command in (
            ("torchrun", "--nproc-per-node", 2, script),
            ("python", "-m", "torch.distributed.run", "--nnodes=1", "--nproc-per-node=gpu", script),
        ):
            with self.subTest(command[0]):
                asked = self.capture(command[0], 2, "--ranks", "all", arguments=command[1:])
                self.assertEqual(asked.returncode, 0, asked.stderr)
                self.assertEqual(read_capture(self.out).ranks, read_capture(PROGRAMS / "ddp.capture").ranks)
        asked = self.capture("torchrun", 4, arguments=command[:0] + ("--nproc-per-node", 2, script))
        self.assertIn("capture with --world-size 2", asked.stderr)
        asked = self.capture("torchrun", 2, arguments=("--nproc-per-gpu", 2, script))
        self.assertIn("torchrun does not understand its options", asked.stderr)

    def test_nothing_is_written_and_no_host_is_asked(self):
        said = self.failing("open('log.txt', 'w').write('x')\ntorch.save(x, 'model.pt')\n")
        self.assertIn("ended after 0 steps", said)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["train.py"])
        said = self.failing("import socket\nsocket.create_connection(('192.0.2.1', 80))\n")
        self.assertIn("connects to no other host", said)

    def test_programs_of_our_own_equal_what_real_processes_did(self):
        """truth.py says how the truth was recorded."""
        truths = sorted(PROGRAMS.glob("*.truth.json"))
        self.assertGreaterEqual(len(truths), 4)
        for path in truths:
            truth = json.loads(path.read_text())
            with self.subTest(truth["program"]):
                asked = self.capture(PROGRAMS / f"{truth['program']}.py", truth["world_size"])
                self.assertEqual(asked.returncode, 0, asked.stderr)
                shown = document(read_capture(self.out))
                for rank in truth["ranks"]:
                    self.assertEqual(facts_of(shown, rank), facts_of(truth, rank), f"rank {rank}")

    @unittest.skipUnless(SHARED.is_dir(), "no ../shared/capture")
    def test_programs_equal_what_real_processes_did(self):
        for truth in sorted((SHARED / "truth").glob("*.json")):
            with self.subTest(truth.stem):
                script = SHARED / "scripts" / f"{truth.stem}.py"
                if "transformers" in script.read_text() and importlib.util.find_spec("transformers") is None:
                    self.skipTest("transformers is not installed")
                asked = self.capture(script, 4)
                self.assertEqual(asked.returncode, 0, asked.stderr)
                shown = self.folder / "shown.json"
                with shown.open("w") as file:
                    show = [sys.executable, "-m", "mirfak.capture", "show", str(self.out), "--format", "json"]
                    subprocess.run(show, stdout=file, check=True)
                compare = [sys.executable, str(SHARED / "tools" / "compare.py"), str(truth), str(shown)]
                compared = subprocess.run(compare, capture_output=True, text=True)
                self.assertEqual(compared.stdout, "equal\n")


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print(f"skipped: {sys.executable} has no PyTorch (cmake -DMIRFAK_CAPTURE_PYTHON=... names one that has)")
        sys.exit(77)
    unittest.main()
