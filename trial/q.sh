#!/bin/bash
# q.sh OUT part
cd "$(dirname "$0")"; O=$1
case $2 in
suite)
 nvidia-smi --query-gpu=driver_version,clocks.max.sm --format=csv,noheader
 timeout 230 ./ladder_cuda --shapes shapes.csv --production-only --hot --cold --errors --ceilings --mode strict,tensor,tensor_full --csv $O/suite_h200.csv > $O/suite.txt 2> $O/suite.err; echo suite $?; date
 timeout 100 ./ladder_cuda --shapes shapes.csv --production-only --hot --cold --errors --workspace 32 --csv $O/suite32_h200.csv > $O/suite32.txt 2>> $O/suite.err; echo suite32 $?; date
 ;;
lad32)
 timeout 100 ./ladder_cuda --shapes shapes.csv --production-only --hot --cold --errors --workspace 32 --csv $O/suite32_h200.csv > $O/suite32.txt 2>> $O/suite.err; echo suite32 $?; date
 ;;
ladder)
 ./ladder_cuda --production --time 0.5 --json $O/ladder_h200.json > $O/ladder_h200.txt 2> $O/ladder.err; echo ladder $?; date
 ;;
tests)
 mkdir -p /tmp/t; tar xzf gpu_tests.tar.gz -C /tmp/t; R=$(dirname $(find /tmp/t -name run.sh | head -1)); ls $R/tests | head -40
 cd $R; timeout 200 ./run.sh gpu_test tma_gpu_test contract_gpu_test 2>&1 | tail -25; date
 ;;
esac
