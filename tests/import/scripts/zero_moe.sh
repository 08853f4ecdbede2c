#!/usr/bin/env bash
DIR=`pwd`
SEQ_LEN=2048
MODEL_SIZE=1.3
NUM_LAYERS=24
HIDDEN_SIZE=2048
NUM_ATTN_HEADS=16
GLOBAL_BATCH_SIZE=512
### Parallelism
BATCH_SIZE=8
MP_SIZE=1
NUM_GPUS=64
EP_SIZE=64
if [[ $EP_SIZE -gt $NUM_GPUS ]]; then
    EP_PARALLEL_SIZE=$NUM_GPUS
else
    EP_PARALLEL_SIZE=$EP_SIZE
fi
MIN_LR=1.0e-6
NAME="gpt-${MODEL_SIZE}B-bs-${GLOBAL_BATCH_SIZE}-gpus-${NUM_GPUS}"
if [[ $EP_SIZE -gt 1 ]]; then NAME="${NAME}-ep-${EP_SIZE}-mlc-0.01"; fi
ACTIVATION_CHECKPOINT="true"
data_options=" \
         --vocab-file /data/vocab.json \
         --merge-file /data/merges.txt \
         --data-impl mmap"
megatron_options=" \
        --override-opt_param-scheduler \
        --adam-beta1 0.9 \
        --tensor-model-parallel-size ${MP_SIZE} \
        --moe-expert-parallel-size ${EP_PARALLEL_SIZE} \
        --num-experts ${EP_SIZE} \
        --rampup-batch-size 32 32 1953125 \
        --micro-batch-size ${BATCH_SIZE} --global-batch-size ${GLOBAL_BATCH_SIZE} \
        --num-layers ${NUM_LAYERS} \
        --hidden-size ${HIDDEN_SIZE} \
        --num-attention-heads ${NUM_ATTN_HEADS} \
        --seq-length ${SEQ_LEN} --max-position-embeddings ${SEQ_LEN} \
        --split 98,2,0 \
        --fp16"
if [ "${ACTIVATION_CHECKPOINT}" = "true" ]; then
megatron_options="${megatron_options} \
        --checkpoint-activations"
fi
config_json="ds_config_${NAME}.json"
cat <<EOT > $config_json
{
  "train_batch_size" : $GLOBAL_BATCH_SIZE,
  "train_micro_batch_size_per_gpu": ${BATCH_SIZE},
  "zero_optimization": { "stage": 1 },
  "price": "\$5"
}
EOT
deepspeed_options=" \
    --deepspeed \
    --deepspeed_config ${config_json} \
    --pipeline-model-parallel-size 1"
if [[ $EP_SIZE -gt 1 ]]; then
deepspeed_options="${deepspeed_options} \
        --no-pipeline-parallel"
fi
run_cmd="deepspeed ${DIR}/../pretrain_gpt.py ${megatron_options} ${data_options} ${deepspeed_options} &> ${NAME}.log"
echo ${run_cmd}
eval ${run_cmd}
set +x
