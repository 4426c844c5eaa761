#!/bin/bash
# own_pid.sh COMMAND...: runs a command with a process id that no other command of this script has at the same time. Criterion
# names a socket in /tmp by its process id. Bazel's sandboxes share /tmp but not process ids, so that without this script a
# second test with an equal id fails with "Address already in use".
while
  (
    exec 9> "/tmp/sgemm_test_$BASHPID.lock" && flock --nonblock 9 || exit 75
    exec "$@"
  )
  status=$?
  ((status == 75)) # the id is taken: the next subshell has another
do :; done
exit $status
