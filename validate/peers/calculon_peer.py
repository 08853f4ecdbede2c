"""Calculon (Isaev et al., SC'23; github.com/calculon-ai/calculon), asked for published jobs.

Systems are the files of its checkout, unchanged. It knows one kind of layer: attention of as many keys as queries, an
MLP of two products, no embedding and no head. An MLP with a gate is given to it as one of half more width, which has
the same products' FLOPs and parameters; groups of queries that share keys are not expressed.
"""

from __future__ import annotations

import json
import logging
import pathlib
import sys
from typing import Any

from jobs import Job, NotExpressed, refusal, require_plain_transformer

# The first system is that of calculon's validation against Megatron-LM's runs on A100.
SYSTEMS = {"a100-80g": "a100_80e", "h100": "h100_80g_nvl8"}
RECOMPUTATION = {"none": "none", "selective": "attn_only", "full": "full"}
DATATYPES = {"fp16": "float16", "bf16": "float16", "fp8": "float8", "fp8-current": "float8"}


def application(job: Job) -> dict[str, int]:
    model = job.model
    heads = int(model["heads"])
    if int(model.get("kv_heads", heads)) != heads:
        raise NotExpressed("groups of queries that share keys and values")
    return {
        "hidden": int(model["hidden"]),
        "feedforward": int(model["ffn"] * (1.5 if job.gated else 1)),
        "seq_size": job.sequence,
        "attn_heads": heads,
        "attn_size": int(model.get("head_dim", model["hidden"] // heads)),
        "num_blocks": int(model["layers"]),
    }


def execution(job: Job, datatypes: set[str], node: int) -> dict[str, Any]:
    """node: GPUs of the inner network."""
    datatype = DATATYPES.get(job.precision)
    if datatype not in datatypes:
        raise NotExpressed(f"{job.precision} on such a GPU")
    if job.zero > 1:
        raise NotExpressed("divided gradients or parameters (ZeRO 2, 3)")
    if int(job.model["layers"]) % (job.pipeline * job.chunks):
        raise NotExpressed("stages of unequal numbers of layers")
    inner = job.tensor <= node
    data_inside = inner and job.tensor * job.data <= node
    pipeline_inside = data_inside and job.gpus <= node
    parallel = job.sequence_parallel and job.tensor > 1
    return {
        "num_procs": job.gpus,
        "tensor_par": job.tensor,
        "pipeline_par": job.pipeline,
        "data_par": job.data,
        "tensor_par_net": 0 if inner else 1,
        "pipeline_par_net": 0 if pipeline_inside else 1,
        "data_par_net": 0 if data_inside else 1,
        "batch_size": job.batch,
        "microbatch_size": job.micro_batch,
        "datatype": datatype,
        "fused_activation": True,
        "attention_type": "multihead",
        "activation_recompute": RECOMPUTATION[job.recompute],
        "pipeline_interleaving": job.chunks if job.pipeline > 1 else 1,
        "optimizer_sharding": job.zero == 1 and job.data > 1,
        "tensor_par_comm_type": "rs_ag" if parallel else "ar",
        "tensor_par_overlap": "none",
        "seq_par_ag_redo": parallel and job.recompute != "full",
        "data_par_overlap": job.overlaps_gradients and job.data > 1,
        "weight_offload": False,
        "activations_offload": False,
        "optimizer_offload": False,
        "training": True,
    }


class Calculon:
    name = "Calculon"

    def __init__(self, checkout: pathlib.Path) -> None:
        sys.path.insert(0, str(checkout))
        from calculon.llm import Llm
        from calculon.system import System

        self.llm, self.system = Llm, System
        self.files = {gpu: json.loads((checkout / "systems" / f"{name}.json").read_text()) for gpu, name in SYSTEMS.items()}
        self.log = logging.getLogger("calculon")

    def seconds(self, job: Job) -> float:
        require_plain_transformer(job)
        if job.gpu not in self.files:
            raise NotExpressed(f"no system file of {job.gpu}")
        system = self.files[job.gpu]
        asked = execution(job, set(system["matrix"]), system["networks"][0]["size"])
        try:
            model = self.llm(self.llm.Application(application(job)), self.log)
            model.compile(self.system(system), self.llm.Execution.from_json(asked))
            model.run(self.system(system))
        except (self.llm.Error, AssertionError) as error:
            raise NotExpressed(refusal(error)) from None
        return float(model.get_total_time())
