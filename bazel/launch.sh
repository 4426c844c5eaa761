#!/bin/bash
# launch.sh ARGUMENT...: Bazel links this script as the program NAME. Starts NAME_cuda if it was built and a GPU is there, else
# NAME_cpu.
if [[ -x ${0}_cuda ]] && compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
  exec "${0}_cuda" "$@"
fi
exec "${0}_cpu" "$@"
