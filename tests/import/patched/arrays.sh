#!/usr/bin/env bash
set -euo pipefail
MODEL_ARGS=(
	--num-layers 16            # layers
	--hidden-size 2048
	--num-attention-heads 16
	--seq-length 2048
	--max-position-embeddings 2048
)
PARALLEL_ARGS=(
	--tensor-model-parallel-size 2
	--sequence-parallel        # with tensor parallelism
	--pipeline-model-parallel-size 1
	--use-distributed-optimizer
	--overlap-grad-reduce
)
DATA_ARGS=(--data-path "/data/my corpus" --tokenizer-type NullTokenizer --vocab-size 50304)
TRAIN_ARGS=(--micro-batch-size 2 --global-batch-size 256 --bf16 --lr 1e-4 --train-iters 20)
torchrun --nproc_per_node=8 --nnodes=4 pretrain_gpt.py "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${DATA_ARGS[@]}" "${TRAIN_ARGS[@]}" 2>&1 | cat
