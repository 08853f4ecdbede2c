#!/usr/bin/env python3
"""Times training steps of decoder-only transformers in PyTorch on one GPU, as users train them.

A check of predictions that no other program of mirfak has a part in: plain PyTorch modules under FSDP2 on a mesh of one
GPU, bf16 with fp32 reduction, fused AdamW, clipping, each block compiled or eager. It writes steps.csv, a table of
measured runs as `mirfak validate` reads them: the median step and the peak of PyTorch's allocator; details.json: every
step, and memory by phase; and with --profile a Kineto trace of three steps, as `mirfak calibrate --trace` reads it.

    python3 validate/measure/torch_steps.py OUT [--jobs REGEX] [--seconds S] [--profile REGEX]

It needs PyTorch 2.6 or later and nothing else. A run that does not fit is a row too (outcome: out of memory).
"""

import argparse
import csv
import dataclasses
import gc
import json
import os
import re
import statistics
import time
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Job:
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    sequence: int
    micro: int  # sequences of a microbatch
    microbatches: int
    compiled: bool
    recompute: str


JOBS = {
    "llama-1b-s4k": Job(16, 2048, 32, 8, 8192, 4096, 4, 1, True, "none"),
    "llama-1b-s4k-eager": Job(16, 2048, 32, 8, 8192, 4096, 4, 1, False, "none"),
    "llama-1b-s4k-full": Job(16, 2048, 32, 8, 8192, 4096, 8, 1, True, "full"),
    "llama-1b-s8k": Job(16, 2048, 32, 8, 8192, 8192, 1, 1, True, "none"),
    "llama-1b-s8k-acc4": Job(16, 2048, 32, 8, 8192, 8192, 1, 4, True, "none"),
    "llama-3b-s4k": Job(28, 3072, 24, 8, 8192, 4096, 1, 1, True, "none"),
    "llama-3b-s4k-full": Job(28, 3072, 24, 8, 8192, 4096, 4, 1, True, "full"),
    "llama-3b-s4k-full-eager": Job(28, 3072, 24, 8, 8192, 4096, 4, 1, False, "full"),
    "llama-8b-8-s8k": Job(8, 4096, 32, 8, 14336, 8192, 1, 1, True, "none"),
    "llama-8b-8-s8k-full": Job(8, 4096, 32, 8, 14336, 8192, 2, 1, True, "full"),
    "llama-small-s1k-eager": Job(12, 768, 12, 12, 2048, 1024, 8, 1, False, "none"),
    "llama-small-s1k": Job(12, 768, 12, 12, 2048, 1024, 8, 1, True, "none"),
    "llama-8b-16-s8k": Job(16, 4096, 32, 8, 14336, 8192, 4, 1, True, "none"),  # does not fit
}
VOCAB = 128256
WARMUP = 3


def model_of(torch, job):
    """A Llama: products of their own for q, k, v and for both halves of the MLP, rotary positions, RMS norms."""
    nn, functional = torch.nn, torch.nn.functional
    hidden, heads, kv_heads, ffn = job.hidden, job.heads, job.kv_heads, job.ffn
    head = hidden // heads

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention_norm, self.ffn_norm = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
            self.wq = nn.Linear(hidden, heads * head, bias=False)
            self.wk = nn.Linear(hidden, kv_heads * head, bias=False)
            self.wv = nn.Linear(hidden, kv_heads * head, bias=False)
            self.wo = nn.Linear(heads * head, hidden, bias=False)
            self.w1 = nn.Linear(hidden, ffn, bias=False)
            self.w3 = nn.Linear(hidden, ffn, bias=False)
            self.w2 = nn.Linear(ffn, hidden, bias=False)

        @staticmethod
        def rotated(x, cos, sin):
            even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
            return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2).type_as(x)

        def forward(self, x, cos, sin):
            y = self.attention_norm(x)
            q = self.rotated(self.wq(y).unflatten(-1, (heads, head)), cos, sin)
            k = self.rotated(self.wk(y).unflatten(-1, (kv_heads, head)), cos, sin)
            v = self.wv(y).unflatten(-1, (kv_heads, head))
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            a = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=kv_heads != heads)
            x = x + self.wo(a.transpose(1, 2).flatten(2))
            y = self.ffn_norm(x)
            return x + self.w2(functional.silu(self.w1(y)) * self.w3(y))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCAB, hidden)
            self.blocks = nn.ModuleList(Block() for _ in range(job.layers))
            self.norm = nn.RMSNorm(hidden)
            self.output = nn.Linear(hidden, VOCAB, bias=False)
            angles = torch.outer(torch.arange(job.sequence), 5e5 ** (-torch.arange(0, head, 2) / head))
            self.register_buffer("cos", angles.cos()[None, :, None, :], persistent=False)
            self.register_buffer("sin", angles.sin()[None, :, None, :], persistent=False)

        def forward(self, tokens):
            x = self.embedding(tokens)
            for block in self.blocks:
                x = block(x, self.cos, self.sin)
            return self.output(self.norm(x))

    with torch.device("cuda"):
        return Model()


def sharded(torch, model, compiled, recompute):
    """Shards as torchtitan does: checkpoints innermost, then blocks compiled one by one, then sharded."""
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    for i, block in enumerate(model.blocks):
        if recompute == "full":
            block = checkpoint_wrapper(block, preserve_rng_state=False)
        if compiled:
            block = torch.compile(block, fullgraph=True)
        model.blocks[i] = block
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return model


def trained(torch, job, seconds, trace):
    """The seconds of every step, the peak of allocated memory in GiB, and memory by phase."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = sharded(torch, model_of(torch, job), job.compiled, job.recompute)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def loss_of(logits, labels):
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(0, 1))

    if job.compiled:
        loss_of = torch.compile(loss_of)
    batches = [torch.randint(0, VOCAB, (job.micro, job.sequence + 1), device="cuda") for _ in range(job.microbatches)]

    def step():
        optimizer.zero_grad()
        for i, tokens in enumerate(batches):
            model.set_requires_gradient_sync(i + 1 == len(batches))
            loss = loss_of(model(tokens[:, :-1]), tokens[:, 1:]) / job.microbatches
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        return loss

    for _ in range(WARMUP):
        loss = step()
    assert loss.isfinite().item(), "the loss is not finite"
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    times, until = [], time.monotonic() + seconds
    gc.collect()
    gc.disable()  # as torchtitan does, which collects garbage at steps of its own
    try:
        while len(times) < 8 or time.monotonic() < until:
            begin = time.perf_counter()
            step()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
    finally:
        gc.enable()
    peak = torch.cuda.max_memory_allocated() / 2**30
    if trace:
        from torch.profiler import ProfilerActivity, profile, record_function

        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as profiler:
            for i in range(3):
                with record_function(f"ProfilerStep#{i}"):
                    step()
                    torch.cuda.synchronize()
        profiler.export_chrome_trace(str(trace))
    memory = phases_of_memory(torch, model, optimizer, batches[0], loss_of)
    return times, peak, memory


def phases_of_memory(torch, model, optimizer, tokens, loss_of):
    """GiB allocated at rest and after forward, and the peaks of forward, backward and the optimizer step."""
    gibibytes = lambda value: round(value / 2**30, 3)
    out = {"rest": gibibytes(torch.cuda.memory_allocated())}

    def phase(name, run):
        torch.cuda.reset_peak_memory_stats()
        result = run()
        out[name] = gibibytes(torch.cuda.max_memory_allocated())
        out["after_" + name] = gibibytes(torch.cuda.memory_allocated())
        return result

    optimizer.zero_grad()
    out["no_gradients"] = gibibytes(torch.cuda.memory_allocated())
    loss = phase("forward", lambda: loss_of(model(tokens[:, :-1]), tokens[:, 1:]))
    phase("backward", loss.backward)
    phase("optimizer", optimizer.step)
    return out


def row_of(name, job, gpu, source):
    return {
        "tier": "A", "kind": "dense", "source": source, "model": name, "n_layers": job.layers, "hidden": job.hidden,
        "ffn_hidden": job.ffn, "n_heads": job.heads, "n_kv_heads": job.kv_heads, "vocab": VOCAB,
        "seq_len": job.sequence, "gpu": gpu, "n_gpus": 1, "gpus_per_node": 1, "tp": 1, "pp": 1, "dp": 1, "cp": 1,
        "vpp": 1, "micro_batch": job.micro, "global_batch": job.micro * job.microbatches, "dtype": "bf16",
        "recompute": job.recompute, "zero_stage": 3,
        "flags": "FSDP2 on one GPU; " + ("torch.compile" if job.compiled else "eager"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder for steps.csv and traces")
    parser.add_argument("--jobs", default=".*", help="only jobs whose name matches")
    parser.add_argument("--seconds", type=float, default=3, help="how long to time each, compilation beside")
    parser.add_argument("--profile", help="jobs to write a trace of")
    parser.add_argument("--until", type=float, default=1e9, help="begin no job after so many seconds")
    arguments = parser.parse_args()
    begun = time.monotonic()
    import torch

    if not torch.cuda.is_available():
        parser.exit(3, "torch_steps.py: no CUDA device\n")
    arguments.out.mkdir(parents=True, exist_ok=True)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    torch.cuda.set_device(0)
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda:0"))
    torch.set_float32_matmul_precision("high")
    gpu = torch.cuda.get_device_name()
    source = f"mirfak:validate/measure/torch_steps.py, PyTorch {torch.__version__}"
    rows, details = [], {}
    for name, job in JOBS.items():
        if not re.search(arguments.jobs, name) or time.monotonic() - begun > arguments.until:
            continue
        row = row_of(name, job, gpu, source)
        trace = arguments.out / f"{name}.json.gz" if arguments.profile and re.search(arguments.profile, name) else None
        try:
            times, peak, memory = trained(torch, job, arguments.seconds, trace)
            half = times[len(times) // 2:]  # clocks have settled under the power limit by then
            row |= {"s_per_iter_derived": f"{statistics.median(half):.6g}", "memory_allocated_gib": f"{peak:.4g}",
                    "outcome": "ran", "notes": f"median of {len(half)} steps of {min(half):.6g} to {max(half):.6g} s"}
            details[name] = {"steps_s": [round(t, 6) for t in times], "memory_gib": memory}
            (arguments.out / "details.json").write_text(json.dumps(details, indent=1))
        except torch.OutOfMemoryError:
            row |= {"outcome": "out of memory"}
        except Exception as error:  # one job that fails does not take the others with it
            print(f"torch_steps.py: {name}: {type(error).__name__}: {error}", flush=True)
            continue
        rows.append(row)
        print(f"{time.monotonic() - begun:6.1f} s {name:28} {row.get('s_per_iter_derived', '-'):>10} s "
              f"{row.get('memory_allocated_gib', '-'):>8} GiB  {row['outcome']}  {row.get('notes', '')}", flush=True)
        gc.collect()
        torch.cuda.empty_cache()
        with open(arguments.out / "steps.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=[*rows[0], *[k for k in (
                "s_per_iter_derived", "memory_allocated_gib", "outcome", "notes") if k not in rows[0]]])
            writer.writeheader()
            writer.writerows(rows)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
