#!/bin/bash
cd "$(dirname "$0")" || exit 1
. ./sourced-arguments.env
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py "${ARGUMENTS[@]}" --lr 1e-4 --train-iters 5
