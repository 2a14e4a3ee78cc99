#!/usr/bin/env python3
"""Random programs that end, the same for a seed: generate.py c|s SEED.

c: functions of loops, switches, calls and arithmetic, in C.
s: assembler in which flags are live across branches, labels and calls."""
import random
import sys

kind, seed = sys.argv[1], int(sys.argv[2])
r = random.Random(seed)


def program_c():
    names = ["a", "b", "c", "d"]

    def expr(depth):
        k = r.randrange(9 if depth else 3)
        if k == 0:
            return r.choice([str(r.randrange(1, 99)), "in"])
        if k < 3:
            return r.choice(names)
        if k == 3:
            return f"v[({expr(depth - 1)}) & 15]"
        if k == 4:
            return f"(({expr(depth - 1)}) ? ({expr(depth - 1)}) : ({expr(depth - 1)}))"
        if k == 5:
            return f"(({expr(depth - 1)}) >> {r.randrange(5)})"
        op = r.choice(["+", "-", "*", "&", "|", "^", "<", ">", "==", "<=", "&&", "||"])
        return f"(({expr(depth - 1)}) {op} ({expr(depth - 1)}))"

    def body(depth, f, indent):
        pad = "    " * indent
        for _ in range(r.randrange(1, 4)):
            k = r.randrange(9 if depth else 3)
            if k < 2:
                yield f"{pad}{r.choice(names)} {r.choice(['=', '+=', '^='])} {expr(2)};"
            elif k == 2:
                yield f"{pad}v[({expr(1)}) & 15] += {expr(2)};"
            elif k < 5:
                yield f"{pad}if ({expr(2)}) {{"
                yield from body(depth - 1, f, indent + 1)
                if r.random() < 0.5:
                    yield f"{pad}}} else {{"
                    yield from body(depth - 1, f, indent + 1)
                yield f"{pad}}}"
            elif k == 5:
                i = f"i{depth}"
                yield f"{pad}for (unsigned {i} = 0; {i} < {r.randrange(1, 6)}; {i}++) {{"
                yield f"{pad}    a += {i};"
                yield from body(depth - 1, f, indent + 1)
                if r.random() < 0.3:
                    yield f"{pad}    if (({expr(1)}) == 7)\n{pad}        break;"
                yield f"{pad}}}"
            elif k == 6:
                yield f"{pad}switch (({expr(1)}) & 7) {{"
                for c in range(r.randrange(3, 8)):
                    yield f"{pad}case {c}:"
                    yield from body(0, f, indent + 1)
                    if r.random() < 0.7:
                        yield f"{pad}    break;"
                yield f"{pad}}}"
            elif f:
                g = r.randrange(f)
                yield f"{pad}{r.choice(names)} += f{g}({expr(1)}, {expr(1)});"
            else:
                yield f"{pad}d += (unsigned)((double)(c & 255) * 1.5);"

    print("static unsigned v[16];\nstatic volatile unsigned in = 5;\n")
    n = 6
    for f in range(n):
        word = r.choice(["static ", "", "__attribute__((noinline)) static "])
        if not word:
            print(f"unsigned f{f}(unsigned a, unsigned b);")
        print(f"{word}unsigned f{f}(unsigned a, unsigned b)\n{{\n    unsigned c = 1, d = 2;\n")
        print("\n".join(body(2, f, 1)))
        print("    return a + b + c + d;\n}\n")
    print("int main(void)\n{\n    unsigned s = 0;\n")
    for f in range(n):
        print(f"    s += f{f}(in + {r.randrange(99)}, in * {r.randrange(99)});")
    print("    for (int i = 0; i < 16; i++)\n        s = s * 31 + v[i];\n    return (int)(s & 63);\n}")


def program_s():
    regs = ["eax", "ebx", "esi", "edi", "r8d", "r9d", "r12d"]
    conds = "o no b ae e ne be a s ns p np l ge le g".split()

    def step():
        a, b = r.choice(regs), r.choice(regs)
        return r.choice([
            f"addl %{a}, %{b}", f"adcl ${r.randrange(9)}, %{a}", f"sbbl %{a}, %{b}",
            f"movl ${r.randrange(1 << 31)}, %{a}", f"movl %{a}, %{b}", f"incl %{a}",
            f"decl %{a}", f"negl %{a}", f"leal 3(%r{{0}}), %{a}".replace("{0}", "12"),
            f"cmpl %{a}, %{b}", f"testl %{a}, %{b}", f"sarl ${r.randrange(4)}, %{a}",
            f"roll ${r.randrange(3)}, %{a}", f"rcrl $1, %{a}", "stc", "clc", "cmc",
            f"cmov{r.choice(conds)} %{a}, %{b}", f"set{r.choice(conds)} %r10b",
            "addb %r10b, %r12b", f"imull ${r.randrange(50)}, %{a}, %{b}", f"btl $3, %{a}",
            "lahf", "sahf", "call set", "call get", "notl %ebx", f"shll %cl, %{a}",
            "pushfq; popq %r11; andl $0x8d5, %r11d; addl %r11d, %r12d",
            "movl %r12d, -24(%rsp); addl -24(%rsp), %ebx",
        ])

    print("\t.text\n\t.globl main\nset:\tcmpl $77, %esi\n\tret\nget:\tadcl $1, %r9d\n\tret")
    print("main:\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\txorl %r12d, %r12d")
    for i, reg in enumerate(regs + ["ecx", "r10d"]):
        print(f"\tmovl ${r.randrange(1 << 31)}, %{reg}")
    print("\tmovl $6, %r13d\n0:")
    for i in range(60):
        print(f".L{i}:")
        for _ in range(r.randrange(4)):
            print("\t" + step())
        if r.random() < 0.8:
            print(f"\tj{r.choice(conds)} .L{r.randrange(i + 1, min(i + 5, 60) + 1)}")
    print(".L60:\tpushfq\n\tpopq %r11\n\tandl $0x8d5, %r11d\n\taddl %r11d, %r12d")
    print("\tdecl %r13d\n\tjnz 0b\n\tleal (%r12,%rax), %eax\n\taddl %ebx, %eax\n\taddl %r9d, %eax")
    print("\tmovl %eax, %ecx\n\tshrl $16, %ecx\n\txorl %ecx, %eax\n\tandl $63, %eax")
    print("\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tret")
    print('\t.section .note.GNU-stack, "", @progbits')


{"c": program_c, "s": program_s}[kind]()
