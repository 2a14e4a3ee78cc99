/* Control flow that C and its inline assembler have: computed jumps, setjmp, signals, traps, asm goto, indirect functions, tail calls, functions without return. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

static volatile int sink;
static jmp_buf jump;

__attribute__((noinline)) static int computed(const char *program)
{
    static const void *const to[] = {&&add, &&sub, &&mul, &&end};
    int x = 7;

next:
    goto *to[*program++ & 3];
add:
    x += 3;
    goto next;
sub:
    x -= 1;
    goto next;
mul:
    x *= 5;
    goto next;
end:
    return x;
}

__attribute__((noinline, noreturn)) static void leave(int x)
{
    longjmp(jump, x);
}

__attribute__((noinline)) static int jumping(int x)
{
    volatile int n = 0;

    if (setjmp(jump) < 3) {
        n++;
        leave(x + n);
    }
    return n;
}

static void on_signal(int sig)
{
    sink += sig;
}

static void on_trap(int sig)
{
    (void)sig;
    siglongjmp(jump, 1);
}

__attribute__((noinline)) static int trapping(void)
{
    if (sigsetjmp(jump, 1))
        return 5;
    __builtin_trap();
}

__attribute__((noinline)) static int with_goto(int x)
{
    __asm__ goto("testl %0, %0\n\tjs %l[negative]\n\t" : : "r"(x) : "cc" : negative);
    return x;
negative:
    return -x;
}

/* Prefixes apart, bytes, a loop with a local label, the flags handed to C, the other
 * syntax, and what is in a section of its own. */
__attribute__((noinline)) static int inlined(int x)
{
    int carry, y = x, n = 5;
    char from[16] = "0123456789abcde", to[16];
    const void *f = from;
    void *t = to;
    unsigned long count = 16;

    __asm__("addl $0x7fffffff, %1" : "=@ccc"(carry), "+r"(y) : : );
    __asm__ volatile("rep; movsb" : "+S"(f), "+D"(t), "+c"(count) : : "memory");
    __asm__ volatile("lock\n\taddl $2, %0" : "+m"(sink) : : "cc");
    __asm__ volatile("1: subl $1, %0; jnz 1b; .byte 0x90; .byte 0x66; nop" : "+r"(n) : : "cc");
    __asm__ volatile(".byte 0x0f, 0x1f, 0x44\n.byte 0x00, 0x00");
    __asm__ volatile(".intel_syntax noprefix\n\tmov eax, 5\n\tadd eax, 2\n\t"
                     ".att_syntax prefix" : : : "eax", "cc");
    __asm__ volatile("jmp 2f\n\t.long 1f-2f, 12\n1: nop\n2: nop\n\t"
                     ".pushsection .rodata\n\t.long 1b-., 2b-.\n\t.popsection");
    return y + carry + to[3] + n;
}

static int first(int x)
{
    return x + 1;
}
static int second(int x)
{
    return x + 2;
}
typedef int (*fn)(int);
static fn resolve(void)
{
    return sink > 1000 ? first : second;
}
int indirect(int x) __attribute__((ifunc("resolve")));

__attribute__((noinline)) static int tail(int x)
{
    return x > 3 ? computed("\0\1\2\3") : indirect(x);
}

/* A leaf that uses the red zone, flags live in between. */
__attribute__((noinline)) static long leaf(const long *v, int n)
{
    volatile long part[8];
    long sum = 0;

    for (int i = 0; i < 8; i++)
        part[i] = v[i % n];
    for (int i = 0; i < 8; i++)
        sum += part[i] > 3 ? part[i] : part[i] < -3 ? -part[i] : 1;
    return sum;
}

/* Carries through a loop. */
__attribute__((noinline)) static int carries(uint64_t *a, const uint64_t *b, long n)
{
    unsigned char c;

    __asm__ volatile("clc\n"
                     "0: movq (%2), %%rax\n\tadcq %%rax, (%1)\n\tleaq 8(%1), %1\n\t"
                     "leaq 8(%2), %2\n\tdecq %3\n\tjnz 0b\n\tsetc %0"
                     : "=q"(c), "+r"(a), "+r"(b), "+r"(n) : : "rax", "cc", "memory");
    return c;
}

int main(void)
{
    static const long v[] = {1, 5, -9, 2, 3};
    uint64_t a[4] = {~0ul, ~0ul, 5, ~0ul}, b[4] = {1, 0, ~0ul, 0};
    int r = 0;

    for (int i = 0; i < 3; i++)
        r += computed("\0\1\2\2\0\3") + jumping(i) + with_goto(i - 1) + inlined(i) + tail(i * 2);
    r += (int)leaf(v, 5) + carries(a, b, 4) + (int)a[0] + (int)a[2];
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    signal(SIGILL, on_trap);
    r += trapping();
    return (r + sink) & 63;
}
