#!/bin/bash
COMMON="--num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --tokenizer-type NullTokenizer --vocab-size 50304 --tensor-model-parallel-size 1 --micro-batch-size 4 --sequence-parallel --bf16"
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py $COMMON --global-batch-size 128 --tensor-model-parallel-size 4 \
  --micro-batch-size 1 --sequence-parallel --lr 1e-4 --train-iters 5
