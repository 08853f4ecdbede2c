#!/bin/bash
TP=${TP:-2}
PP=${PP:-1}
VPP=1
RECOMPUTE=full
ARGS=(--num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --tokenizer-type NullTokenizer --vocab-size 50304 --bf16 --lr 1e-4 --train-iters 5)
ARGS+=(--tensor-model-parallel-size "$TP" --pipeline-model-parallel-size "$PP")
if [ "$TP" -gt 1 ]; then
  ARGS+=(--sequence-parallel)
fi
if [[ $PP -gt 1 && $VPP -gt 1 ]]; then
  ARGS+=(--num-virtual-stages-per-pipeline-rank $VPP)
fi
if [ "$RECOMPUTE" = full ]; then
  ARGS+=(--recompute-granularity full --recompute-method uniform --recompute-num-layers 1)
fi
ARGS+=(--micro-batch-size 1 --global-batch-size 128)
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py "${ARGS[@]}"
