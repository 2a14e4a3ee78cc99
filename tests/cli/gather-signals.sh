#!/usr/bin/env bash
# ti-gather told to end, by SIGINT, SIGTERM and SIGHUP, while it plans for a million ranks, while
# it finds out how to reach nodes, and while none of them answers: it dies of that signal, leaves
# no process, and nothing is written.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/trace-lib.bash
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export HOME=$tmp/home
mkdir -p "$HOME" bin pids claimed.run silent.run
PATH=$tmp/bin:$PATH

# A command that makes a file named by its pid, and is silent for ever.
cat >bin/silent <<END
#!/bin/sh
touch "$tmp/pids/\$\$"
exec sleep 1000
END
chmod +x bin/silent

python3 -B "$top/tests/cli/gather_signals.py" -v
