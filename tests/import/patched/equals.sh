#!/bin/bash
PP=1
python -m torch.distributed.run --nproc_per_node=8 --nnodes=4 ./megatron/pretrain_gpt.py \
  --num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --tokenizer-type NullTokenizer --vocab-size 50304 \
  --tensor-model-parallel-size=2 --pipeline-model-parallel-size=$PP --micro-batch-size="1" --global-batch-size=128 \
  --bf16 --lr=1e-4 --train-iters=5
