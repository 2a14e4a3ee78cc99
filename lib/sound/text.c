#include "sound/text.h"

#include <stdarg.h>
#include <stdio.h>

#include "fold/seek.h"

struct text {
    char *at;
    size_t left;
};

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(t->at, t->left, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= t->left)
        n = t->left ? (int)t->left - 1 : 0;
    t->at += n;
    t->left -= (size_t)n;
}

static void put_field(struct text *t, const struct ti_reader *r, unsigned f, int64_t value)
{
    const char *name = ti_field_text(f);

    if (f == TI_F_CALL) {
        const char *call = ti_reader_string(r, TI_STRING_CALL, value);

        put(t, "%s", call ? call : "?");
    } else if (f == TI_F_NAME) {
        const char *file = ti_reader_string(r, TI_STRING_FILE, value);

        put(t, "%s '%s'", name, file ? file : "?");
    } else if (f == TI_F_MODE) {
        char mode[96];

        put(t, "%s %s", name, ti_mode_text(value, mode, sizeof mode));
    } else if (value == TI_SELF) {
        put(t, "%s self", name);
    } else if (value == TI_ANY) {
        put(t, "%s any", name);
    } else if (value == TI_NULL) {
        put(t, "%s null", name);
    } else if (f == TI_F_REDOP) {
        put(t, "%s %s", name, ti_redop_text(value));
    } else if (f == TI_F_PEER || f == TI_F_PEER2 || f == TI_F_FROM) {
        put(t, "%s %+lld", name, (long long)value);
    } else {
        put(t, "%s %lld", name, (long long)value);
    }
}

const char *ti_call_text(const struct ti_reader *r, const struct ti_event *ev, char *buf,
                         size_t bytes)
{
    const struct ti_op_info *info = ti_op_info(ev->op);
    struct text t = {buf, bytes};
    const char *sep = "";

    put(&t, "%s(", info->text);
    for (unsigned f = 0; f < TI_F_COUNT; f++) {
        if (!(ev->mask & 1u << f))
            continue;
        put(&t, "%s", sep);
        put_field(&t, r, f, ev->arg[f]);
        sep = ", ";
    }
    for (int v = 0; v < TI_VECS; v++) {
        if (!ev->vec[v].len)
            continue;
        put(&t, "%s%s", sep, info->vec[v]);
        for (int64_t i = 0; i < ev->vec[v].len && i < 6; i++)
            put(&t, " %lld", (long long)ti_vec_at(&ev->vec[v], i));
        if (ev->vec[v].len > 6)
            put(&t, " ... (%lld)", (long long)ev->vec[v].len);
        sep = ", ";
    }
    put(&t, ")");
    return buf;
}

const char *ti_event_text(struct ti_source *s, int64_t rank, uint64_t index, char *buf,
                          size_t bytes)
{
    struct ti_reader *r;
    struct ti_place place;
    struct ti_event ev;
    struct ti_err ignored;
    uint64_t at = 0;
    int got = 1;

    buf[0] = '\0';
    if (ti_source_reader(s, rank, &r, &ignored) != TI_OK)
        return buf;
    if (ti_reader_folded(r)) {
        got = ti_reader_seek(r, 0, index, &place, &ignored);
        at = index;
    }
    for (; at <= index && got == 1; at++)
        got = ti_reader_next(r, &ev, &ignored);
    if (got == 1)
        ti_call_text(r, &ev, buf, bytes);
    ti_reader_close(r);
    return buf;
}
