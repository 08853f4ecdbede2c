#!/bin/bash
# A dense model on nodes of 8 GPUs, with arrays of arguments.
set -euo pipefail
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NUM_NODES=${SLURM_NNODES:-4}
MASTER_ADDR=${MASTER_ADDR:-localhost}
NODE_RANK=${NODE_RANK:-"0"}
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
CHECKPOINTS=${1:-/ckpt/gpt}
TOKENIZER_ARG=${2:-"MOCK"}
DATA=${3:-"MOCK"}

mkdir -p "$(dirname "$CHECKPOINTS")"
TP=4; PP=2
MBS=1
GBS=$(( MBS * WORLD_SIZE / (TP * PP) * 16 ))

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES   # as Slurm says
    --node_rank "$NODE_RANK"
    --master_addr "${MASTER_ADDR}" --master_port 6000
)
MODEL_ARGS=(
    --num-layers 32 \
    --hidden-size 4096 --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention --num-query-groups 8
    --seq-length 8192 --max-position-embeddings 8192
    --position-embedding-type rope --rotary-base 500000
    --swiglu --normalization RMSNorm --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0 --hidden-dropout 0.0
)
TRAINING_ARGS=(
    --micro-batch-size $MBS
    --global-batch-size "$GBS"
    --lr 1.5e-4 --bf16
    --split '98,1,1'
)
DATA_ARGS=()
if [[ "$TOKENIZER_ARG" == "MOCK" ]] || [[ "$DATA" == "MOCK" ]] || [[ -z "$TOKENIZER_ARG" ]]; then
    DATA_ARGS+=(
        "--mock-data"
        "--tokenizer-type NullTokenizer"
        "--vocab-size 128256"
        "--split '99,1,0'"
    )
else
    DATA_ARGS+=("--data-path $DATA" --tokenizer-model "$TOKENIZER_ARG")
fi
if [ "${NUM_NODES}" -gt 1 ]; then DISTRIBUTED_ARGS+=(--rdzv_backend c10d); fi

torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    "${MODEL_ARGS[@]}" \
    ${TRAINING_ARGS[@]} ${DATA_ARGS[@]} \
    --tensor-model-parallel-size $TP --sequence-parallel \
    --pipeline-model-parallel-size $PP \
    --use-distributed-optimizer --overlap-grad-reduce \
    --save "$CHECKPOINTS" 2>&1 | tee log.txt
