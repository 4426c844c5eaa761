#!/bin/bash
# record.sh FOLDER [STEP...]: measures this build on this machine's GPU, all steps or those named. FOLDER then has the
# files of docs/measurements/ from which the tables and pictures are made, of one build, and the log of each step. The
# script is run.sh of the archive that `./bazelw build //tools:record_archive` packs. The host provides CUDA with
# cuBLAS, in /usr/local/cuda or on LD_LIBRARY_PATH, Nsight Compute for the step traffic, and Python with NumPy for the
# steps ladder and nearest. A step that outlasts its time limit fails, and the next one begins.
set -uo pipefail

root=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
export bin=$root/bin
export LD_LIBRARY_PATH=$root/lib:${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64
export PATH=$PATH:/usr/local/cuda/bin

# The steps in their order, each with its time limit in seconds.
steps=(suite:120 suite_tensor:300 ladder:240 suite32:120 prepared:120 occupancy:60 epilogues:300 random_calls:120
  nearest:90 traffic:120 accuracy:300)

suite() { # sgemm_run() and cuBLAS for each shape of the suite
  "$bin/ladder_cuda" --shapes "$bin/suite.csv" --production-only --warm --cold --errors --csv suite_h200.csv
}

suite32() { # the same with the workspace that cuBLAS has
  "$bin/ladder_cuda" --shapes "$bin/suite.csv" --production-only --warm --cold --workspace 32 --csv suite32_h200.csv
}

suite_tensor() { # the same in each mode, beside the ceilings of the tensor modes
  "$bin/ladder_cuda" --shapes "$bin/suite.csv" --production-only --warm --cold --errors --ceilings \
    --mode strict,tensor,tensor_full --csv suite_tensor_h200.csv
}

prepared() { # the tensor modes with one and with both operands split before
  grep -E '^(name|sq4096|sq8192|sq16384),' "$bin/suite.csv" >squares.csv
  for mode in tensor tensor_full; do
    "$bin/ladder_cuda" --shapes squares.csv --production-only --cold --time 1.5 --prepared --prepared-both \
      --mode $mode --csv prepared_$mode.csv || return
  done
  { cat prepared_tensor.csv && tail -n +2 prepared_tensor_full.csv; } >prepared_h200.csv
  rm squares.csv prepared_tensor.csv prepared_tensor_full.csv
}

ladder() { # every variant at 4096 cubed, after a line with the device, the date and the clocks
  local arguments=(--production --time 0.5 --json ladder_h200.json)
  "$bin/ladder_cuda" "${arguments[@]}" >ladder.txt || return
  python3 - "ladder_cuda ${arguments[*]}" >ladder_h200.txt <<'PYTHON' || return
import json
import sys

with open("ladder_h200.json") as file:
    data = json.load(file)
context = data["context"]
clocks = [row[clock] for row in data["benchmarks"] for clock in ("clock_before_mhz", "clock_after_mhz") if row[clock]]
print(f"# {context['gpu']}, driver {context['driver']}, CUDA {context['cuda_runtime']}, {context['date'][:10]}, "
      f"SM clock {min(clocks)} to {max(clocks)} MHz; command: {sys.argv[1]}")
PYTHON
  cat ladder.txt >>ladder_h200.txt
  rm ladder.txt
}

occupancy() { # registers, shared memory and occupancy of every kernel of op NN
  "$bin/counts_cuda" 512 768 256 NN >counts_occupancy_h200.csv
}

traffic() { # DRAM bytes of every kernel of op NN. tools/pictures.py traffic makes traffic_h200.csv from these files
  local ncu=(ncu --csv --clock-control none --metrics dram__bytes.sum,gpu__time_duration.sum)
  "${ncu[@]}" "$bin/counts_cuda" 4096 4096 4096 NN >ncu_4096x4096x4096.csv &&
    "${ncu[@]}" -k regex:gemv "$bin/counts_cuda" 1 4096 4096 NN >ncu_1x4096x4096.csv
}

epilogues() { # every row of the table of epilogues, with aux and without, and every reduction, beside the plain call
  cat >epilogue_shapes.csv <<'CSV'
name,m,n,k,batch,op
layer,2048,6144,768,1,NT
sq1024,1024,1024,1024,1,NN
sq2048,2048,2048,2048,1,NN
sq4096,4096,4096,4096,1,NN
sq8192,8192,8192,8192,1,NN
outer64,8192,8192,64,1,NN
CSV
  local arguments=(--shapes epilogue_shapes.csv --epilogues --mode strict,tensor --time 0.2)
  "$bin/ladder_cuda" "${arguments[@]}" --csv epilogues_aux_h200.csv || return
  "$bin/ladder_cuda" "${arguments[@]}" --no-aux --csv epilogues_h200.csv || return
  rm epilogue_shapes.csv
}

random_calls() { # calls that a seed draws. The program continues a file that exists
  rm -f random_calls_h200.csv
  "$bin/random_calls_cuda" measure random_calls_h200.csv --seed 53 --count 2000
}

nearest() { # the example: 100,000 queries, 16,384 points
  local k mode
  rm -f nearest_h200.txt
  for k in 128 768; do
    python3 -c "
import numpy
random = numpy.random.default_rng($k)
numpy.save('queries.npy', random.random((100000, $k), numpy.float32))
numpy.save('points.npy', random.random((16384, $k), numpy.float32))" || return
    for mode in strict tensor; do
      "$bin/nearest_cuda" queries.npy points.npy -o indices.npy --mode $mode --repeat 7 >>nearest_h200.txt || return
    done
  done
  rm queries.npy points.npy indices.npy
}

accuracy() { # the errors of the tensor modes beside those of cuBLAS: large tiles, tiles of 128 x 128, selected tiles
  "$bin/accuracy_cuda" --csv accuracy_h200.csv >accuracy_h200.txt &&
    "$bin/accuracy_cuda" --variant sgemm_wgmma_fp16x3_128x128 >accuracy128_fp16_h200.txt &&
    "$bin/accuracy_cuda" --variant sgemm_wgmma_bf16x6_128x128 >accuracy128_bf16_h200.txt &&
    "$bin/accuracy_cuda" --variant select --m 512 --n 512 >accuracy512_h200.txt &&
    "$bin/accuracy_cuda" --probe >probe_h200.txt
}

if [[ $# -lt 1 || $1 == -* ]]; then
  sed -n '2,6s/^# //p' "$0" >&2
  exit 2
fi
folder=$1
shift
declare -A limits
for step in "${steps[@]}"; do
  limits[${step%:*}]=${step#*:}
done
[[ $# -gt 0 ]] || set -- "${steps[@]%:*}"
for step; do
  if [[ -z ${limits[$step]-} ]]; then
    echo "record.sh: $step: none of the steps ${steps[*]%:*}" >&2
    exit 2
  fi
done

mkdir -p "$folder" && cd "$folder" || exit
failed=()
for step; do
  export -f "${step?}"
  began=$SECONDS
  timeout "${limits[$step]}" bash -c "set -uo pipefail; $step" >"$step.log" 2>&1 || failed+=("$step")
  echo "$step: $((SECONDS - began)) s${failed:+; failed so far: ${failed[*]}}" >&2
done
[[ ${#failed[@]} == 0 ]]
