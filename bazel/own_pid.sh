#!/bin/bash
# own_pid.sh COMMAND...: runs a command whose process id no other command run so has at the same time. Criterion names a socket
# in /tmp by its id; in Bazel's sandboxes, which share /tmp, ids repeat, and the second test fails: "Address already in use".
while
  (
    exec 9> "/tmp/sgemm_test_$BASHPID.lock" && flock --nonblock 9 || exit 75
    exec "$@"
  )
  status=$?
  ((status == 75)) # the id is taken: the next subshell has another
do :; done
exit $status
