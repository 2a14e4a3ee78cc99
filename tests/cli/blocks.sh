# shellcheck shell=bash
# The assembler of the counter blocks: what code counts is what it executes, to the
# instruction; it does what it did; and what cannot be counted is refused.
#
# The truth is a single-stepper (steps.c) on the program as it came.  With
# --tiara-audit a program also counts what was added to it, and the stepper on that
# must find the sum of both.
. tests/mpi/lib.sh
dir=$TI_BUILD/libexec/blocks
[ -x "$dir/as" ] || skip "the counter blocks is not built"
sources=$PWD/tests/blocks

cc -O2 -o "$scratch/steps" tests/cli/steps.c || fail "steps.c does not compile"
cc -O2 -c -o "$scratch/word.o" tests/cli/blocks-word.c || fail "blocks-word.c does not compile"
printf '.globl code_begin\n.text\ncode_begin:\n.section .note.GNU-stack,"",@progbits\n' |
    as -o "$scratch/begin.o" -
"$scratch/steps" /bin/true 2>&1 | grep -q 'no .text' || skip "processes cannot be stepped here"

value() { awk -v name="$1" '$1 == name { print $2 }' "$2"; }

# exact FLAGS COMPILER OPTION... SOURCE: FLAGS are for the assembler.
exact() (
    flags=$1 src=${*: -1}
    shift
    set -- "${@:1:$#-1}"
    d=$(mktemp -d -p "$scratch")
    into() { local o=$1; shift; "$@" -w -c -o "$d/$o.o" "$src" && "$1" -o "$d/$o" "$scratch/word.o" "$scratch/begin.o" "$d/$o.o"; }
    # Twins: the same compiler, the same assembler.
    if ! { into plain "$@" && into blocks "$@" -B "$dir/" ${flags:+"-Wa,$flags"} &&
        into audit "$@" -B "$dir/" "-Wa,--tiara-audit${flags:+,$flags}"; }; then
        echo "FAILED: $* $flags $src does not compile"
        return 1
    fi
    export LD_BIND_NOW=1
    "$scratch/steps" "$d/plain" 2>"$d/truth"
    plain=$?
    "$d/blocks" 2>"$d/count"
    blocks=$?
    "$scratch/steps" "$d/audit" 2>"$d/both"
    audit=$?
    truth=$(value steps "$d/truth") count=$(value blocks "$d/count")
    both=$(value steps "$d/both") own=$(value own "$d/both") again=$(value blocks "$d/both")
    if [ "$plain $plain" != "$blocks $audit" ]; then
        echo "FAILED: $* $flags $src: status $blocks and $audit, not $plain"
    elif [ -z "$truth" ] || [ "$truth $truth" != "$count $again" ]; then
        echo "FAILED: $* $flags $src: counted $count and $again, executed $truth"
    elif [ "$both" != $((again + own)) ]; then
        echo "FAILED: $* $flags $src: counted $again and added $own, executed $both"
    else
        return 0
    fi
    return 1
)
# Two at a time.
running=0
check() {
    { exact "$@" || touch "$scratch/failed.$BASHPID"; } &
    running=$((running + 1))
    [ $((running % 2)) = 1 ] || wait
}

# refused WHAT PATTERN: the text on stdin.
refused() {
    cat >"$scratch/refused.s"
    if "$dir/as" -o "$scratch/refused.o" "$scratch/refused.s" 2>"$scratch/said"; then
        fail "$1 was not refused"
    elif ! grep -q "$2" "$scratch/said"; then
        fail "$1: said $(cat "$scratch/said")"
    fi
}

clang="clang -fno-integrated-as"
for s in torture intel macros; do
    check "" cc "$sources/$s.s"
    check --tiara-pic cc "$sources/$s.s"
done
check "" gcc -O0 "$sources/control.c"
check "" gcc -O2 -g -march=native "$sources/control.c"
check --tiara-pic gcc -O3 -fPIC "$sources/control.c"
# shellcheck disable=SC2086
if command -v clang >/dev/null; then
    check "" $clang -O2 "$sources/control.c"
    check --tiara-pic ${clang/clang/clang++} -fPIC -g -O1 -ffunction-sections "$sources/exceptions.cc"
fi
check "" g++ -O2 -g -fcf-protection "$sources/exceptions.cc"
check "" gfortran -O3 -march=native "$sources/arrays.f90"
check --tiara-pic gfortran -O1 -fPIC "$sources/arrays.f90"
for seed in 1 2 3; do
    python3 "$sources/generate.py" s $seed >"$scratch/random$seed.s"
    check "" cc "$scratch/random$seed.s"
    check --tiara-pic cc "$scratch/random$seed.s"
    python3 "$sources/generate.py" c $seed >"$scratch/random$seed.c"
    check "" gcc -O$seed "$scratch/random$seed.c"
    # shellcheck disable=SC2086
    [ $seed != 2 ] || ! command -v clang >/dev/null || check --tiara-pic $clang -O1 -fPIC "$scratch/random$seed.c"
done

wait
failures=$((failures + $(find "$scratch" -maxdepth 1 -name 'failed.*' | wc -l)))

refused "code that knows its length" ':3: depends on the length of code' <<'X'
f:	nop
0:	jmp	1f
	movl	$1f-0b, %eax
1:	ret
X
refused "a jump to no label" ':2: jumps to what is not' <<'X'
f:	xorl	%eax, %eax
	jmp	.+3
	movl	$5, %eax
	ret
X
refused "a short jump as bytes" ':3: ' <<'X'
	.globl	f
f:	testl	%eax, %eax
	.byte	0x75, 0x02
	jz	f
	ret
X
refused "data behind a call" ':3: data where code goes on' <<'X'
	.globl	f
f:	call	g
	.byte	0x12, 0x34
	ret
X
refused "flags of another object" ":3: reads flags that 'g' returns" <<'X'
	.globl	f
f:	call	g
	jc	f
	ret
X
refused "a label within a prefix" ':3: a label between' <<'X'
f:	je	1f
	lock
1:	incl	(%rax)
	ret
X
refused "a label in a repetition" ':2: a label within' <<'X'
f:
	.rept 2
1:	jmp 1b
	.endr
X
refused "32-bit code" ':1: code of other than 64 bits' <<<'	.code32'
refused "a split stack" 'compile without -fsplit-stack' <<'X'
f:	call	__morestack
	ret
	ret
X
refused "LTO" 'compile with -fno-lto' <<<'	.section .gnu.lto_f,"e",@progbits'
refused "nonsense" 'refused.s:1: Error: no such instruction' <<<'	frobnicate'

# The additions come first where they must.
echo 'int f(int x) { return x > 3 ? x : -x; }' |
    gcc -O2 -fcf-protection -fpatchable-function-entry=2 -B "$dir/" -c -x c -o "$scratch/first.o" -
objdump -d --no-show-raw-insn "$scratch/first.o" | awk '/<f>:/ { n = NR } NR == n + 1 && n { print $2 }' |
    grep -q endbr64 || fail "endbr64 is not first"
objdump -d --no-show-raw-insn "$scratch/first.o" | grep -A 1 -w nop | grep -qw nop || fail "nops are apart"

# The counted instructions, in the object.
printf 'f:\taddl $1,%%eax\n\tjc f\n\tret\n' | "$dir/as" --tiara-audit -o "$scratch/table.o" -
readelf -p .tiara.blocks "$scratch/table.o" | grep -q 'f blocks 2 instructions 3 own 4' ||
    fail "no table: $(readelf -p .tiara.blocks "$scratch/table.o")"

# As gcc calls it: standard input, a response file, what is not assembling.
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
printf '%s\n' "-o $scratch/in.o" "-I \"$scratch\"" --64 >"$scratch/words"
echo 'f: ret' | "$dir/as" "@$scratch/words"
[ -s "$scratch/in.o" ] || fail "standard input"
"$dir/as" --version | grep -q 'GNU assembler' || fail "--version"
TIARA_AS=/nonexistent "$dir/as" -o "$scratch/in.o" /dev/null 2>&1 | grep -q nonexistent || fail "TIARA_AS"
PATH=$dir:$PATH "$dir/as" -o "$scratch/in.o" /dev/null || fail "finds itself on PATH"
[ -z "$(ls "$TMPDIR")" ] || fail "temporary files are left: $(ls "$TMPDIR")"
finish
