#!/bin/bash
# ticount counts to the instruction: assembler programs whose length we know,
# read through the counter interface, must come out exactly.
set -u

o=${TI_BUILD:-build}
lib=$PWD/$o/libexec/valgrind
case $o in /*) lib=$o/libexec/valgrind ;; esac
cc=${CC:-gcc}

skip() { echo "skipped: $*"; exit 77; }
command -v valgrind >/dev/null || skip "valgrind is not installed"
command -v "$cc" >/dev/null || skip "no compiler '$cc'"
[ -x "$lib/ticount-amd64-linux" ] || skip "ticount was not built"

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

cat >"$tmp/programs.S" <<'ASM'
        .text

/* uint64_t measure(void (*fn)(void), const volatile uint64_t *word):
 * what the word grows by over one load, one call and fn up to its ret. */
        .globl  measure
measure:
        push    %rbx
        push    %r12
        push    %r13
        mov     %rdi, %r13
        mov     %rsi, %rbx
        jmp     1f
1:      mov     (%rbx), %r12
        call    *%r13
        mov     (%rbx), %rax
        sub     %r12, %rax
        pop     %r13
        pop     %r12
        pop     %rbx
        ret

/* uint64_t at_entry(uint64_t (*fn)(word), word): what fn reads at its entry,
 * less what is read here one load, five nops and one call before it. */
        .globl  at_entry
at_entry:
        push    %rbx
        mov     %rdi, %rax
        mov     %rsi, %rdi
        jmp     1f
1:      mov     (%rdi), %rbx
        nop
        nop
        nop
        nop
        nop
        call    *%rax
        sub     %rbx, %rax
        pop     %rbx
        ret

        .globl  load_first
load_first:
        mov     (%rdi), %rax
        ret

        .globl  load_late
load_late:
        .fill   40, 1, 0x90
        mov     (%rdi), %rax
        ret

        .globl  load_by_plt
load_by_plt:
        jmp     *got(%rip)

        .macro  function name
        .globl  \name
\name:
        .endm

        function empty
        ret

/* mov, n instructions, ret */
        .macro  countdown name n
        function \name
        mov     $\n / 2, %ecx
1:      dec     %ecx
        jnz     1b
        ret
        .endm
        countdown loop_10 10
        countdown loop_1000 1000
        countdown loop_1000000 1000000

/* 200 instructions in a row: longer than a superblock */
        function straight_200
        .fill   200, 1, 0x90
        ret

/* one instruction that goes to itself: mov, 7, ret */
        function loop_self
        mov     $7, %ecx
1:      loop    1b
        ret

/* xor, test, jz taken, ret; and not taken: 3 more */
        function exit_taken
        xor     %eax, %eax
        test    %eax, %eax
        jz      1f
        nop
        nop
        nop
1:      ret
        function exit_not_taken
        mov     $1, %eax
        test    %eax, %eax
        jz      1f
        nop
        nop
        nop
1:      ret

/* if (a && b) nop: cmp, jne, cmp, jne, nop, ret preceded by two movs */
        .macro  both name a b
        function \name
        mov     $\a, %eax
        mov     $\b, %ecx
        cmp     $1, %eax
        jne     1f
        cmp     $1, %ecx
        jne     1f
        nop
1:      ret
        .endm
        both    and_00 0 0
        both    and_10 1 0
        both    and_11 1 1

/* a branch out of the middle of a loop: movs, 4 rounds of 4, then 2, ret */
        function loop_exit
        mov     $5, %ecx
        mov     $100, %edx
1:      dec     %ecx
        jz      2f
        dec     %edx
        jnz     1b
2:      ret

        .macro  string name count insn
        function \name
        lea     from(%rip), %rsi
        lea     to(%rip), %rdi
        mov     $\count, %ecx
        xor     %eax, %eax
        \insn
        ret
        .endm
        string  rep_movsb_5000 5000 "rep movsb"
        string  rep_movsb_1 1 "rep movsb"
        string  rep_movsb_0 0 "rep movsb"
        string  rep_movsq_600 600 "rep movsq"
        string  rep_stosl_1000 1000 "rep stosl"
        string  rep_lodsb_9 9 "rep lodsb"
        string  repe_cmpsb_same 4000 "repe cmpsb"
        string  repne_scasb_at_once 4000 "repne scasb"
        string  movsb_alone 1 "movsb"

/* compares up to a difference at byte 1234, then counts on: 6 + 4 + ret */
        function repe_cmpsb_differs
        lea     from(%rip), %rsi
        lea     to(%rip), %rdi
        movb    $9, 1234(%rsi)
        mov     $4000, %ecx
        repe cmpsb
        jne     1f
        nop
1:      movb    $0, 1234-4000(%rsi,%rcx)
        ret

/* two rep instructions and others in one go */
        function rep_mixed
        lea     from(%rip), %rsi
        lea     to(%rip), %rdi
        mov     $100, %ecx
        nop
        rep movsb
        nop
        mov     $50, %ecx
        rep stosb
        nop
        ret

        function locked
        lea     to(%rip), %rdi
        lock incl (%rdi)
        mov     $1, %ecx
        lock xadd %ecx, (%rdi)
        lock cmpxchg %ecx, (%rdi)
        xchg    %ecx, (%rdi)
        movl    $0, (%rdi)
        ret

/* a call within: call, ret */
        function nested
        call    empty
        call    empty
        ret

/* the thread gives the processor away 300 times: mov, 300 x 4, ret */
        function yield_300
        mov     $300, %r8d
1:      mov     $24, %eax
        syscall
        dec     %r8d
        jnz     1b
        ret

        .data
        .globl  got
got:    .quad   load_first
        .bss
from:   .zero   8192
to:     .zero   8192
        .section .note.GNU-stack, "", @progbits
ASM

cat >"$tmp/main.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minitrace/counters/counter.h"

typedef const volatile uint64_t word_t;
uint64_t measure(void (*fn)(void), word_t *word);
uint64_t at_entry(uint64_t (*fn)(word_t *), word_t *word);
uint64_t load_first(word_t *), load_late(word_t *), load_by_plt(word_t *);

#define PROGRAMS(X)                                                                       \
    X(empty, 0) X(loop_10, 11) X(loop_1000, 1001) X(loop_1000000, 1000001)                \
    X(straight_200, 200) X(loop_self, 8) X(exit_taken, 3) X(exit_not_taken, 6)            \
    X(and_00, 4) X(and_10, 6) X(and_11, 7) X(loop_exit, 20)                               \
    X(rep_movsb_5000, 5) X(rep_movsb_1, 5) X(rep_movsb_0, 5) X(rep_movsq_600, 5)          \
    X(rep_stosl_1000, 5) X(rep_lodsb_9, 5) X(repe_cmpsb_same, 5) X(repne_scasb_at_once, 5) \
    X(movsb_alone, 5) X(repe_cmpsb_differs, 7) X(rep_mixed, 9) X(locked, 7) X(nested, 4)  \
    X(yield_300, 1201)
#define DECLARE(name, n) void name(void);
PROGRAMS(DECLARE)

static int bad;
static word_t *word;

static void expect(const char *what, uint64_t got, uint64_t want)
{
    if (got != want) {
        printf("%s: %llu instead of %llu\n", what, (unsigned long long)got,
               (unsigned long long)want);
        __atomic_store_n(&bad, 1, __ATOMIC_RELAXED);
    }
}

/* The load, the call and the ret make 3; twice, for warm code is other code. */
static void all(void)
{
    for (int i = 0; i < 2; i++) {
#define MEASURE(name, n) expect(#name, measure(name, word), 3 + (uint64_t)(n));
        PROGRAMS(MEASURE)
        expect("load_first", at_entry(load_first, word), 7);
        expect("load_late", at_entry(load_late, word), 7);
        expect("load_by_plt", at_entry(load_by_plt, word), 8);
    }
}

static pthread_barrier_t barrier;

static void *thread(void *arg)
{
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 20; i++) {
        expect("yield_300 in a thread", measure(yield_300, word), 1204);
        all();
    }
    return arg;
}

static void *busy(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++)
        loop_1000000();
    return NULL;
}

int main(void)
{
    struct ti_counter counter;
    struct ti_err err;
    pthread_t t[3];
    uint64_t start;
    int status = 1;
    pid_t pid;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (ti_counter_open(&(struct ti_counter_request){.choice = "auto"}, &counter, &err) != TI_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    if (strcmp(counter.backend->name, "valgrind") != 0 || counter.read || !counter.exact)
        return 2;
    word = counter.word;
    all();

    /* a thread's instructions are its own */
    start = *word;
    pthread_create(&t[0], NULL, busy, NULL);
    pthread_join(t[0], NULL);
    expect("another thread's instructions seen here", *word - start > 1000000, 0);

    /* as many threads as fit exactly, taking turns, twice so that ids return */
    for (int round = 0; round < 2; round++) {
        pthread_barrier_init(&barrier, NULL, 3);
        for (int i = 0; i < 3; i++)
            pthread_create(&t[i], NULL, thread, NULL);
        for (int i = 0; i < 3; i++)
            pthread_join(t[i], NULL);
    }

    pid = fork();
    if (pid == 0) {
        all();
        _exit(bad);
    }
    waitpid(pid, &status, 0);
    expect("a forked child's status", (uint64_t)status, 0);
    all();
    return bad;
}
C

"$cc" -std=c11 -D_GNU_SOURCE -O2 -I. -Ilib -pthread -o "$tmp/exact" "$tmp/main.c" "$tmp/programs.S" \
    minitrace/counters/counter*.c lib/common/err.c lib/common/fds.c -ldl || exit 1
printf 'int main(void) { return 7; }\n' | "$cc" -x c -o "$tmp/seven" - || exit 1

unset VALGRIND_OPTS
ticount() { VALGRIND_LIB=$lib valgrind --tool=ticount "$@"; }

ticount --vgdb=no "$tmp/exact" || fail "counts are not exact"
# Exactness does not depend on valgrind's flags.
ticount --vgdb=no --vex-guest-chase=yes --vex-iropt-unroll-thresh=400 --vex-guest-max-insns=60 \
    "$tmp/exact" || fail "counts are not exact with other flags"
ticount --vgdb=no --outside=yes "$tmp/exact" || fail "counts are not exact with --outside"
ticount --vgdb=no --vex-iropt-level=0 "$tmp/exact" || fail "counts are not exact unoptimised"

# Says nothing, and hands on the exit status.
ticount "$tmp/seven" >"$tmp/out" 2>&1
[ $? = 7 ] || fail "the exit status was lost"
[ -s "$tmp/out" ] && fail "ticount says: $(cat "$tmp/out")"

# --report says the same number each time.
for i in 1 2 3; do
    ticount --vgdb=no --report=yes "$tmp/seven" 2>"$tmp/report"
    sed 's/^==[0-9]*== //' "$tmp/report" >"$tmp/report$i"
done
grep -q '^ticount: [1-9][0-9]* instructions$' "$tmp/report1" || fail "--report: $(cat "$tmp/report1")"
sort -u "$tmp"/report[123] | wc -l | grep -qx 1 ||
    fail "three runs, not one count: $(cat "$tmp"/report[123])"
[ "$(wc -l <"$tmp/report")" = 1 ] || fail "--report says more than its line"

for option in report outside; do
    ticount --help | grep -q -- "--$option=no|yes" || fail "--help does not list --$option"
done
ticount --nonsense "$tmp/seven" >/dev/null 2>&1 && fail "an unknown option was accepted"

# Another tool is not ours.
printf '%s\n' '#include <stdio.h>' '#include "minitrace/counters/counter.h"' 'int main(void) {' \
    'struct ti_counter c; struct ti_err e;' \
    'ti_status st = ti_counter_open(&(struct ti_counter_request){.choice = "valgrind"}, &c, &e);' \
    'if (st != TI_OK) puts(e.text); return st; }' >"$tmp/ask.c"
"$cc" -std=c11 -D_GNU_SOURCE -I. -Ilib -pthread -o "$tmp/ask" "$tmp/ask.c" minitrace/counters/counter*.c \
    lib/common/err.c lib/common/fds.c -ldl || exit 1
for tool in none memcheck; do
    out=$(valgrind -q --vgdb=no --tool=$tool "$tmp/ask" 2>&1)
    case $?:$out in
    3:*"not under our ticount") ;;
    *) fail "under $tool: $out" ;;
    esac
done
"$tmp/ask" >"$tmp/out" && fail "counted without valgrind"

[ $failed = 0 ] && echo "ok: counts are exact"
exit $failed
