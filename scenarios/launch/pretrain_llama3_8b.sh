#!/bin/bash
# A training of Llama 3 8B as people start one with Megatron-LM, for `mirfak import`. 8 nodes of 8 GPUs.
#SBATCH --job-name=llama3-8b
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:h100:8
#SBATCH --time=48:00:00
set -euo pipefail

export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-8}
TP=${TP:-2}
PP=${PP:-1}
MICRO_BATCH=${MICRO_BATCH:-1}
DATA=${DATA:-/data/tokens}

DISTRIBUTED=(
  --nproc_per_node "$GPUS_PER_NODE"
  --nnodes "$NNODES"
  --rdzv_backend c10d
)
MODEL=(
  --use-mcore-models
  --num-layers 32
  --hidden-size 4096
  --ffn-hidden-size 14336
  --num-attention-heads 32
  --group-query-attention
  --num-query-groups 8
  --seq-length 8192
  --max-position-embeddings 8192
  --position-embedding-type rope
  --swiglu
  --normalization RMSNorm
  --disable-bias-linear
  --untie-embeddings-and-output-weights
  --attention-dropout 0
  --hidden-dropout 0
  --tokenizer-type NullTokenizer
  --vocab-size 128256
)
TRAINING=(
  --bf16
  --micro-batch-size "$MICRO_BATCH"
  --global-batch-size 512
  --train-iters 100000
  --lr 3.0e-4
  --min-lr 3.0e-5
  --lr-decay-style cosine
  --clip-grad 1.0
  --weight-decay 0.1
)
PARALLELISM=(
  --tensor-model-parallel-size "$TP"
  --pipeline-model-parallel-size "$PP"
  --use-distributed-optimizer
  --overlap-grad-reduce
  --overlap-param-gather
)
if ((TP > 1)); then
  PARALLELISM+=(--sequence-parallel)
fi

srun torchrun "${DISTRIBUTED[@]}" pretrain_gpt.py \
  "${MODEL[@]}" "${TRAINING[@]}" "${PARALLELISM[@]}" \
  --data-path "$DATA" --save-interval 1000
