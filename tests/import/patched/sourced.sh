#!/bin/bash
# Sizes of the groups come from a file that all runs share.
cd "$(dirname "$0")" || exit 1
source ./sourced-layout.env
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --tokenizer-type NullTokenizer --vocab-size 50304 \
  --tensor-model-parallel-size "$TENSOR" \
  --pipeline-model-parallel-size "$PIPELINE" \
  --micro-batch-size "$MICRO_BATCH" --global-batch-size 128 --bf16 --lr 1e-4 --train-iters 5
