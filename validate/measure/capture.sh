#!/usr/bin/env bash
# Captures five programs, runs the same programs on this machine's GPU under the profiler, and compares: which kernels each
# operator launched, how long they took, how long a step takes, what memory is allocated and reserved. Two minutes.
#
# usage: validate/measure/capture.sh FOLDER           FOLDER gets captures, recordings and a comparison of each
#        validate/measure/capture.sh --captures FOLDER    makes the captures only; needs no GPU
#   MIRFAK_PYTHON=PROGRAM   a Python that has PyTorch (default: python3); that of captures: 2.15
#   MIRFAK_CAPTURES=FOLDER  captures that were made elsewhere
#   MIRFAK_BIN=FOLDER       takes mirfak from there (default: build/release)
#   MIRFAK_GPU=NAME         the GPU of hw_profiles/gpus (default: h100)
#   MIRFAK_NODE=NODE        the node that times are predicted for (default: hgx-h100)
#   MIRFAK_JOBS=REGEX       only jobs whose name matches
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

fail() {
  echo "capture.sh: $1" >&2
  exit "${2:-1}"
}

only_captures=0
if [[ ${1:-} == --captures ]]; then only_captures=1 && shift; fi
(($# == 1)) || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
python=${MIRFAK_PYTHON:-python3}
mirfak=${MIRFAK_BIN:-$root/build/release}/mirfak
export MIRFAK_DATA=${MIRFAK_DATA:-$root} MIRFAK_SOURCE=${MIRFAK_SOURCE:-$root} PYTHONPATH=$root/sim/faces/python

# --- jobs: name, steps that are timed before one is recorded, script and arguments

steps=$root/validate/measure/torch_steps.py
jobs_wanted() {
  grep -E "^${MIRFAK_JOBS:-.*} " <<JOBS || fail "MIRFAK_JOBS=${MIRFAK_JOBS:-}: no job has such a name" 2
gpt2-ddp 1 $root/scenarios/capture/public/gpt2_ddp.py
llama-1b-eager 5 $steps steps --jobs ^llama-1b-s4k-eager$
llama-1b-compiled 5 $steps steps --jobs ^llama-1b-s4k$
llama-small-eager 5 $steps steps --jobs ^llama-small-s1k-eager$
llama-small-compiled 5 $steps steps --jobs ^llama-small-s1k$
JOBS
}

capture_job() {  # capture_job NAME SCRIPT [ARGUMENT]...
  local name=$1
  shift
  if [[ -f ${MIRFAK_CAPTURES:-}/$name.capture ]]; then
    [[ $MIRFAK_CAPTURES/$name.capture -ef $out/$name.capture ]] || cp "$MIRFAK_CAPTURES/$name.capture" "$out/"
  else
    "$python" -m mirfak.capture --world-size 1 --gpus-per-node 1 --device "${MIRFAK_GPU:-h100}" \
      --out "$out/$name.capture" -- "$@"
  fi
}

record_job() {  # record_job NAME TIMED SCRIPT [ARGUMENT]...; in a folder of its own, where scripts may write
  local name=$1 timed=$2
  shift 2
  mkdir -p "$out/$name"
  (cd "$out/$name" && timeout 120 "$python" -m mirfak.capture record --timed "$timed" --out . -- "$@" >log.txt 2>&1)
}

compare_job() {  # compare_job NAME
  local capture=$out/$1.capture recorded=$out/$1/0
  local compare=("$python" -m mirfak.capture compare "$capture" "$recorded.trace.json.gz"
    --predicted "$out/$1.predicted.json" --measured "$recorded.json")
  "$mirfak" simulate "$capture" --nodes "${MIRFAK_NODE:-hgx-h100}:1" --format json >"$out/$1.predicted.json" &&
    "${compare[@]}" >"$out/$1.txt" && "${compare[@]}" --format json >"$out/$1.json"
}

# --- captures, runs, comparisons

failed=0
while read -r name timed command; do
  read -ra words <<<"$command"
  if ! capture_job "$name" "${words[@]}" >&2; then
    echo "capture.sh: $name was not captured" >&2
    failed=$((failed + 1))
  elif ((only_captures)); then
    echo "$name: $out/$name.capture"
  elif ! record_job "$name" "$timed" "${words[@]}"; then
    echo "capture.sh: $name was not recorded: $(tail -n 1 "$out/$name/log.txt")" >&2
    failed=$((failed + 1))
  elif ! compare_job "$name"; then
    echo "capture.sh: $name was not compared" >&2
    failed=$((failed + 1))
  else
    echo "$name"
    sed -n '/^communication/,$p' "$out/$name.txt"
    echo
  fi
done < <(jobs_wanted)
if ((failed > 0)); then fail "$failed jobs failed"; fi
