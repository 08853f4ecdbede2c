"""torchtitan's Llama 3 8B as it was in 2025: attention of PyTorch, loss in one piece, no CUDA graphs, compiled blocks.

    python -m mirfak.capture ... -- llama3_of_2025.py --config bf16 [arguments of torchtitan]

Configurations: bf16, tensorwise and rowwise (float8 of torchao; the head stays in bf16).
"""

import sys

import triton

plain_autotune = triton.autotune


def autotune(configs, key, **options):
    """triton.autotune, which ignores keys that name no argument, as it did when torchao 0.18 was written.

    A kernel of torchao's experts has one, and so torchtitan's import of it fails with the Triton of PyTorch 2.15.
    """

    def decorated(function):
        return plain_autotune(configs, [name for name in key if name in function.arg_names], **options)(function)

    return decorated


triton.autotune = autotune

from torchtitan.components.loss import CrossEntropyLoss
from torchtitan.components.quantization import Float8LinearConverter
from torchtitan.config import CompileConfig
from torchtitan.models.common.attention import ScaledDotProductAttention
from torchtitan.models.common.config_utils import decoder_vocab_size
from torchtitan.models.llama3 import model_registry
from torchtitan.models.llama3.config_registry import llama3_8b
from torchtitan.models.llama3.model import Llama3Model

Llama3Model.get_attention_masks = lambda model, positions: None  # all tokens of a sequence are one document


def _configuration(converters=None):
    config = llama3_8b()
    config.model_spec = model_registry("8B", converters=converters)
    for layer in config.model_spec.model.layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    config.loss = CrossEntropyLoss.Config(global_vocab_size=decoder_vocab_size(config.model_spec))
    config.compile = CompileConfig(enable=True)
    config.training.disable_cuda_graphs = True
    config.profiler.enable_profiling = False
    config.metrics.enable_tensorboard = False
    config.validator.enable = False
    return config


def _float8(recipe):
    return _configuration([Float8LinearConverter.Config(recipe_name=recipe, filter_fqns=["lm_head"])])


def bf16():
    return _configuration()


def tensorwise():
    return _float8("tensorwise")


def rowwise():
    return _float8("rowwise")


if __name__ == "__main__":
    from torchtitan.train import main

    sys.argv[1:1] = ["--module", "llama3_of_2025"]
    main()
