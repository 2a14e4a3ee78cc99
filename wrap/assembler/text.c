#include "wrap/assembler/text.h"

#include <ctype.h>
#include <search.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The kind of the current section. */
enum where { CODE, DATA, DEBUG };

struct macro {
    const char *name;
    size_t n;
    const char *odd; /* why it cannot be used in code, or NULL */
};

struct parser {
    struct ti_text *t;
    size_t cap;
    const char *p, *end;
    uint32_t line;
    uint16_t file;
    enum where where;
    bool intel, naked;
    struct ti_err *err;
    uint8_t *debug; /* by statement: in a section that is not loaded */
    /* State within .macro, .rept or .if, which is one statement up to its end. */
    int depth;
    size_t body;
    const char *odd; /* why it cannot be one in code, or NULL */
    bool has_data;
    struct macro *macros;
    size_t nmacros;
};

static bool symbol_char(unsigned char c)
{
    return isalnum(c) || c == '_' || c == '.' || c == '$' || c == '@' || c == '?' || c >= 0x80;
}

static bool is(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && strncasecmp(s, word, n) == 0;
}

static bool is_any(const char *s, size_t n, const char *const *words)
{
    for (; *words; words++)
        if (is(s, n, *words))
            return true;
    return false;
}

static bool begins(const char *s, size_t n, const char *word)
{
    size_t len = strlen(word);

    return n >= len && strncasecmp(s, word, len) == 0;
}

static const char *const fills[] = {".align",  ".balign",   ".balignw",  ".balignl",
                                    ".p2align", ".p2alignw", ".p2alignl", NULL};
static const char *const strings[] = {".ascii",    ".asciz",    ".string", ".string8",
                                      ".string16", ".string32", ".string64", ".incbin",
                                      ".base64",   ".sleb128",  ".uleb128", NULL};
static const char *const data[] = {
    ".byte",  ".2byte", ".4byte",  ".8byte", ".octa",   ".16byte", ".short", ".hword", ".value",
    ".word",  ".long",  ".int",    ".quad",  ".single", ".float",  ".double", ".tfloat", ".slong",
    ".fill",  ".skip",  ".space",  ".zero",  ".org",    ".hfloat", ".bfloat16", ".float16", NULL};
static const char *const openers[] = {".macro", ".rept", ".rep", ".irp", ".irpc", ".irep", ".irepc",
                                      NULL};
static const char *const closers[] = {".endm", ".endr", ".endif", NULL};
static const char *const sections[] = {".text",       ".data",     ".bss",        ".section",
                                       ".pushsection", ".previous", ".popsection", ".subsection",
                                       ".struct",     ".offset",   ".intel_syntax", ".att_syntax",
                                       ".include",    ".altmacro", NULL};

static const char *blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\f' || *p == '\r' || *p == '\v'))
        p++;
    return p;
}

static const char *word_end(const char *p, const char *end)
{
    while (p < end && symbol_char((unsigned char)*p))
        p++;
    return p;
}

static const char *string_end(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\' && p + 1 < end)
            p++;
    return p < end ? p + 1 : end;
}

static struct ti_stmt *add(struct parser *ps, enum ti_stmt_kind kind, const char *at, const char *to)
{
    struct ti_text *t = ps->t;
    struct ti_stmt *s;

    while (to > at && isspace((unsigned char)to[-1]))
        to--;
    if (t->n == ps->cap) {
        ps->cap = ps->cap ? 2 * ps->cap : 1024;
        t->stmts = ti_blocks_grow(t->stmts, ps->cap, sizeof(*t->stmts));
        ps->debug = ti_blocks_grow(ps->debug, ps->cap, 1);
    }
    s = &t->stmts[t->n];
    ps->debug[t->n++] = ps->where == DEBUG;
    *s = (struct ti_stmt){.at = (size_t)(at - t->text),
                          .len = (size_t)(to - at),
                          .line = ps->line,
                          .file = ps->file,
                          .kind = (uint8_t)kind,
                          .code = ps->where == CODE,
                          .intel = ps->intel,
                          .naked = ps->naked};
    return s;
}

/* The kind of section in `.section ARGS`.  Without flags, it is an existing section, or has gas's
 * default flags for its name. */
static enum where section_kind(const char *p, const char *end)
{
    const char *name = p, *to;
    size_t n;

    if (p < end && *p == '"') {
        name++;
        to = string_end(p, end);
        n = (size_t)(to - name - (to > name));
    } else {
        for (to = p; to < end && *to != ',' && !isspace((unsigned char)*to);)
            to++;
        n = (size_t)(to - name);
    }
    p = blanks(to, end);
    if (p < end && *p == ',') {
        p = blanks(p + 1, end);
        if (p < end && *p == '"') {
            to = string_end(p, end);
            if (memchr(p, 'x', (size_t)(to - p)) || memchr(p, '?', (size_t)(to - p)))
                return CODE;
            return memchr(p, 'a', (size_t)(to - p)) ? DATA : DEBUG;
        }
        if (p < end && (*p == '#' || isdigit((unsigned char)*p)))
            return CODE;
    }
    if (begins(name, n, ".debug"))
        return DEBUG;
    if (begins(name, n, ".rodata") || begins(name, n, ".data") || begins(name, n, ".bss") ||
        begins(name, n, ".tdata") || begins(name, n, ".tbss") || begins(name, n, ".eh_frame"))
        return DATA;
    return CODE;
}

static ti_status refuse(struct parser *ps, const char *why)
{
    return ti_err_set(ps->err, TI_ERR_INPUT, "%s:%u: %s", ps->t->files[ps->file],
                      (unsigned)ps->line, why);
}

static bool opens(const char *p, size_t n)
{
    return is_any(p, n, openers) || (begins(p, n, ".if") && n < 8);
}

/* A statement within .macro, .rept or .if.  These are not expanded here: what they make is one
 * statement, without places for additions. */
static ti_status within(struct parser *ps, const char *p, const char *to)
{
    const char *w = *p == '"' ? string_end(p, to) : word_end(p, to);
    size_t n = (size_t)(w - p);
    const char *c = blanks(w, to);
    struct ti_stmt *s = &ps->t->stmts[ps->body];

    /* a name in a macro may begin with an argument */
    if (memchr(p, ':', (size_t)(to - p)) && !memchr(p, '"', (size_t)(to - p)) &&
        !((c = blanks(c, to)) < to && *c == '%'))
        ps->odd = "a label within .macro, .rept or .if";
    if (is_any(p, n, sections))
        ps->odd = "a change of section or syntax within .macro, .rept or .if";
    if (is_any(p, n, strings) || is_any(p, n, data) || begins(p, n, ".dc") || begins(p, n, ".ds"))
        ps->has_data = true;
    if (opens(p, n))
        ps->depth++;
    if (is_any(p, n, closers) && --ps->depth == 0) {
        const char *from = ps->t->text + s->at;

        s->len = (size_t)(w - from);
        w = word_end(from, to);
        if (is(from, (size_t)(w - from), ".macro")) {
            const char *name = blanks(w, to);

            ps->macros = ti_blocks_grow(ps->macros, ps->nmacros + 1, sizeof(*ps->macros));
            ps->macros[ps->nmacros++] = (struct macro){
                name, (size_t)(word_end(name, to) - name),
                ps->odd ? ps->odd : ps->has_data ? "data within .macro" : NULL};
        } else if (s->code && ps->odd) {
            return ti_err_set(ps->err, TI_ERR_INPUT, "%s:%u: %s", ps->t->files[s->file],
                              (unsigned)s->line, ps->odd);
        } else {
            s->kind = ps->has_data ? TI_STMT_DATA : TI_STMT_INSN;
        }
    }
    return TI_OK;
}

static ti_status directive(struct parser *ps, const char *p, const char *to)
{
    const char *w = word_end(p, to), *arg = blanks(w, to);
    size_t n = (size_t)(w - p);
    struct ti_stmt *s;

    if (is_any(p, n, fills)) {
        add(ps, TI_STMT_FILL, p, to);
        return TI_OK;
    }
    if (is_any(p, n, strings) || is_any(p, n, data) || begins(p, n, ".dc") || begins(p, n, ".ds")) {
        s = add(ps, TI_STMT_DATA, p, to);
        s->data_only = is_any(p, n, strings);
        return TI_OK;
    }
    if (is(p, n, ".insn") || is(p, n, ".nop") || is(p, n, ".nops")) {
        add(ps, TI_STMT_INSN, p, to);
        return TI_OK;
    }
    add(ps, TI_STMT_OTHER, p, to);
    if (opens(p, n)) {
        ps->depth = 1;
        ps->body = ps->t->n - 1;
        ps->odd = NULL;
        ps->has_data = false;
    } else if (is(p, n, ".include") || is(p, n, ".altmacro"))
        return refuse(ps, ".include and .altmacro are not handled (run the C preprocessor, or "
                          "write it out)");
    else if (is(p, n, ".text"))
        ps->where = CODE;
    else if (is(p, n, ".data") || is(p, n, ".bss") || is(p, n, ".struct") || is(p, n, ".offset"))
        ps->where = DATA;
    else if (is(p, n, ".section") || is(p, n, ".pushsection")) {
        ps->where = section_kind(arg, to);
        if (begins(arg, (size_t)(to - arg), ".gnu.lto_") ||
            begins(arg, (size_t)(to - arg), "\".gnu.lto_"))
            return refuse(ps, "link-time optimization cannot be counted: what is in this object is "
                              "not what will run (compile with -fno-lto)");
    } else if (is(p, n, ".popsection") || is(p, n, ".previous"))
        ps->where = CODE;
    else if (is(p, n, ".intel_syntax") || is(p, n, ".att_syntax")) {
        ps->intel = is(p, n, ".intel_syntax");
        ps->naked = arg < to ? begins(arg, (size_t)(to - arg), "noprefix") : ps->intel;
    } else if (is(p, n, ".code32") || is(p, n, ".code16") || is(p, n, ".code16gcc"))
        return refuse(ps, "code of other than 64 bits cannot be counted");
    return TI_OK;
}

/* Whether the operand of an instruction is a jump target. */
static bool is_branch(const char *p, size_t n)
{
    return n && (tolower((unsigned char)*p) == 'j' || begins(p, n, "call") || begins(p, n, "loop") ||
                 is(p, n, "xbegin"));
}

/* Handle one statement, with the labels before it. */
static ti_status statement(struct parser *ps, const char *p, const char *to)
{
    for (;;) {
        const char *w, *c;

        p = blanks(p, to);
        if (p == to)
            return TI_OK;
        if (ps->depth)
            return within(ps, p, to);
        w = *p == '"' ? string_end(p, to) : word_end(p, to);
        c = blanks(w, to);
        if (w > p && c < to && *c == ':' && !(c + 1 < to && c[1] == ':')) {
            add(ps, TI_STMT_LABEL, p, w);
            p = c + 1;
            continue;
        }
        if (c < to && *c == '=') {
            add(ps, TI_STMT_OTHER, p, to);
            return TI_OK;
        }
        if (*p == '.' && w > p)
            return directive(ps, p, to);
        for (size_t i = 0; i < ps->nmacros && ps->where == CODE; i++)
            if (ps->macros[i].n == (size_t)(w - p) && ps->macros[i].odd &&
                strncasecmp(ps->macros[i].name, p, ps->macros[i].n) == 0)
                return refuse(ps, ps->macros[i].odd);
        add(ps, TI_STMT_INSN, p, to)->branch = is_branch(p, (size_t)(w - p));
        return TI_OK;
    }
}

/* `# LINE "FILE" ...` at the start of a line: the number of the next line. */
static void line_marker(struct parser *ps, const char *p, const char *to)
{
    char *after;
    unsigned long n;
    const char *q;

    p = blanks(p + 1, to);
    if (p == to || !isdigit((unsigned char)*p))
        return;
    n = strtoul(p, &after, 10);
    q = blanks(after, to);
    if (q < to && *q == '"') {
        const char *e = string_end(q, to);
        struct ti_text *t = ps->t;
        size_t len = (size_t)(e - q - 1), i;

        len -= len > 0;
        for (i = 0; i < t->nfiles; i++)
            if (strlen(t->files[i]) == len && memcmp(t->files[i], q + 1, len) == 0)
                break;
        if (i == t->nfiles && i < UINT16_MAX) {
            t->files = ti_blocks_grow(t->files, i + 1, sizeof(*t->files));
            t->files[t->nfiles] = ti_blocks_zero(len + 1, 1);
            memcpy(t->files[t->nfiles++], q + 1, len);
        }
        ps->file = (uint16_t)(i < UINT16_MAX ? i : 0);
    } else if (q < to)
        return;
    ps->line = (uint32_t)n - 1; /* the end of this line adds one */
}

static ti_status cut(struct parser *ps)
{
    const char *from = ps->p; /* start of the statement */
    bool fresh = true;        /* only blanks since the start of the line */
    uint32_t lines = 0;       /* lines within the statement, in comments and strings */

    while (ps->p < ps->end) {
        char c = *ps->p;

        if (fresh && (c == '#' || c == '/') && !(c == '/' && ps->p + 1 < ps->end && ps->p[1] == '*')) {
            const char *nl = memchr(ps->p, '\n', (size_t)(ps->end - ps->p));

            nl = nl ? nl : ps->end;
            if (c == '#')
                line_marker(ps, ps->p, nl);
            from = ps->p = nl;
            fresh = false;
            continue;
        }
        if (c == '\n' || c == ';' || c == '#') {
            ti_status st = statement(ps, from, ps->p);

            if (st)
                return st;
            if (c == '#') {
                const char *nl = memchr(ps->p, '\n', (size_t)(ps->end - ps->p));

                ps->p = nl ? nl : ps->end;
                from = ps->p;
                continue;
            }
            from = ++ps->p;
            ps->line += (c == '\n') + lines;
            lines = 0;
            fresh = c == '\n';
            continue;
        }
        if (c == '"') {
            const char *e = string_end(ps->p, ps->end);

            for (; ps->p < e; ps->p++)
                lines += *ps->p == '\n';
            fresh = false;
            continue;
        }
        if (c == '\'' && ps->p + 1 < ps->end && ps->p[1] != '\n') {
            ps->p += ps->p[1] == '\\' && ps->p + 2 < ps->end ? 3 : 2;
            fresh = false;
            continue;
        }
        if (c == '/' && ps->p + 1 < ps->end && ps->p[1] == '*') {
            const char *q = ps->p + 2;

            while (q < ps->end && !(q[0] == '*' && q + 1 < ps->end && q[1] == '/'))
                q++;
            q = q < ps->end ? q + 2 : ps->end;
            /* a comment before a statement is not part of it */
            if (blanks(from, ps->p) == ps->p) {
                for (; ps->p < q; ps->p++)
                    ps->line += *ps->p == '\n';
                from = q;
                continue;
            }
            for (; ps->p < q; ps->p++)
                lines += *ps->p == '\n';
            continue;
        }
        if (!isspace((unsigned char)c))
            fresh = false;
        ps->p++;
    }
    return statement(ps, from, ps->p);
}

/* --- labels: who uses them ------------------------------------------------ */

static void mark_labels(struct ti_text *t, const uint8_t *debug)
{
    struct hsearch_data table = {0};
    ENTRY e, *found;
    size_t labels = 0, nkeys = 0;
    char **keys, buf[256];

    for (size_t i = 0; i < t->n; i++)
        labels += t->stmts[i].kind == TI_STMT_LABEL;
    keys = ti_blocks_zero(labels + 1, sizeof(*keys));
    if (!hcreate_r(2 * labels + 16, &table))
        ti_blocks_out_of_memory();
    for (size_t i = 0; i < t->n; i++) {
        struct ti_stmt *s = &t->stmts[i];
        const char *name = t->text + s->at;
        size_t n = s->len;

        if (s->kind != TI_STMT_LABEL)
            continue;
        /* numeric labels have no names; labels other than .L may be used by other objects */
        if (n < 2 || n >= sizeof(buf) || strncmp(name, ".L", 2) != 0) {
            s->jumped = s->taken = 1;
            continue;
        }
        keys[nkeys] = ti_blocks_zero(n + 1, 1);
        memcpy(keys[nkeys], name, n);
        e = (ENTRY){.key = keys[nkeys++], .data = s};
        hsearch_r(e, ENTER, &found, &table);
    }
    for (size_t i = 0; i < t->n; i++) {
        const struct ti_stmt *s = &t->stmts[i];
        const char *p = t->text + s->at, *end = p + s->len;

        if (debug[i] || s->kind == TI_STMT_LABEL)
            continue;
        if (s->kind == TI_STMT_OTHER && s->len > 4 &&
            (begins(p, s->len, ".cfi_") || begins(p, s->len, ".loc") ||
             begins(p, s->len, ".size") || begins(p, s->len, ".type")))
            continue;
        while (p < end) {
            const char *w;

            if (!symbol_char((unsigned char)*p) || *p == '$') {
                p++;
                continue;
            }
            w = word_end(p, end);
            if (*p == '.' && (size_t)(w - p) < sizeof(buf)) {
                /* `.L5@GOTOFF` uses .L5 */
                size_t n = (size_t)(w - p);
                const char *at = memchr(p, '@', n);

                n = at ? (size_t)(at - p) : n;
                memcpy(buf, p, n);
                buf[n] = 0;
                e = (ENTRY){.key = buf};
                if (hsearch_r(e, FIND, &found, &table)) {
                    struct ti_stmt *label = found->data;

                    label->jumped = 1;
                    label->taken |= !s->branch;
                }
            }
            p = w;
        }
    }
    hdestroy_r(&table);
    for (size_t i = 0; i < nkeys; i++)
        free(keys[i]);
    free(keys);
}

ti_status ti_text_parse(struct ti_text *out, const char *text, size_t bytes, const char *file,
                        const struct ti_blocks_options *options, struct ti_err *err)
{
    struct parser ps = {.t = out,
                        .p = text,
                        .end = text + bytes,
                        .line = 1,
                        .intel = options->intel,
                        .naked = options->naked,
                        .err = err};
    ti_status st;

    *out = (struct ti_text){.text = text, .bytes = bytes};
    out->files = ti_blocks_zero(1, sizeof(*out->files));
    out->files[0] = ti_blocks_zero(strlen(file) + 1, 1);
    strcpy(out->files[0], file);
    out->nfiles = 1;
    st = cut(&ps);
    if (!st)
        mark_labels(out, ps.debug);
    free(ps.macros);
    free(ps.debug);
    return st;
}

void ti_text_free(struct ti_text *t)
{
    for (size_t i = 0; i < t->nfiles; i++)
        free(t->files[i]);
    free(t->files);
    free(t->stmts);
    *t = (struct ti_text){0};
}

ti_status ti_text_error(const struct ti_text *t, size_t i, struct ti_err *err, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return ti_err_set(err, TI_ERR_INPUT, "%s:%u: %s", t->files[t->stmts[i].file],
                      (unsigned)t->stmts[i].line, text);
}
