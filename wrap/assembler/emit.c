#include "wrap/assembler/emit.h"

#include <string.h>

static const char *const reg64[] = {"%rax", "%rcx", "%rdx", "%rbx", "%rsp", "%rbp", "%rsi", "%rdi",
                                    "%r8",  "%r9",  "%r10", "%r11", "%r12", "%r13", "%r14", "%r15"};
static const char *const reg8[] = {"%al",  "%cl",  "%dl",   "%bl",   "%spl",  "%bpl",
                                   "%sil", "%dil", "%r8b",  "%r9b",  "%r10b", "%r11b",
                                   "%r12b", "%r13b", "%r14b", "%r15b"};

static void add_word(FILE *out, const char *word, const char *value, const struct ti_addition *a)
{
    if (a->address >= 0)
        fprintf(out, "movq %s@gottpoff(%%rip),%s; addq $%s,%%fs:(%s); ", word, reg64[a->address],
                value, reg64[a->address]);
    else
        fprintf(out, "addq $%s,%%fs:%s@tpoff; ", value, word);
}

static const char *const reg32[] = {"%eax", "%ecx", "%edx", "%ebx",  "%esp",  "%ebp",
                                    "%esi", "%edi", "%r8d", "%r9d",  "%r10d", "%r11d",
                                    "%r12d", "%r13d", "%r14d", "%r15d"};

/* Write an addition of a loop that counts in registers. */
static void loop_addition(FILE *out, const struct ti_addition *a, size_t number,
                          const struct ti_blocks_options *opt)
{
    const char *const words[] = {"tiara_blocks", "tiara_blocks_own"};
    const char *v = a->vex ? "v" : "";

    for (int i = 0; i < 2 && a->sum[i] >= 0; i++) {
        const char *sum = reg64[a->sum[i]];

        if (a->kind == TI_ADD_INIT) {
            if (a->keep[i] >= 0)
                fprintf(out, "%smovq %s,%%xmm%d; ", v, sum, a->keep[i]);
            fprintf(out, "movl $%d,%s; ", i ? ti_flow_loop_own(a, opt) : 0, reg32[a->sum[i]]);
        } else if (a->kind == TI_ADD_LOOP && i == 0) {
            fprintf(out, "leaq %u(%s),%s; ", (unsigned)a->count, sum, sum);
        } else if (a->kind == TI_ADD_LOOP) {
            fprintf(out, "leaq .Ltiara_own%zu(%s),%s; ", number, sum, sum);
        } else {
            if (a->address >= 0)
                fprintf(out, "movq %s@gottpoff(%%rip),%s; addq %s,%%fs:(%s); ", words[i],
                        reg64[a->address], sum, reg64[a->address]);
            else
                fprintf(out, "addq %s,%%fs:%s@tpoff; ", sum, words[i]);
            if (a->keep[i] >= 0)
                fprintf(out, "%smovq %%xmm%d,%s; ", v, a->keep[i], sum);
        }
    }
}

/* Write an addition; each part ends in "; ".  Only the addition itself changes memory that other
 * code sees. */
static void addition(FILE *out, const struct ti_addition *a, size_t number,
                     const struct ti_blocks_options *opt)
{
    const char *r8 = a->scratch >= 0 ? reg8[a->scratch] : "", *before = NULL, *again = NULL;
    bool moved = a->lahf && !a->save && a->scratch > 0;
    char value[32];

    if (a->kind != TI_ADD_BLOCK) {
        loop_addition(out, a, number, opt);
        return;
    }
    if (a->save) {
        fprintf(out, "leaq -128(%%rsp),%%rsp; ");
        if (a->flags)
            fprintf(out, "pushq %%rax; ");
        if (a->address >= 0)
            fprintf(out, "pushq %s; ", reg64[a->address]);
    }
    if (moved)
        fprintf(out, "movq %%rax,%s; ", reg64[a->scratch]);
    if (a->lahf)
        fprintf(out, "lahf; %s", a->flags & TI_OF ? "seto %al; " : "");
    else if (a->flags) {
        before = a->flags == TI_ZF   ? "setne"
                 : a->flags == TI_CF ? "setc"
                 : a->flags == TI_SF ? "sets"
                 : a->flags == TI_OF ? "seto"
                                     : "setnp";
        again = a->flags == TI_CF ? "addb $0xff," : a->flags == TI_OF ? "addb $0x7f," : NULL;
        fprintf(out, "%s %s; ", before, r8);
    }
    snprintf(value, sizeof(value), "%u", (unsigned)(a->count - a->traps));
    add_word(out, "tiara_blocks", value, a);
    if (opt->audit) {
        snprintf(value, sizeof(value), ".Ltiara_own%zu", number);
        add_word(out, "tiara_blocks_own", value, a);
    }
    if (a->lahf)
        fprintf(out, "%ssahf; ", a->flags & TI_OF ? "addb $0x7f,%al; " : "");
    else if (again)
        fprintf(out, "%s%s; ", again, r8);
    else if (a->flags == TI_SF)
        fprintf(out, "negb %s; ", r8);
    else if (a->flags)
        fprintf(out, "testb %s,%s; ", r8, r8);
    if (moved)
        fprintf(out, "movq %s,%%rax; ", reg64[a->scratch]);
    if (a->save) {
        if (a->address >= 0)
            fprintf(out, "popq %s; ", reg64[a->address]);
        if (a->flags)
            fprintf(out, "popq %%rax; ");
        fprintf(out, "leaq 128(%%rsp),%%rsp; ");
    }
}

static void additions(FILE *out, const struct ti_stmt *s, const struct ti_flow *f, size_t *k,
                      uint32_t stmt, bool after, const struct ti_blocks_options *opt)
{
    bool other = s->intel || s->naked;
    size_t from = *k;

    for (; *k < f->nadds && f->adds[*k].stmt == stmt && f->adds[*k].after == after; ++*k) {
        if (*k == from)
            fprintf(out, "%s%s", after ? "; " : "", other ? ".att_syntax prefix; " : "");
        addition(out, &f->adds[*k], *k, opt);
    }
    if (*k > from && other)
        fprintf(out, ".%s_syntax %sprefix; ", s->intel ? "intel" : "att", s->naked ? "no" : "");
}

/* Write a short jump that leads to a long one. */
static ti_status stretched(FILE *out, const struct ti_text *t, size_t i, struct ti_err *err)
{
    const char *p = t->text + t->stmts[i].at, *end = p + t->stmts[i].len;

    while (p < end) {
        size_t blank = 0, n = 0;

        while (p + n < end && p[n] != ' ' && p[n] != '\t')
            n++;
        while (p + n + blank < end && (p[n + blank] == ' ' || p[n + blank] == '\t'))
            blank++;
        fprintf(out, "%.*s ", (int)n, p);
        if ((*p | 32) == 'j' || ((*p | 32) == 'l' && n > 3 && (p[1] | 32) == 'o' &&
                                 (p[2] | 32) == 'o')) {
            p += n + blank;
            fprintf(out, ".Ltiara%zux; jmp .Ltiara%zuy; .Ltiara%zux: jmp %.*s; .Ltiara%zuy:", i, i,
                    i, (int)(end - p), p, i);
            return TI_OK;
        }
        p += n + blank;
    }
    return ti_text_error(t, i, err, "a jump that reaches 127 bytes only, written as data");
}

static bool mapped(const struct ti_stmt *s)
{
    return s->code && s->kind != TI_STMT_OTHER;
}

static void write_map(FILE *out, const struct ti_text *t)
{
    size_t gap = 0;

    fprintf(out, "\n.section .tiara.map,\"\",@progbits\n");
    for (size_t i = 0; i < t->n; i++) {
        const struct ti_stmt *s = &t->stmts[i];

        if (!mapped(s)) {
            gap++;
            continue;
        }
        if (gap)
            fprintf(out, ".zero %zu\n", 24 * gap);
        gap = 0;
        if (s->kind == TI_STMT_LABEL)
            fprintf(out, ".quad .Ltiara%zuf,.Ltiara%zuf,.Ltiara%zuf\n", i, i, i);
        else
            fprintf(out, ".quad .Ltiara%zuf,.Ltiara%zua,.Ltiara%zut\n", i, i, i);
    }
}

/* Write the section .tiara.blocks.  A function is all code from one global label to the next. */
static void write_table(FILE *out, const struct ti_text *t, const struct ti_flow *f,
                        const int64_t *own)
{
    long blocks = 0, insns = 0, added = 0;
    const struct ti_stmt *name = NULL;

    fprintf(out, ".section .tiara.blocks,\"\",@progbits\n");
    for (size_t i = 0, k = 0; i <= t->n; i++) {
        const struct ti_stmt *s = i < t->n ? &t->stmts[i] : NULL;
        const char *p = s ? t->text + s->at : "";

        if (!s || (s->code && s->kind == TI_STMT_LABEL && s->len && strncmp(p, ".L", 2) != 0 &&
                   (*p < '0' || *p > '9'))) {
            if (blocks)
                fprintf(out, ".ascii \"%.*s blocks %ld instructions %ld own %ld\\n\"\n",
                        name ? (int)name->len : 1, name ? t->text + name->at : "-", blocks, insns,
                        added);
            blocks = insns = added = 0;
            name = s && *p != '"' ? s : NULL;
        }
        for (; k < f->nadds && f->adds[k].stmt == i; k++) {
            const struct ti_addition *a = &f->adds[k];

            added += own[k];
            if (a->kind != TI_ADD_BLOCK && a->kind != TI_ADD_LOOP)
                continue;
            blocks++;
            insns += (long)a->count - a->traps;
        }
    }
}

ti_status ti_blocks_emit(FILE *out, const struct ti_text *t, const struct ti_flow *f,
                         const struct ti_blocks_options *opt, const int64_t *own, bool map,
                         struct ti_err *err)
{
    size_t from = 0, k = 0;
    ti_status st = TI_OK;

    if (strcmp(t->files[0], "-") != 0)
        fprintf(out, "# 1 \"%s\"\n", t->files[0]);
    for (size_t i = 0; i < t->n && !st; i++) {
        const struct ti_stmt *s = &t->stmts[i];
        bool label = s->kind == TI_STMT_LABEL;

        fwrite(t->text + from, 1, s->at - from, out);
        from = s->at + s->len;
        if (map && mapped(s))
            fprintf(out, ".Ltiara%zuf: ", i);
        if (f)
            additions(out, s, f, &k, (uint32_t)i, false, opt);
        if (map && mapped(s) && !label)
            fprintf(out, ".Ltiara%zua: ", i);
        if (f && f->drop[i])
            fprintf(out, " ");
        else if (f && f->stretch[i])
            st = stretched(out, t, i, err);
        else
            fwrite(t->text + s->at, 1, s->len, out);
        if (map && mapped(s) && !label)
            fprintf(out, "; .Ltiara%zut: ", i);
        if (f)
            additions(out, s, f, &k, (uint32_t)i, true, opt);
    }
    fwrite(t->text + from, 1, t->bytes - from, out);
    if (f && opt->audit) {
        fprintf(out, "\n");
        for (size_t i = 0; i < f->nadds; i++)
            fprintf(out, ".set .Ltiara_own%zu,%lld\n", i, (long long)(own ? own[i] : 1));
        if (own)
            write_table(out, t, f, own);
    }
    if (map)
        write_map(out, t);
    fprintf(out, "\n");
    return st;
}
