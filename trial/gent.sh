#!/bin/bash
# gent.sh name : compiles t/name/sgemm*.{h,cuh}, prints the model
n=$1
nvcc -std=c++17 -O3 -DSGEMM_IMPLEMENTATION -DSGEMM_STAGE=tma -It/$n -gencode arch=compute_90a,code=sm_90a -Xptxas -v -cubin all.cu -o /tmp/t_$n.cubin 2>&1 | grep -E "error|[1-9][0-9]* bytes spill" | head -8
cuobjdump -sass /tmp/t_$n.cubin > /tmp/t_$n.txt; echo "== $n"; timeout 100 python3 model.py /tmp/t_$n.txt | grep "tma_" | sed -E 's/\{.*(.LDL.: [0-9]+).*\}/\1/;s/\{.*\}//'
