#include "common/units.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"

struct unit {
    const char *text;
    double value;
};

static const struct unit speeds[] = {{"f", 1},     {"kf", 1e3},  {"Mf", 1e6},  {"Gf", 1e9},
                                     {"Tf", 1e12}, {"Pf", 1e15}, {"Ef", 1e18}, {NULL, 0}};
static const struct unit bandwidths[] = {
    {"Bps", 1},      {"kBps", 1e3},     {"MBps", 1e6},     {"GBps", 1e9},     {"TBps", 1e12},
    {"KiBps", 1024}, {"MiBps", 0x1p20}, {"GiBps", 0x1p30}, {"TiBps", 0x1p40}, {"bps", 0.125},
    {"kbps", 125},   {"Mbps", 125e3},   {"Gbps", 125e6},   {"Tbps", 125e9},   {NULL, 0}};
static const struct unit latencies[] = {{"s", 1},     {"ms", 1e-3},  {"us", 1e-6},
                                        {"ns", 1e-9}, {"ps", 1e-12}, {NULL, 0}};
static const struct unit shares[] = {{"%", 1e-2}, {NULL, 0}};

/* The unit after the number; NULL if there is none of this kind. */
static const struct unit *find_unit(const char *text, enum ti_unit kind, double *number)
{
    const struct unit *u = kind == TI_UNIT_SPEED       ? speeds
                           : kind == TI_UNIT_BANDWIDTH ? bandwidths
                           : kind == TI_UNIT_LATENCY   ? latencies
                                                       : shares;
    char *end;

    *number = strtod(text, &end);
    for (; u->text; u++)
        if (!strcmp(u->text, end))
            return u;
    return NULL;
}

ti_status ti_unit_check(const char *text, enum ti_unit kind, const char *what, struct ti_err *err)
{
    bool decimal = text[0] >= '0' && text[0] <= '9' && strncmp(text, "0x", 2) != 0;
    double number;

    errno = 0;
    if (decimal && find_unit(text, kind, &number) && !errno &&
        (number > 0 || kind == TI_UNIT_LATENCY))
        return TI_OK;
    return ti_err_set(err, TI_ERR_USAGE, "%s: '%s' is not %s", what, text,
                      kind == TI_UNIT_SPEED       ? "a speed such as 8Gf"
                      : kind == TI_UNIT_BANDWIDTH ? "a bandwidth such as 125MBps or 10Gbps"
                      : kind == TI_UNIT_LATENCY   ? "a time such as 50us"
                                                  : "a share such as 0.1%");
}

double ti_unit_value(const char *text, enum ti_unit kind)
{
    double number;
    const struct unit *u = find_unit(text, kind, &number);

    if (!u)
        TI_BUG("a unit that was not checked");
    return number * u->value;
}

ti_status ti_unit_list(const char *text, enum ti_unit kind, const char *what, int most, double *out,
                       int *n, struct ti_err *err)
{
    ti_status st = TI_OK;
    char one[64];

    *n = 0;
    for (bool more = true; !st && more; text++) {
        size_t length = strcspn(text, ",");

        if (*n == most || length >= sizeof one)
            return ti_err_set(err, TI_ERR_USAGE, "%s: more than %d values, or one is too long",
                              what, most);
        memcpy(one, text, length);
        one[length] = '\0';
        st = ti_unit_check(one, kind, what, err);
        if (!st)
            out[(*n)++] = ti_unit_value(one, kind);
        text += length;
        more = *text == ',';
    }
    return st;
}

/* ---- for people ---- */

/* Units in ascending order, as `speeds` are. */
static const struct unit written_bandwidths[] = {{"B/s", 1},     {"kB/s", 1e3},  {"MB/s", 1e6},
                                                 {"GB/s", 1e9},  {"TB/s", 1e12}, {"PB/s", 1e15},
                                                 {"EB/s", 1e18}, {NULL, 0}};
static const struct unit written_latencies[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};
static const struct unit written_sizes[] = {{"B", 1},     {"kB", 1e3},  {"MB", 1e6},  {"GB", 1e9},
                                            {"TB", 1e12}, {"PB", 1e15}, {"EB", 1e18}, {NULL, 0}};
static const struct unit written_numbers[] = {{"", 1},     {"k", 1e3},  {"M", 1e6},  {"G", 1e9},
                                              {"T", 1e12}, {"P", 1e15}, {"E", 1e18}, {NULL, 0}};

static const struct unit *written_units(enum ti_unit kind)
{
    switch (kind) {
    case TI_UNIT_SPEED:
        return speeds;
    case TI_UNIT_BANDWIDTH:
        return written_bandwidths;
    case TI_UNIT_LATENCY:
        return written_latencies;
    case TI_UNIT_SIZE:
        return written_sizes;
    case TI_UNIT_SHARE:
        return shares;
    case TI_UNIT_NUMBER:
        break;
    }
    return written_numbers;
}

char *ti_unit_format(double value, enum ti_unit kind, char *buf, int buf_bytes)
{
    const struct unit *u = written_units(kind);
    char digits[32];
    double scaled;

    while (u[1].text && value >= 999.5 * u->value)
        u++;
    scaled = value / u->value;
    snprintf(digits, sizeof digits, "%.4g", scaled);
    if (fabs(strtod(digits, NULL) - scaled) > 1e-9 * scaled)
        snprintf(digits, sizeof digits, scaled < 999.5 ? "%.3g" : "%.0f", scaled);
    snprintf(buf, (size_t)buf_bytes, "%s%s%s", digits, *u->text ? " " : "", u->text);
    return buf;
}

char *ti_unit_format_text(const char *text, enum ti_unit kind, char *buf, int buf_bytes)
{
    return ti_unit_format(ti_unit_value(text, kind), kind, buf, buf_bytes);
}

char *ti_format_size(int64_t bytes, char *buf, int buf_bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double v = (double)bytes;
    unsigned u = 0;

    while (v >= 1024 && u + 1 < sizeof units / sizeof *units) {
        v /= 1024;
        u++;
    }
    snprintf(buf, (size_t)buf_bytes, u ? "%.1f %s" : "%.0f %s", v, units[u]);
    return buf;
}

char *ti_format_count(uint64_t n, char *buf, int buf_bytes)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), o = 0;

    for (int i = 0; i < len && o < buf_bytes - 1; i++) {
        if (i && (len - i) % 3 == 0 && o < buf_bytes - 1)
            buf[o++] = ',';
        if (o < buf_bytes - 1)
            buf[o++] = digits[i];
    }
    buf[o] = '\0';
    return buf;
}
