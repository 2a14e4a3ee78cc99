#include "merged/numbers.h"

/* Parameters were checked before. */
static uint64_t get(const uint8_t **p)
{
    uint64_t v = 0;

    ti_get_varint(p, *p + TI_VARINT_MAX, &v);
    return v;
}

static uint64_t step_at(const uint8_t *p, uint64_t at)
{
    uint64_t n = get(&p), value = 0;

    while (n--) {
        uint64_t count = get(&p), difference = (uint64_t)ti_unzigzag(get(&p));

        if (at < count)
            return value + (at + 1) * difference;
        value += count * difference;
        at -= count;
    }
    TI_BUG("a table is shorter than it was checked to be");
}

static uint64_t table_at(const uint8_t *p, uint32_t rank)
{
    uint64_t q = get(&p), modulus = get(&p), at = rank / q;

    return step_at(p, modulus ? at % modulus : at);
}

int64_t ti__column_at(enum ti_column_kind kind, const uint8_t *p, uint32_t rank, uint32_t member)
{
    uint64_t a;

    switch (kind) {
    case TI_COLUMN_CONSTANT:
        return ti_unzigzag(get(&p));
    case TI_COLUMN_LINEAR:
        a = (uint64_t)ti_unzigzag(get(&p));
        return (int64_t)(a + (uint64_t)ti_unzigzag(get(&p)) * rank);
    case TI_COLUMN_XOR:
        return (int64_t)((rank ^ get(&p)) - rank);
    case TI_COLUMN_SERIES:
        return (int64_t)step_at(p, member);
    case TI_COLUMN_TABLE:
        return (int64_t)table_at(p, rank);
    case TI_COLUMN_PAGED:
    case TI_COLUMN_PRIVATE:
        break;
    }
    TI_BUG("a column without a function");
}

/* ----------------------------------------------------------------- check -- */

static bool follows(const struct ti_column_rule *rule, __int128 value)
{
    return !rule->blobs || (value >= 0 && value < rule->below);
}

/* Steps of exactly `length` elements.  Between its ends a step is monotonic. */
static bool check_steps(const uint8_t **p, const uint8_t *end, uint64_t length,
                        const struct ti_column_rule *rule)
{
    uint64_t n, count, zigzag;
    __int128 value = 0;

    if (!ti_get_varint(p, end, &n))
        return false;
    while (n--) {
        __int128 difference;

        if (!ti_get_varint(p, end, &count) || !ti_get_varint(p, end, &zigzag) || count == 0 ||
            count > length)
            return false;
        length -= count;
        difference = ti_unzigzag(zigzag);
        if (!rule->blobs)
            continue;
        if (!follows(rule, value + difference) || !follows(rule, value + count * difference))
            return false;
        value += count * difference;
    }
    return length == 0;
}

static bool check_table(const uint8_t **p, const uint8_t *end, const struct ti_members *members,
                        const struct ti_column_rule *rule)
{
    uint64_t q, modulus;

    if (!ti_get_varint(p, end, &q) || !ti_get_varint(p, end, &modulus) || q == 0)
        return false;
    return check_steps(p, end, modulus ? modulus : members->last / q + 1, rule);
}

static bool check_linear(const uint8_t **p, const uint8_t *end, const struct ti_members *members,
                         const struct ti_column_rule *rule)
{
    uint64_t a, b;
    __int128 start, slope;

    if (!ti_get_varint(p, end, &a) || !ti_get_varint(p, end, &b))
        return false;
    start = ti_unzigzag(a);
    slope = ti_unzigzag(b);
    return follows(rule, start + slope * members->first) &&
           follows(rule, start + slope * members->last);
}

bool ti__column_check(enum ti_column_kind kind, const uint8_t **p, const uint8_t *end,
                      const struct ti_members *members, const struct ti_column_rule *rule)
{
    uint64_t v;

    switch (kind) {
    case TI_COLUMN_CONSTANT:
        return ti_get_varint(p, end, &v) && follows(rule, ti_unzigzag(v));
    case TI_COLUMN_LINEAR:
        return check_linear(p, end, members, rule);
    case TI_COLUMN_XOR:
        return !rule->blobs && ti_get_varint(p, end, &v);
    case TI_COLUMN_SERIES:
        return check_steps(p, end, members->n, rule);
    case TI_COLUMN_TABLE:
        return check_table(p, end, members, rule);
    case TI_COLUMN_PAGED:
        return true;
    case TI_COLUMN_PRIVATE:
        return rule->blobs;
    }
    return false;
}

/* ---------------------------------------------------------------- values -- */

enum { DIFFERENCES, FIXED };

static size_t varint_bytes(uint64_t v)
{
    size_t n = 1;

    while (v >= 0x80) {
        v >>= 7;
        n++;
    }
    return n;
}

static uint64_t difference(const int64_t *value, size_t i)
{
    return ti_zigzag((int64_t)((uint64_t)value[i] - (i ? (uint64_t)value[i - 1] : 0)));
}

size_t ti__values_bytes(const int64_t *value, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        bytes += varint_bytes(difference(value, i));
    return bytes;
}

void ti__values_put(const int64_t *value, size_t n, struct ti_buffer *out)
{
    uint8_t mode = ti__values_bytes(value, n) <= 8 * n ? DIFFERENCES : FIXED;

    ti_buffer_put(out, &mode, 1);
    for (size_t i = 0; i < n; i++) {
        uint8_t bytes[8];

        if (mode == DIFFERENCES) {
            ti_buffer_varint(out, difference(value, i));
            continue;
        }
        ti_put_u64(bytes, (uint64_t)value[i]);
        ti_buffer_put(out, bytes, sizeof bytes);
    }
}

bool ti__values_get(const uint8_t **p, const uint8_t *end, int64_t *value, size_t n)
{
    uint64_t v = 0, zigzag;
    uint8_t mode;

    if (*p == end)
        return false;
    mode = *(*p)++;
    if (mode > FIXED || (size_t)(end - *p) < (mode == FIXED ? 8 * n : n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (mode == FIXED) {
            v = ti_get_u64(*p);
            *p += 8;
        } else if (ti_get_varint(p, end, &zigzag)) {
            v += (uint64_t)ti_unzigzag(zigzag);
        } else {
            return false;
        }
        value[i] = (int64_t)v;
    }
    return true;
}
