#!/bin/bash
# Package tiara for Python: against what the tools print, its types, its tutorial, and installed.
top=$PWD
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
python=
for p in python3 /usr/bin/python3; do
    if "$p" -c 'import cffi, numpy' 2>/dev/null; then python=$p; break; fi
done
[ -n "$python" ] || { echo 'there is no Python with cffi and numpy'; exit 77; }
case $o in *build) ;; *) echo "not with sanitizers"; exit 77 ;; esac
export TIARA_LIBRARY=$o/libtiara.so.1 TIARA_BIN=$o PYTHONDONTWRITEBYTECODE=1

mktrace --np 4 --iterations 50 a.run
mktrace --np 5 --iterations 3 --untraced --noise 7 b.run
mktrace --np 4 --iterations 5 r.run
for run in a r; do run 0 ti-info --merge $run.run -o $run.ti; done
ti-gather -q b.run || fail gather
cp -r a.run hurt.run
rm hurt.run/rank-000001.ti
printf '\377\377\377' | dd of=hurt.run/rank-000003.ti bs=1 seek=300 conv=notrunc 2>/dev/null
PYTHONPATH=$top/python "$python" -W error::ResourceWarning "$top/tests/python/test_tiara.py" >log 2>&1 || fail "$(cat log)"

# importing it executes nothing: compilers, which look for libraries, write into /tmp
mkdir none
for p in gcc cc ld ldconfig objdump; do
    printf '#!/bin/sh\necho %s >>%s\n' "$p" "$PWD/executed" >none/$p
    chmod +x none/$p
done
(unset TIARA_LIBRARY
 PATH=$PWD/none:$PATH PYTHONPATH=$top/python LD_LIBRARY_PATH=$o "$(command -v "$python")" -c 'import tiara') 2>log ||
    fail "$(cat log)"
[ ! -e executed ] || fail "executed to find the library: $(cat executed)"

# the example, against its twin of libtiara
${CC:-cc} -I "$top/lib/api" "$top/examples/messages.c" -o messages -L "$o" -ltiara || fail 'messages.c'
for t in a.ti b.run; do
    LD_LIBRARY_PATH=$o ./messages $t >twin && PYTHONPATH=$top/python "$python" "$top/examples/messages.py" $t | diff twin - ||
        fail "messages.py $t"
done

# the tutorial, in the order of its blocks
PYTHONPATH=$top/python "$python" "$top/tests/python/blocks.py" "$top/docs/python.md" >log 2>&1 || fail "$(cat log)"

# installed by make, and by pip into a virtual environment with the system's packages
(cd "$top" && env -u MAKEFLAGS -u MAKELEVEL make -s install-python O="$o" prefix="$tmp/usr") >log 2>&1 || fail "$(cat log)"
(cd / && PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$python" -c 'import tiara; assert tiara.__version__ and "/usr/lib" in tiara.__file__') ||
    fail 'installed by make'
if "$python" -c 'import setuptools, venv, ensurepip' 2>/dev/null; then
    cp -r "$top/python" "$top/Makefile" . && mkdir -p lib && cp -r "$top/lib/api" lib/
    "$python" -m venv --system-site-packages env >log 2>&1 &&
        env/bin/pip install --no-build-isolation --no-index --no-deps ./python >>log 2>&1 || fail "pip: $(cat log)"
    (cd / && "$OLDPWD/env/bin/python" -c 'import tiara; assert "/env/" in tiara.__file__') || fail 'installed by pip'
fi
exit $failed
