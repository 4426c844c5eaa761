#!/bin/bash
# record.sh and the archives for GPU hosts, with stand-ins for the programs that measure.
. "$(dirname "$0")/cases.sh"

folder=$work/archive
mkdir -p "$folder/bin" "$folder/lib" "$work/path"
cp "$root/tools/record.sh" "$folder/run.sh"
cp "$root/tools/suite.csv" "$folder/bin"

# The stand-in writes its arguments to the files that they name, and to stdout. As random_calls does, it continues the
# file that follows "measure". It fails if BROKEN is its name.
cat > "$folder/bin/ladder_cuda" <<'END'
#!/bin/bash
[[ ${BROKEN-} != "${0##*/}" ]] || { echo "broken"; exit 1; }
echo "$*"
while [[ $# -gt 0 ]]; do
  case $1 in
    --csv) printf 'header\n%s\n' "$*" > "$2" ;;
    measure) printf '%s\n' "$*" >> "$2" ;;
    --json) echo '{"context": {"gpu": "G", "driver": "D", "cuda_runtime": "13.0", "date": "2026-01-02T03:04:05Z"},
      "benchmarks": [{"clock_before_mhz": 1980, "clock_after_mhz": null}, {"clock_before_mhz": null,
      "clock_after_mhz": 1400}]}' > "$2" ;;
    -o) : > "$2" ;;
  esac
  shift
done
END
chmod +x "$folder/bin/ladder_cuda"
for program in accuracy counts nearest random_calls; do
  cp "$folder/bin/ladder_cuda" "$folder/bin/${program}_cuda"
done
printf '#!/bin/bash\necho "$*"\n' > "$work/path/ncu"
chmod +x "$work/path/ncu"
export PATH=$work/path:$PATH

check "all steps" "$folder/run.sh" "$work/all"
same "a line for each step" "$(sed -n '/^steps=(/,/)$/p' "$folder/run.sh" | grep -o '[a-z0-9_]*:' | tr -d :)" \
  "$(sed 's/: [0-9]* s$//' "$work/output")"
for file in suite suite32 suite_tensor prepared epilogues random_calls counts_occupancy accuracy; do
  check "$file" test -s "$work/all/${file}_h200.csv"
done
same "the device, the date and the clocks before the ladder" \
  "# G, driver D, CUDA 13.0, 2026-01-02, SM clock 1400 to 1980 MHz; command: ladder_cuda --production" \
  "$(sed -n '1s/ --time.*//p' "$work/all/ladder_h200.txt")"
same "both modes with operands split before" "2" "$(grep -c -- '--prepared-both' "$work/all/prepared.log")"
check "traffic" grep -q 'counts_cuda 1 4096 4096 NN' "$work/all/ncu_1x4096x4096.csv"
same "four times of the example" "4" "$(wc -l < "$work/all/nearest_h200.txt")"
check "two steps again" "$folder/run.sh" "$work/all" nearest random_calls
same "the times of the last run alone" "4" "$(wc -l < "$work/all/nearest_h200.txt")"
same "the drawn calls of the last run alone" "1" "$(wc -l < "$work/all/random_calls_h200.csv")"

export BROKEN=nearest_cuda
refuse "a step that fails" "failed so far: nearest" "$folder/run.sh" "$work/broken" nearest suite
check "the step after it" test -s "$work/broken/suite_h200.csv"
refuse "an unknown step" "record.sh: suit: none of the steps suite" "$folder/run.sh" "$work/unknown" suite suit
check "nothing measured before the refusal" test ! -e "$work/unknown"
refuse "no folder" "record.sh FOLDER [STEP...]" "$folder/run.sh"

check "an archive" "$root/bazel/pack_archive.sh" "$work/archive.tar.gz" "$folder/run.sh" /bin/ls "$root/tools/suite.csv"
same "its programs and tables" "./bin/ls ./bin/suite.csv ./run.sh" \
  "$(tar tzf "$work/archive.tar.gz" | grep -v '/$\|^./lib/' | sort | tr '\n' ' ' | sed 's/ $//')"

finish
