#!/bin/bash
SIZE=${1:-2b}
case $SIZE in
  2b)
    TP=2 PP=1; EXTRA="--sequence-parallel"
    ;;
  *)
    TP=8 PP=4; EXTRA=
    ;;
esac
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --tokenizer-type NullTokenizer --vocab-size 50304 --tensor-model-parallel-size $TP \
  --pipeline-model-parallel-size $PP $EXTRA --micro-batch-size 1 --global-batch-size 128 --bf16 --lr 1e-4 --train-iters 5
