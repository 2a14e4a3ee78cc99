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

static void add_block(struct ti_wording *t, int64_t cells, int axis, int64_t pad)
{
    char x = "xyzw"[axis];

    if (pad)
        ti_wording_add(t, "(%" PRId64 " + ", pad);
    ti_wording_add(t, "block(%" PRId64 ", p%c, %c)%s", cells, x, x, pad ? ")" : "");
}

/* A constant and blocks.  Where parts remain as large, the constant is that of so many cells each.
 */
static void add_padded_block(struct ti_wording *t, const struct ti_rule *r)
{
    int64_t each = r->c0 % r->c[0] ? 0 : r->c0 / r->c[0];
    char x = "xyzw"[r->axis];

    if (each > 0 && r->cells < each) {
        add_factor(t, r->c[0], true);
        ti_wording_add(t, "block(%" PRId64 " * p%c %c %" PRId64 ", p%c, %c)", each, x,
                       r->cells < 0 ? '-' : '+', r->cells < 0 ? -r->cells : r->cells, x, x);
        return;
    }
    if (r->c0)
        ti_wording_add(t, "%" PRId64, r->c0);
    add_factor(t, r->c[0], r->c0 == 0);
    add_block(t, r->cells, r->axis, 0);
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
        add_padded_block(&t, r);
        break;
    case TI_RULE_PRODUCT:
        add_factor(&t, r->c[0], true);
        add_block(&t, r->cells, r->axis, r->pad[0]);
        ti_wording_add(&t, " * ");
        add_block(&t, r->cells2, r->axis2, r->pad[1]);
        break;
    }
    return buf;
}
