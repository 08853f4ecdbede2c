#!/bin/bash
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num_layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --tokenizer-type NullTokenizer --vocab-size 50304 --tensor_model_parallel_size 2 \
  --model-parallel-size 2 --micro_batch_size 1 --global_batch_size 128 --bf16 --lr 1e-4 --train_iters 5
