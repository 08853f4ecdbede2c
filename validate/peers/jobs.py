"""Published rows as jobs that other simulators can be asked for: read by mirfak, so that all are asked for the same."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import subprocess
from typing import Any

import yaml


class NotExpressed(Exception):
    """A job that a simulator has no words for, and which words it lacks."""


@dataclasses.dataclass(frozen=True)
class Job:
    """A measured iteration: what ran, on what, and how long it took. Times are seconds, sizes as in a scenario."""

    table: str
    line: int
    measured_s: float
    mirfak_s: float
    model: dict[str, Any]  # keys of a model file
    gpu: str  # a name in hw_profiles/gpus
    gpus: int
    gpus_per_node: int
    precision: str
    sequence: int
    batch: int  # sequences of an iteration
    tensor: int
    pipeline: int
    data: int
    context: int
    expert: int
    chunks: int  # model chunks of a stage
    micro_batch: int
    recompute: str
    zero: int
    sequence_parallel: bool
    overlaps_gradients: bool
    schedule: str

    @property
    def gated(self) -> bool:
        """True if the MLP has a gate, and so three products."""
        return str(self.model.get("activation", "gelu")) in ("swiglu", "geglu")


class Reader:
    """Rows of tables of measured runs. mirfak: the program; root: the checkout whose data it reads."""

    def __init__(self, mirfak: pathlib.Path, root: pathlib.Path) -> None:
        self.mirfak, self.root = mirfak, root
        self.nodes: dict[str, dict[str, Any]] = {}

    def jobs(self, table: pathlib.Path, tiers: str) -> list[Job]:
        """All rows that state seconds and that mirfak predicts; `tiers`: the grades that count, such as "A"."""
        text = self._run("validate", str(table), "--tiers", tiers, "--format", "json")
        rows = json.loads(text)["rows"]
        return [self._job(table, row) for row in rows if row.get("measured") and row.get("predicted")]

    def _run(self, *arguments: str) -> str:
        return subprocess.run([self.mirfak, *arguments], check=True, capture_output=True, text=True).stdout

    def _job(self, table: pathlib.Path, row: dict[str, Any]) -> Job:
        scenario = yaml.safe_load(self._run("validate", str(table), "--line", str(row["line"])))
        model = scenario["model"]
        if isinstance(model, str):
            model = yaml.safe_load((self.root / "models" / f"{model}.yaml").read_text())
        if len(scenario["cluster"]["nodes"]) != 1:
            raise NotExpressed(f"{table}:{row['line']}: several types of nodes")
        nodes = scenario["cluster"]["nodes"][0]
        profile = self._node(nodes["type"])
        strategy, training = scenario.get("strategy", {}), scenario["training"]
        per_node = int(nodes.get("gpus", profile["gpus"]))
        gpus = per_node * int(nodes.get("count", 1))
        sizes = {key: int(strategy.get(key, 1)) for key in ("tensor", "pipeline", "context", "expert")}
        data = gpus // (sizes["tensor"] * sizes["pipeline"] * sizes["context"])
        return Job(
            table=table.stem,
            line=row["line"],
            measured_s=row["measured"],
            mirfak_s=row["predicted"],
            model=model,
            gpu=profile["gpu"],
            gpus=gpus,
            gpus_per_node=per_node,
            precision=training.get("precision", "bf16"),
            sequence=int(training["sequence_length"]),
            batch=int(training["global_batch"]),
            data=data,
            chunks=int(strategy.get("virtual_pipeline", 1)),
            micro_batch=int(strategy.get("micro_batch", 1)),
            recompute=str(strategy.get("recompute", "none")),
            zero=int(strategy.get("zero", 0)),
            sequence_parallel=bool(strategy.get("sequence_parallel", False)),
            overlaps_gradients=bool(strategy.get("overlap_grad_reduce", False)),
            schedule=str(strategy.get("schedule", "1f1b")),
            **sizes,
        )

    def _node(self, name: str) -> dict[str, Any]:
        if name not in self.nodes:
            self.nodes[name] = yaml.safe_load((self.root / "hw_profiles" / "nodes" / f"{name}.yaml").read_text())
        return self.nodes[name]


def require_plain_transformer(job: Job) -> None:
    """Raises NotExpressed for what none of the analytic peers has: experts, other blocks, divided sequences."""
    if "blocks" in job.model or "layers" not in job.model:
        raise NotExpressed("a model of other blocks than one stack of transformer layers")
    if job.model.get("experts") or job.expert > 1:
        raise NotExpressed("experts")
    if job.context > 1:
        raise NotExpressed("context parallelism")
    if job.schedule not in ("1f1b", "interleaved"):
        raise NotExpressed(f"the schedule {job.schedule}")
    if job.recompute not in ("none", "full", "selective"):
        raise NotExpressed(f"recomputation of parts of the layers ({job.recompute})")
    if job.batch % (job.data * job.micro_batch):
        raise NotExpressed("replicas with unequal numbers of microbatches")


def refusal(error: BaseException) -> str:
    """A simulator's own refusal in words that alike rows share: its numbers left out."""
    text = str(error).splitlines()[0] if str(error) else "an assertion without words"
    return "refused: " + re.sub(r"\d+(\.\d+)?", "#", text)
