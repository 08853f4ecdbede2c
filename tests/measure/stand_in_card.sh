#!/usr/bin/env bash
# Stands in for mirfak-measure where there is no GPU, so that validate/measure/all.sh can be tested: tables of round
# numbers, and traces that are the predictions themselves.
set -euo pipefail
command=$1
shift
out= job=
while (($# > 0)); do
  case $1 in
    --out) out=$2; shift ;;
    *.yaml) job=$1 ;;
  esac
  shift
done

collectives() {
  mkdir -p "$out"
  printf 'key,value\ngpu,NVIDIA H200\ngpu_driver,1\ngpu_libraries,none\n' >"$out/machine.csv"
  awk 'BEGIN {
    print "collective,dtype,n_gpus,n_nodes,bytes,time_us"
    split("all_reduce all_gather reduce_scatter alltoall sendrecv", kinds, " ")
    for (kind = 1; kind <= 5; ++kind)
      for (bytes = 1024; bytes < 5e8; bytes *= 2)
        printf "%s,bfloat16,2,1,%d,%.4f\n", kinds[kind], bytes, 10 + bytes / 1.5e6
  }' >"$out/collectives.csv"
}

kernels() {
  mkdir -p "$out"
  awk 'BEGIN {
    print "precision,b,m,n,k,latency_us"
    for (m = 256; m <= 8192; m *= 2)
      for (n = 512; n <= 8192; n *= 2)
        for (k = 512; k <= 8192; k *= 4)
          printf "bf16,1,%d,%d,%d,%.4f\n", m, n, k, 4 + 2 * m * n * k / 650e6
  }' >"$out/gemm.csv"
  awk 'BEGIN {
    print "kernel,bytes,time_us\nlaunch,0,2.2\nlaunch_host,0,3\nlaunch_graph,0,1.5"
    split("elementwise normalization softmax reduction gather", kinds, " ")
    for (kind = 1; kind <= 5; ++kind)
      for (bytes = 1e5; bytes < 2e9; bytes *= 1.7)
        printf "%s,%d,%.4f\n", kinds[kind], bytes, 2.2 + bytes / ((4.3 - 0.2 * kind) * 1e6)
  }' >"$out/memory.csv"
  grep -q megatron-core "$job" || return 0
  for pass in forward backward; do
    awk -v pass=$pass 'BEGIN {
      print "pass,batch,seq,heads,kv_heads,head_dim,causal,window,latency_us"
      for (batch = 1; batch <= 4; batch *= 2)
        for (seq = 1024; seq <= 8192; seq *= 2)
          printf "%s,%d,%d,16,16,128,1,0,%.4f\n", pass, batch, seq,
            12 + (pass == "forward" ? 2 : 6) * batch * 16 * seq * seq * 128 / 500e6
    }' >"$out/attention$([[ $pass == forward ]] || echo _backward).csv"
  done
}

energy() {
  mkdir -p "$out"
  {
    echo "kernel,precision,clock_hz,clock_set,flop,bytes,time_us,energy_j,power_w,temperature_c"
    echo "idle,bf16,345e6,0,0,0,1e6,82,82,30"
    echo "waiting,bf16,1980e6,0,0,0,1000,0.13,130,35"
    echo "gemm,bf16,1700e6,0,1e12,0,1500,1,690,55"
  } >"$out/energy.csv"
}

run() { "$(dirname "$0")/measured-trace" "$job" "$out"; }

"$command"
