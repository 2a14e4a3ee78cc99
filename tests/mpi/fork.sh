#!/bin/bash
# A child made by fork() leaves its parent's trace alone, whatever it calls.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

for np in 1 3; do check $np fork; done
finish
