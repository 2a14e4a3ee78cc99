# shellcheck shell=bash
# For the scripts of this folder, which source it from the root of the repository.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

# figure WORD...: what was measured, for whoever reads the report.
figure() { echo "$*" | tee -a "$PMU_OUT/figures"; }
