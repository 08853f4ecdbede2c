#!/usr/bin/env bash
# Measures this machine's GPU, calibrates a profile of it from the micro-benchmarks alone, and compares what the simulator
# then says of two dozen jobs with what they take. Ranks of a job share the one GPU (cluster.nodes[].ranks_per_gpu).
# 5 minutes on an H100, and 2 with PyTorch (capture.sh), nothing from the network. Prints one short table last; all else goes to
# validate/measured/DEVICE/: the tables, the profiles, a comparison of each job.
#
# usage: validate/measure/all.sh [FOLDER]       FOLDER instead of validate/measured/DEVICE
#   MIRFAK_BIN=FOLDER    take mirfak and mirfak-measure from there instead of building them (pack.sh makes such a folder)
#   MIRFAK_GPU=NAME      the profile of hw_profiles/gpus/ to begin with, where the card's name does not tell
#   MIRFAK_JOBS=REGEX    only jobs whose name matches
#   MIRFAK_TRACES=1      keep the measured trace of each job, some 100 KB each
#   MIRFAK_PYTHON=PROGRAM  a Python that has PyTorch (default: python3): captured programs are run and compared, too
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() {
  echo "all.sh: $1" >&2
  exit "${2:-1}"
}

# --- programs

if [[ -n ${MIRFAK_BIN:-} ]]; then
  bin=$(cd "$MIRFAK_BIN" && pwd) || fail "MIRFAK_BIN: there is no folder $MIRFAK_BIN" 2
else
  cmake --preset release >/dev/null
  cmake --build --preset release --target mirfak mirfak-measure
  bin=$PWD/build/release
fi
mirfak=$bin/mirfak
measure=$bin/mirfak-measure
for program in "$mirfak" "$measure"; do
  [[ -x $program ]] || fail "there is no program $program" 2
done
export MIRFAK_DATA=${MIRFAK_DATA:-$PWD}  # programs that were built elsewhere look there, not here
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Jobs whose kernels are longer than the host takes to submit them: the host is not what is compared.
# --- jobs: name, family, layers, hidden, heads, kv heads, ffn, sequence, micro-batch, pipeline, data, virtual, framework

jobs_table() {
  cat <<'JOBS'
gpt-1k-s512-mb4        gpt   8 1024 16 16  4096  512 4 1 1 1 megatron-lm-2021
gpt-1k-s512-mb8        gpt   8 1024 16 16  4096  512 8 1 1 1 megatron-lm-2021
gpt-1k-s2k-mb2         gpt   8 1024 16 16  4096 2048 2 1 1 1 megatron-lm-2021
gpt-2k-s1k-mb1         gpt   6 2048 16 16  8192 1024 1 1 1 1 megatron-lm-2021
gpt-2k-s1k-mb4         gpt   6 2048 16 16  8192 1024 4 1 1 1 megatron-lm-2021
gpt-2k-s2k-mb2         gpt   6 2048 16 16  8192 2048 2 1 1 1 megatron-lm-2021
gpt-4k-s1k-mb2         gpt   4 4096 32 32 16384 1024 2 1 1 1 megatron-lm-2021
gpt-4k-s2k-mb1         gpt   4 4096 32 32 16384 2048 1 1 1 1 megatron-lm-2021
gpt-2k-s2k-mb2-fused   gpt   6 2048 16 16  8192 2048 2 1 1 1 megatron-core
gpt-4k-s2k-mb2-fused   gpt   4 4096 32 32 16384 2048 2 1 1 1 megatron-core
llama-2k-s2k-mb1       llama 6 2048 16 16  5632 2048 1 1 1 1 megatron-core
llama-2k-s2k-mb4       llama 6 2048 16 16  5632 2048 4 1 1 1 megatron-core
llama-2k-s4k-mb1       llama 6 2048 16  4  5632 4096 1 1 1 1 megatron-core
llama-4k-s2k-mb1       llama 4 4096 32 32 11008 2048 1 1 1 1 megatron-core
llama-4k-s4k-mb1       llama 4 4096 32  8 14336 4096 1 1 1 1 megatron-core
gpt-2k-pp2             gpt   8 2048 16 16  8192 1024 2 2 1 1 megatron-lm-2021
gpt-2k-pp4             gpt   8 2048 16 16  8192 1024 2 4 1 1 megatron-lm-2021
gpt-2k-pp2-vpp2        gpt   8 2048 16 16  8192 1024 2 2 1 2 megatron-lm-2021
gpt-2k-dp2             gpt   6 2048 16 16  8192 1024 2 1 2 1 megatron-lm-2021
gpt-2k-dp4             gpt   6 2048 16 16  8192 1024 2 1 4 1 megatron-lm-2021
gpt-2k-pp2-dp2         gpt   8 2048 16 16  8192 1024 2 2 2 1 megatron-lm-2021
llama-2k-pp2           llama 8 2048 16 16  5632 2048 1 2 1 1 megatron-core
llama-2k-dp2           llama 6 2048 16 16  5632 2048 1 1 2 1 megatron-core
llama-4k-pp4           llama 4 4096 32 32 11008 2048 1 4 1 1 megatron-core
JOBS
}

write_job() {  # write_job FILE FAMILY LAYERS HIDDEN HEADS KV FFN SEQUENCE MICRO PIPELINE DATA VIRTUAL FRAMEWORK
  local file=$1 family=$2 layers=$3 hidden=$4 heads=$5 kv=$6 ffn=$7 sequence=$8 micro=$9
  shift 9
  local pipeline=$1 data=$2 virtual=$3 framework=$4 batch=$((8 * micro * $2)) kind
  if [[ $family == gpt ]]; then
    kind='activation: gelu, normalization: layer_norm, position: learned, linear_bias: true, tied_embeddings: true, dropout: 0.1'
  else
    kind='activation: swiglu, normalization: rms_norm, position: rotary, linear_bias: false, tied_embeddings: false, dropout: 0'
  fi
  cat >"$file" <<SCENARIO
model: {source: "made for measurements on one GPU", family: $family, layers: $layers, hidden: $hidden, heads: $heads,
  kv_heads: $kv, ffn: $ffn, vocab: 32000, max_sequence: $sequence, $kind}
cluster: {nodes: [{type: $node, count: 1, gpus: 1, ranks_per_gpu: $((pipeline * data))}]}
training: {global_batch: $batch, sequence_length: $sequence, precision: bf16, framework: $framework, cuda_graphs: full}
strategy: {pipeline: $pipeline, virtual_pipeline: $virtual, data: $data, micro_batch: $micro}
SCENARIO
}

jobs_wanted() { jobs_table | grep -E "^${MIRFAK_JOBS:-.*}" || fail "MIRFAK_JOBS=$MIRFAK_JOBS: no job has such a name" 2; }

# --- the machine

node=hgx-h200  # only lets the first measurements be made: kernels have the shapes of the job, whatever it runs on
write_job "$work/first.yaml" gpt 2 1024 16 16 4096 512 1 1 1 1 megatron-lm-2021
"$measure" collectives --backend cuda --loopback 2 --out "$work/loopback" --most-mb 512 ||
  fail "no measurement on a GPU can be made here (see above)" 3
value_of() { awk -F, -v key="$1" '$1 == key { sub(/^[^,]*,/, ""); gsub(/"/, ""); print; exit }' "$work/loopback/machine.csv"; }
card=$(value_of gpu)
case ${MIRFAK_GPU:-$card} in
  *H200\ NVL*) base=h200-nvl ;;
  *H200*) base=h200 ;;
  *H100\ NVL*) base=h100-nvl ;;
  *H100\ PCIe*) base=h100-pcie ;;
  *H100*) base=h100 ;;
  *GB200*) base=gb200 ;;
  *B200*) base=b200 ;;
  *A100*PCIE*80*) base=a100-pcie-80g ;;
  *A100*PCIE*) base=a100-pcie-40g ;;
  *A100*40*) base=a100-40g ;;
  *A100*) base=a100-80g ;;
  *) base=${MIRFAK_GPU:-} ;;
esac
[[ -f hw_profiles/gpus/$base.yaml ]] ||
  fail "no profile in hw_profiles/gpus/ is of '$card': name one to begin with, MIRFAK_GPU=NAME" 2
device=$(tr 'A-Z ' 'a-z-' <<<"$card" | sed 's/^nvidia-//; s/[^a-z0-9.-]//g')
out=${1:-validate/measured/$device}
mkdir -p "$out/jobs"
out=$(cd "$out" && pwd)
rm -rf "$out/loopback"
cp -r "$work/loopback" "$out/loopback"

# --- micro-benchmarks

begin=$SECONDS
gpus=$(nvidia-smi --list-gpus 2>/dev/null | wc -l || true)
if ((gpus >= 2)); then
  mpirun -n "$gpus" "$measure" collectives --backend cuda --out "$out/collectives" ||
    echo "all.sh: collectives among $gpus GPUs were not measured" >&2
fi
tables=()
attention=()
while read -r name _ layers hidden heads kv ffn sequence micro rest; do
  family=${name%%-*}
  framework=${rest##* }
  # Kernels depend on the block and the micro-batch, not on the layout.
  key=$family-$hidden-$kv-$ffn-$sequence-$micro-$framework
  [[ -d $out/kernels/$key ]] && [[ " ${tables[*]} " == *" $out/kernels/$key/gemm.csv "* ]] && continue
  write_job "$work/$key.yaml" "$family" "$layers" "$hidden" "$heads" "$kv" "$ffn" "$sequence" "$micro" 1 1 1 "$framework"
  "$measure" kernels "$work/$key.yaml" --backend cuda --repeats 5 --most-gflop 4000 --out "$out/kernels/$key" </dev/null >&2 ||
    fail "kernels of $key were not measured"
  tables+=("$out/kernels/$key/gemm.csv" "$out/kernels/$key/memory.csv")
  for table in "$out/kernels/$key/attention.csv" "$out/kernels/$key/attention_backward.csv"; do
    if [[ -f $table ]]; then attention+=("$table"); fi  # only jobs with fused attention have them
  done
done < <(jobs_wanted)
write_job "$work/energy.yaml" gpt 2 4096 32 32 16384 2048 1 1 1 1 megatron-lm-2021
"$measure" energy "$work/energy.yaml" --backend cuda --seconds 1 --out "$out/energy" >&2 ||
  echo "all.sh: energy was not measured" >&2
echo "micro-benchmarks: $((SECONDS - begin)) s" >&2

# --- calibration: a GPU, a link that is its own memory, a node of one GPU

mkdir -p "$out/profile"
sed '/^gemm_like:/d' "hw_profiles/gpus/$base.yaml" >"$out/profile/gpu.yaml"
"$mirfak" calibrate "${tables[@]}" --gpu "$out/profile/gpu.yaml" --precision bf16 --out "$out/profile/gpu.yaml" \
  --source "mirfak-measure kernels on $card" >"$out/calibration.txt" || fail "the GPU was not calibrated"
# Attention is fitted with the bandwidth and the launch of the profile: those that were just measured.
if ((${#attention[@]} > 0)); then
  "$mirfak" calibrate "${attention[@]}" --gpu "$out/profile/gpu.yaml" --attention cudnn --out "$out/profile/gpu.yaml" \
    --source "mirfak-measure kernels on $card" >>"$out/calibration.txt" || fail "attention was not calibrated"
fi
# Power decides nothing that is compared: where its figures make no profile, those of the catalog stay.
if [[ -f $out/energy/energy.csv ]]; then
  cp "$out/profile/gpu.yaml" "$work/gpu.yaml"
  if "$mirfak" calibrate "$out/energy/energy.csv" --gpu "$work/gpu.yaml" --out "$work/gpu.yaml" \
    --source "mirfak-measure energy on $card" >"$work/power.txt" &&
    "$mirfak" calibrate "$out/energy/energy.csv" --gpu "$work/gpu.yaml" --score >/dev/null; then
    cat "$work/power.txt" >>"$out/calibration.txt"
    cp "$work/gpu.yaml" "$out/profile/gpu.yaml"
  else
    echo "all.sh: power was not calibrated" >&2
  fi
fi
bandwidth=$(awk -F, '$1 == "sendrecv" && $6 > 0 && $5 / $6 > best { best = $5 / $6 } END { printf "%.4g", best * 1e6 }' \
  "$out/loopback/collectives.csv")
cat >"$out/profile/link.yaml" <<LINK
# The memory of one GPU, as the link between ranks that share it.
title: $card, ranks that share it
joins: [gpus, host, nodes]
sources:
  measured: "mirfak-measure collectives --loopback 2 on $card"
bandwidth: [$bandwidth, measured]
send_efficiency: [0.9, measured]
send_latency_s: [1e-5, measured]
protocols:
  ll_base_s: [1e-5, measured]
  ll_step_s: [1e-6, measured]
  ll_efficiency: [0.3, measured]
  simple_base_s: [1e-5, measured]
  simple_step_s: [1e-6, measured]
  simple_efficiency: [0.6, measured]
  simple_overlap: [1, measured]
  extra_steps: [0, measured]
LINK
"$mirfak" calibrate "$out/loopback/collectives.csv" --link "$out/profile/link.yaml" --gpu "$out/profile/gpu.yaml" \
  --out "$out/profile/link.yaml" >>"$out/calibration.txt" || fail "the link was not calibrated"
cat >"$out/profile/node.yaml" <<NODE
# One GPU, which ranks may share.
title: $card, alone
sources:
  nominal: "not measured"
gpu: ./gpu.yaml
gpus: 1
scale_up: ./link.yaml
wiring: host-bridge
host_link: ./link.yaml
network: ./link.yaml
ports: 1
host_memory_bytes: [1e12, nominal]
host_power_w: [0, nominal]
NODE

# --- jobs: predicted, run, compared

# Runs a job as a CUDA graph, which its prediction is of; where that fails, in streams, which it says.
run_job() {  # run_job JOB LOG
  local way
  for way in auto off; do
    "$measure" run "$1" --backend cuda --graphs "$way" --settle 2 --timeout 20 --out "$work/measured.h5" </dev/null >"$2.$way" 2>&1 && break
    echo "all.sh: $(basename "$1" .yaml), --graphs $way: $(grep -m1 error "$2.$way" || echo failed)" >&2
  done
  cat "$2".* >>"$2"
  rm -f "$2".*
  [[ -f $work/measured.h5 ]]
}

node=../profile/node.yaml  # of the jobs' folder
summary=$out/summary.csv
echo "job,predicted_s,measured_s,error,predicted_j,measured_j" >"$summary"
failed=0
while read -r name family layers hidden heads kv ffn sequence micro pipeline data virtual framework; do
  job=$out/jobs/$name.yaml
  rm -f "$work/measured.h5"
  write_job "$job" "$family" "$layers" "$hidden" "$heads" "$kv" "$ffn" "$sequence" "$micro" "$pipeline" "$data" \
    "$virtual" "$framework"
  if "$mirfak" simulate "$job" --detail operators --unfolded --trace "$work/predicted.h5" >"$out/jobs/$name.txt" 2>&1 &&
    run_job "$job" "$out/jobs/$name.txt" &&
    "$mirfak" validate "$work/predicted.h5" "$work/measured.h5" --format json >"$work/compared.json" 2>>"$out/jobs/$name.txt" &&
    "$mirfak" validate "$work/predicted.h5" "$work/measured.h5" >>"$out/jobs/$name.txt" 2>&1; then
    pair() { tr -d ' \n' <"$work/compared.json" |
      sed -nE 's/.*"'"$1"'":\{"predicted":([^,]*),"measured":([^,]*),"error":([^}]*)\}.*/\1,\2,\3/p'; }
    energy=$(pair energy)
    echo "$name,$(pair iteration),${energy%,*}" >>"$summary"
    if [[ -n ${MIRFAK_TRACES:-} ]]; then cp "$work/measured.h5" "$out/jobs/$name.h5"; fi
  else
    failed=$((failed + 1))
    echo "$name,,,," >>"$summary"
    echo "all.sh: $name failed: $(grep -m1 error "$out/jobs/$name.txt" || echo "see $out/jobs/$name.txt")" >&2
  fi
done < <(jobs_wanted)

# --- power over time: iterations of more than a second, whose readings are compared with the prediction

power="power over time was not compared"
if [[ -z ${MIRFAK_JOBS:-} ]]; then
  job=$out/jobs/power.yaml
  write_job "$job" gpt 8 4096 32 32 16384 2048 1 1 1 1 megatron-lm-2021
  long=(--set training.global_batch=64)
  if "$measure" run "$job" "${long[@]}" --backend cuda --iterations 1 --settle 40 --timeout 60 --power "$out/power.csv" \
    </dev/null >"$out/power.txt" 2>&1 &&
    "$measure" power "$job" "${long[@]}" --readings "$out/power.csv" >>"$out/power.txt" 2>&1; then
    power="power over time: see $out/power.txt"
  fi
fi
echo "all.sh: $power" >&2

# --- captured programs of PyTorch beside the same programs here

python=${MIRFAK_PYTHON:-python3}
captured="captures were not compared: there is no PyTorch with CUDA in $python (MIRFAK_PYTHON=PROGRAM names one that has)"
if "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  captured="captures: see $out/captures"
  MIRFAK_BIN=$bin MIRFAK_CAPTURES=${MIRFAK_CAPTURES:-$bin/captures} MIRFAK_GPU=$base MIRFAK_NODE=$out/profile/node.yaml \
    validate/measure/capture.sh "$out/captures" >&2 || captured="captures: some failed, see $out/captures"
fi
echo "all.sh: $captured" >&2

# --- the table

echo "$card, driver $(value_of gpu_driver), $(value_of gpu_libraries): $SECONDS s in all, results in $out"
awk -F, '
  NR == 1 { printf "%-24s %14s %14s %8s\n", "job", "predicted ms", "measured ms", "error"; next }
  $2 == "" { printf "%-24s %14s %14s %8s\n", $1, "-", "-", "failed"; next }
  { size = $4 < 0 ? -$4 : $4; sum += size; n++; if (size > worst) worst = size
    printf "%-24s %14.3f %14.3f %+7.1f%%\n", $1, $2 * 1e3, $3 * 1e3, $4 * 100 }
  END { if (n) printf "%d jobs: mean error %.1f%%, largest %.1f%%\n", n, sum / n * 100, worst * 100 }' "$summary"
if ((failed > 0)); then fail "$failed jobs failed"; fi
