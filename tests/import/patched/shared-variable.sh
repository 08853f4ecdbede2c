#!/bin/bash
SIZE=2        # of tensor and of pipeline groups, and of the micro-batch
RUN=llama-tp$SIZE
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --tokenizer-type NullTokenizer --vocab-size 50304 \
  --tensor-model-parallel-size $SIZE --pipeline-model-parallel-size ${SIZE} --micro-batch-size $SIZE \
  --global-batch-size 128 --bf16 --lr 1e-4 --train-iters 5 --save checkpoints/$RUN
