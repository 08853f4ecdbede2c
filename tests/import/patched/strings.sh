#!/bin/bash
MODEL="--num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --tokenizer-type NullTokenizer --vocab-size 50304"
PARALLEL=" \
    --tensor-model-parallel-size 2 \
    --pipeline-model-parallel-size 2 \
    --use-distributed-optimizer \
    --sequence-parallel"
TRAIN="--micro-batch-size 1 --global-batch-size 64 --bf16 --recompute-activations"
TRAIN="$TRAIN --lr 2e-4 --train-iters 10"
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py $MODEL $PARALLEL $TRAIN --data-path /data/tokens
