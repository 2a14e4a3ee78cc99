#include <inttypes.h>

#include "extrapolate/rule.h"
#include "extrapolate/wording.h"

/* Write "+ 3 * " or "- "; the first member of a sum has no plus. */
static void add_factor(struct ti_wording *t, int64_t c, bool first)
{
    uint64_t size = c < 0 ? -(uint64_t)c : (uint64_t)c;

    ti_wording_add(t, "%s", first ? c < 0 ? "-" : "" : c < 0 ? " - " : " + ");
    if (size != 1)
        ti_wording_add(t, "%" PRIu64 " * ", size);
}

static void add_sum(struct ti_wording *t, const struct ti_rule *r)
{
#define TERM_TEXT(name, axis, text) text,
    static const char *const texts[] = {TI_TERMS(TERM_TEXT)};
    bool braces = r->d != 1 && r->terms + (r->c0 != 0) > 1;

    ti_wording_add(t, "%s", braces ? "(" : "");
    for (int i = 0; i < r->terms; i++) {
        add_factor(t, r->c[i], i == 0);
        for (const char *c = texts[r->term[i].kind]; *c; c++)
            ti_wording_add(t, "%c", *c == '@' ? "xyzw"[r->term[i].axis] : *c);
    }
    if (!r->terms)
        ti_wording_add(t, "%" PRId64, r->c0);
    else if (r->c0)
        ti_wording_add(t, " %c %" PRIu64, r->c0 < 0 ? '-' : '+',
                       r->c0 < 0 ? -(uint64_t)r->c0 : (uint64_t)r->c0);
    ti_wording_add(t, "%s", braces ? ")" : "");
    if (r->d != 1)
        ti_wording_add(t, " / %" PRId64, r->d);
}

void ti_wording_block(struct ti_wording *t, enum ti_deal deal, int64_t cells, int64_t each,
                      int axis)
{
#define DEAL_TEXT(name, text) text,
    static const char *const texts[] = {TI_DEALS(DEAL_TEXT)};
    char x = "xyzw"[axis];

    if (each)
        ti_wording_add(t, "%s(%" PRId64 " * p%c %c %" PRId64 ", p%c, %c)", texts[deal], each, x,
                       cells < 0 ? '-' : '+', cells < 0 ? -cells : cells, x, x);
    else
        ti_wording_add(t, "%s(%" PRId64 ", p%c, %c)", texts[deal], cells, x, x);
}

static void add_padded(struct ti_wording *t, int64_t cells, int axis, int64_t pad)
{
    if (pad)
        ti_wording_add(t, "(%" PRId64 " + ", pad);
    ti_wording_block(t, TI_DEAL_FIRST, cells, 0, axis);
    ti_wording_add(t, pad ? ")" : "");
}

/* A constant and blocks; where parts remain as large, the constant is in the block. */
static void add_rule_block(struct ti_wording *t, const struct ti_rule *r)
{
    int64_t each = ti_rule_each(r);
    bool has_constant = r->c0 && !each;

    if (has_constant)
        ti_wording_add(t, "%" PRId64, r->c0);
    add_factor(t, r->c[0], !has_constant);
    ti_wording_block(t, r->deal, r->cells, each, r->axis);
}

const char *ti_rule_text(const struct ti_rule *r, char *buf, size_t room)
{
    struct ti_wording t = {buf, room};
    char axis = "xyzw"[r->axis];

    if (room)
        *buf = '\0';
    switch (r->kind) {
    case TI_RULE_SUM:
        add_sum(&t, r);
        break;
    case TI_RULE_PARTNER:
        ti_wording_add(&t, "%c xor ", axis);
        add_sum(&t, r);
        break;
    case TI_RULE_BLOCK:
        add_rule_block(&t, r);
        break;
    case TI_RULE_PRODUCT:
        add_factor(&t, r->c[0], true);
        add_padded(&t, r->cells, r->axis, r->pad[0]);
        ti_wording_add(&t, " * ");
        add_padded(&t, r->cells2, r->axis2, r->pad[1]);
        break;
    }
    return buf;
}
