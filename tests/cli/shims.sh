#!/bin/bash
# The generated shims are what the table says, and the table names every function
# of the installed MPI.
set -u
command -v python3 >/dev/null || { echo 'there is no python3'; exit 77; }
env -u MAKEFLAGS -u MAKELEVEL make -s check-generated check-symbols O="${TI_BUILD:-build}"
