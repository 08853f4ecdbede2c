#!/bin/bash
export MODEL=${MODEL:-"mixtral"}
export TP=${TP:-2} PP=${PP:-4} EP=${EP:-8} CP=${CP:-1}
: "${MBS:=1}"
: ${GBS:=256}
export VPP=${VPP:-1}
declare -A LAYERS=( [mixtral]=32 ["qwen"]=48 )
declare -a EXTRA
while [[ $# -gt 0 ]]; do
  case "$1" in
    --layers=*) LAYERS[$MODEL]="${1#*=}"; shift ;;
    -n|--name) NAME="$2"; shift 2 ;;
    --) shift; EXTRA+=("$@"); break ;;
    *) EXTRA+=("$1"); shift ;;
  esac
done
function join_by { local IFS="$1"; shift; echo "$*"; }
modules=(moe_act layernorm)
[[ $PP -gt 1 && $VPP -gt 1 ]] && EXTRA+=(--num-virtual-stages-per-pipeline-rank $VPP) || true
case $MODEL in
  mixtral | mixtral-*) topk=2 ;;
  qwen*) topk=8;;
esac
for i in {0..2}; do last=$i; done
for ((r=0; r<3; r++)); do (( sum += r )); done
n=${LAYERS[$MODEL]}
freq="([0]*1+[1]*$((n-1)))"
log=${MODEL^^}_${MODEL%%tral}_${MODEL//x/-}
launch() {
  local nodes=$1; shift
  python -m torch.distributed.run --nnodes=${nodes} --nproc-per-node 8 "$@"
}
launch $((TP*PP/8 > 0 ? TP*PP*EP/8 : 1)) pretrain_gpt.py \
  --num-layers $n --moe-layer-freq "$freq" --moe-router-topk $topk \
  --recompute-modules ${modules[*]} --name "${NAME-none}" --log "$log" --joined "$(join_by , "${modules[@]}")" \
  --micro-batch-size "$MBS" --global-batch-size $GBS --last $last$sum --count ${#modules[@]} "${EXTRA[@]}"
