"""Output of --emit, judged by the programs' own parsers: torchtitan's ConfigManager, DeepSpeed's DeepSpeedConfig, TRL's parser and
Accelerate's launcher take the arguments and files of drawn strategies, and say the values that the scenario says. A program that is not
installed is skipped, by name; the status is 77 where none is."""

import json
import random
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

MIRFAK, SOURCE = Path(sys.argv[1]), Path(sys.argv[2])
STRATEGIES = 160


def scenario(model, framework, precision, strategy):
    lines = "".join(f"  {key}: {value}\n" for key, value in strategy.items())
    return (
        f"model: {model}\ncluster: {{nodes: [{{type: hgx-h100, count: 4}}]}}\n"
        f"training: {{global_batch: 256, sequence_length: 2048, framework: {framework}, precision: {precision}}}\n"
        f"strategy:\n{lines}"
    )


def emitted(target, text, folder):
    """Returns the names of the written files; None where the job cannot run, or the program cannot express it."""
    path = folder / "s.yaml"
    path.write_text(text)
    out = folder / "out"
    out.mkdir(exist_ok=True)
    run = subprocess.run(
        [MIRFAK, "simulate", path, "--emit", target, "--emit-dir", out, "--data", SOURCE], capture_output=True, text=True
    )
    if run.returncode == 3 and not run.stdout:
        return None
    assert run.stdout, run.stderr
    return [Path(name) for name in run.stdout.split()]


def written(target, draw, check):
    """Has `check` judge as many drawn strategies as can be written."""
    chance = random.Random(23)
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(40 * STRATEGIES):
            drawn = draw(chance)
            files = emitted(target, scenario(*drawn), Path(folder))
            if files is None:
                continue
            try:
                check(files, drawn)
            except BaseException:
                print(scenario(*drawn), *(file.read_text() for file in files), sep="\n")
                raise
            done += 1
            if done == STRATEGIES:
                return
    raise AssertionError(f"{target}: {done} of {STRATEGIES} strategies are written")


def titan_strategy(chance):
    mixture = chance.random() < 0.3
    tensor = chance.choice([1, 1, 2, 4])
    pipeline = chance.choice([1, 1, 2, 4])
    context = chance.choice([1, 1, 2])
    strategy = {
        "tensor": tensor,
        "pipeline": pipeline,
        "context": context,
        "context_communication": "all-gather",
        "micro_batch": chance.choice([1, 2, 4]),
        "zero": chance.choice([0, 2, 3, 3]),
        "overlap_grad_reduce": "true",
        "recompute": chance.choice(["none", "full", "selective"]),
    }
    if strategy["recompute"] == "selective":
        strategy["recompute_modules"] = "[op]"
    if tensor > 1:
        strategy["sequence_parallel"] = "true"
        strategy["overlap_tensor"] = chance.choice(["true", "false"])
    if pipeline > 1:
        strategy["schedule"] = chance.choice(["1f1b", "gpipe", "zb-h1"])
    if mixture and chance.random() < 0.5:
        strategy["expert"] = chance.choice([2, 4, 8])
    return "deepseek-v2-lite" if mixture else "llama3-8b", "torchtitan", "bf16", strategy


def check_titan(parse):
    def check(files, drawn):
        strategy = drawn[3]
        config = parse(shlex.split(files[0].read_text(), comments=True))
        parallelism = config.parallelism
        assert parallelism.tensor_parallel_degree == strategy["tensor"]
        assert parallelism.pipeline_parallel_degree == strategy["pipeline"]
        assert parallelism.context_parallel_degree == strategy["context"]
        assert config.compile.enable_async_tensor_parallel == (strategy.get("overlap_tensor") == "true")
        assert config.training.disable_cuda_graphs
        assert config.training.seq_len == 2048 and config.training.global_batch_size == 256
        ranks = parallelism.data_parallel_replicate_degree * parallelism.data_parallel_shard_degree
        assert ranks * strategy["tensor"] * strategy["pipeline"] * strategy["context"] == 32
        if strategy["pipeline"] > 1:
            assert parallelism.pipeline_parallel_microbatch_size == strategy["micro_batch"]
        else:
            assert config.training.local_batch_size == strategy["micro_batch"]
        checkpointing = config.activation_checkpoint
        named = {"none": "NoneType", "full": "FullAC.Config", "selective": "SelectiveAC.Config"}
        assert type(checkpointing).__qualname__ == named[strategy["recompute"]], checkpointing
        if "expert" in strategy:
            assert parallelism.expert_parallel_degree == strategy["expert"]

    return check


def judge_titan():
    import torchtitan  # noqa: F401
    from torchtitan.config import ConfigManager

    written("torchtitan", titan_strategy, check_titan(lambda words: ConfigManager().parse_args(words)))


def deepspeed_strategy(chance):
    zero = chance.choice([0, 1, 2, 3])
    tensor = chance.choice([1, 1, 2, 4])
    pipeline = chance.choice([1, 1, 2, 4])
    strategy = {
        "tensor": tensor,
        "pipeline": pipeline,
        "micro_batch": chance.choice([1, 2, 4]),
        "zero": zero,
        "recompute": chance.choice(["none", "full"]),
    }
    if zero == 1 and chance.random() < 0.5:
        strategy["overlap_grad_reduce"] = "true"
    return "gpt3-13b", "megatron-deepspeed", chance.choice(["bf16", "fp16", "fp32"]), strategy


class Ranks:
    """The part of Megatron's mpu from which DeepSpeed learns the number of data ranks."""

    def __init__(self, data):
        self.data = data

    def get_data_parallel_world_size(self):
        return self.data


def judge_deepspeed():
    from deepspeed.runtime import config as deepspeed_config

    def check(files, drawn):
        strategy = drawn[3]
        data = 32 // strategy["tensor"] // strategy["pipeline"]
        name = next(file for file in files if file.suffix == ".json")
        with mock.patch.object(deepspeed_config.dist, "get_rank", return_value=0):
            config = deepspeed_config.DeepSpeedConfig(json.loads(name.read_text()), mpu=Ranks(data))
        assert config.train_micro_batch_size_per_gpu == strategy["micro_batch"]
        assert config.train_batch_size == 256
        assert config.gradient_accumulation_steps * strategy["micro_batch"] * data == 256
        assert config.zero_optimization_stage == strategy["zero"]
        assert config.zero_enabled == (strategy["zero"] > 0)

    written("deepspeed", deepspeed_strategy, check)


def accelerate_strategy(chance):
    zero = chance.choice([0, 1, 2, 3, 3])
    tensor = chance.choice([1, 1, 1, 2, 4])
    strategy = {
        "tensor": tensor,
        "micro_batch": chance.choice([1, 2, 4]),
        "zero": zero,
        "recompute": chance.choice(["none", "full"]),
        "overlap_grad_reduce": "true" if zero == 0 else "false",
    }
    if zero > 1 and chance.random() < 0.3:
        strategy |= {"context": 2, "context_communication": chance.choice(["p2p", "all-gather"])}
    if zero > 1 and chance.random() < 0.4:
        strategy["zero_group"] = chance.choice([4, 8])
    # No tf32: TRL's parser asks the machine for a GPU that has it.
    framework = chance.choice(["huggingface", "huggingface-fsdp"])
    return chance.choice(["llama3-8b", "llama2-7b"]), framework, chance.choice(["bf16", "fp16", "fp32"]), strategy


def check_wrapping(launched, mesh, strategy):
    zero, parallel = strategy["zero"], strategy["tensor"] * strategy.get("context", 1)
    assert launched.multi_gpu == (zero == 0) and launched.use_deepspeed == (zero == 1) and launched.use_fsdp == (zero > 1)
    if zero == 1:
        assert int(launched.zero_stage) == 1
    if zero > 1:
        assert int(launched.fsdp_version) == 2 and bool(launched.fsdp_reshard_after_forward) == (zero == 3)
    if launched.use_parallelism_config:
        assert mesh.tp_size == strategy["tensor"] and mesh.cp_size == strategy.get("context", 1)
        assert mesh.total_size == 32
        group = strategy.get("zero_group")
        assert group is None or mesh.dp_shard_size * mesh.cp_size in (group, 32 // mesh.tp_size)
    else:
        assert parallel == 1 and strategy.get("zero_group") is None


def judge_accelerate():
    from accelerate import ParallelismConfig
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from trl.scripts.sft import make_parser

    launcher, trainer = launch_command_parser(), make_parser()
    sizes = ("dp_replicate_size", "dp_shard_size", "tp_size", "cp_size")

    def check(files, drawn):
        strategy, precision = drawn[3], drawn[2]
        options = next(file for file in files if file.suffix == ".txt")
        config = next(file for file in files if file.suffix == ".yaml")
        launched, _, _ = _validate_launch_command(launcher.parse_args(["--config_file", str(config), "train.py"]))
        assert launched.num_machines == 4 and launched.num_processes == 32
        assert launched.mixed_precision == ("no" if precision == "fp32" else precision)
        mesh = ParallelismConfig(**{size: int(getattr(launched, f"parallelism_config_{size}")) for size in sizes})
        check_wrapping(launched, mesh, strategy)
        words = shlex.split(options.read_text(), comments=True)
        settings = trainer.parse_args_and_config([*words, "--output_dir", "out", "--dataset_name", "d", "--use_cpu"])[1]
        assert settings.per_device_train_batch_size == strategy["micro_batch"] and settings.max_length == 2048
        data = 32 // strategy["tensor"] // strategy.get("context", 1)
        assert settings.gradient_accumulation_steps * strategy["micro_batch"] * data == 256
        assert settings.bf16 == (precision == "bf16") and settings.fp16 == (precision == "fp16")
        assert settings.gradient_checkpointing == (strategy["recompute"] == "full")

    written("accelerate", accelerate_strategy, check)


def main():
    judged = 0
    for name, judge in {"torchtitan": judge_titan, "deepspeed": judge_deepspeed, "accelerate": judge_accelerate}.items():
        try:
            judge()
        except ModuleNotFoundError as error:
            print(f"skipped: {name} is not installed here ({error})")
            continue
        print(f"{name}: its own parser takes {STRATEGIES} strategies, and says the same of each")
        judged += 1
    return 0 if judged else 77


sys.exit(main())
