#!/bin/bash
# Starts the CUDA build of the example that this script is linked as where that was built and a GPU is there, else the CPU build.
if [[ -x ${0}_cuda ]] && compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
  exec "${0}_cuda" "$@"
fi
exec "${0}_cpu" "$@"
