"""llm-analysis (Cheng Li; PyPI llm-analysis), asked for published jobs.

GPUs are its own files. Its README says which efficiencies to assume where nothing was profiled: half of the FLOP/s
("literature reports up to 0.5 for large scale model training") and 0.9 of the memory's bandwidth.
"""

from __future__ import annotations

import logging

from jobs import Job, NotExpressed, refusal, require_plain_transformer

GPUS = {
    "a100-80g": "a100-sxm-80gb",
    "a100-40g": "a100-sxm-40gb",
    "h100": "h100-sxm-80gb",
    "v100-32g": "v100-sxm-32gb",
    "v100-16g": "v100-sxm-16gb",
}
FLOPS_EFFICIENCY, MEMORY_EFFICIENCY = 0.5, 0.9
RECOMPUTATION = {"none": 0, "selective": 1, "full": 2}


class LlmAnalysis:
    name = "llm-analysis"

    def __init__(self) -> None:
        logging.disable(logging.WARNING)
        from llm_analysis import analysis, config

        self.analysis, self.config = analysis, config

    def seconds(self, job: Job) -> float:
        require_plain_transformer(job)
        if job.gpu not in GPUS:
            raise NotExpressed(f"no GPU file of {job.gpu}")
        if job.precision not in ("fp16", "bf16"):
            raise NotExpressed(f"training in {job.precision}")
        if job.chunks > 1:
            raise NotExpressed("interleaved stages")
        model = job.model
        described = self.config.ModelConfig(
            name="row",
            num_layers=int(model["layers"]),
            n_head=int(model["heads"]),
            hidden_dim=int(model["hidden"]),
            vocab_size=int(model["vocab"]),
            max_seq_len=job.sequence,
            num_key_value_heads=int(model.get("kv_heads", model["heads"])),
            num_key_value_groups=int(model["heads"]) // int(model.get("kv_heads", model["heads"])),
            ffn_embed_dim=int(model["ffn"]),
            expansion_ratio=model["ffn"] / model["hidden"],
        )
        layout = self.config.ParallelismConfig(
            tp_size=job.tensor,
            pp_size=job.pipeline,
            dp_size=job.data,
            sp_size=job.tensor if job.sequence_parallel else 1,
        )
        try:
            asked = self.analysis.LLMAnalysis(
                described,
                self.config.get_gpu_config_by_name(GPUS[job.gpu]),
                self.config.get_dtype_config_by_name("w16a16e16"),
                layout,
                flops_efficiency=FLOPS_EFFICIENCY,
                hbm_memory_efficiency=MEMORY_EFFICIENCY,
            )
            summary = asked.training(
                batch_size_per_gpu=job.micro_batch,
                global_batch_size=job.batch,
                seq_len=job.sequence,
                activation_recomputation=self.analysis.ActivationRecomputation(RECOMPUTATION[job.recompute]),
                ds_zero=self.analysis.DSZeRO(job.zero),
                mlp_gated_linear_units=job.gated,
            )
        except (AssertionError, ValueError, ZeroDivisionError) as error:
            raise NotExpressed(refusal(error)) from None
        return float(summary["latency_per_iter"])
