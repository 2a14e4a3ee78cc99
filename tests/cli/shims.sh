#!/bin/bash
# The table names every function of the installed MPI, and the libraries have its shims.
set -u
env -u MAKEFLAGS -u MAKELEVEL make -s check-symbols O="${TI_BUILD:-build}"
