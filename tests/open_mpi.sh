# open_mpi.sh: settings with which Open MPI 4 and 5 run a test: as root, with more processes than cores, in a sandbox
# without a network and a home directory. A test sources this file after cases.sh and calls `open_mpi`.

# open_mpi: the variables OMPI_MCA_ are read by Open MPI 4 and by the processes of 5, PRTE_MCA_ by mpirun of 5. Sockets have
# paths of at most 107 characters, so their directory, TMPDIR, is in /tmp. Open MPI 5 needs a home directory.
open_mpi() {
  TMPDIR=$(mktemp -d /tmp/mpi.XXXXXX)
  export TMPDIR HOME=$TMPDIR
  trap 'rm -rf "$work" "$TMPDIR"' EXIT
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
  export OMPI_MCA_plm_rsh_agent=false OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_orte_base_help_aggregate=0
  export OMPI_MCA_ess_singleton_isolated=1
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
  export PRTE_MCA_plm_ssh_agent=false
}
