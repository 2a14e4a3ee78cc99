#include "event/quality.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ti_quality_parse(const char *text, struct ti_quality *out)
{
    char *end;
    double percent;

    if (strcmp(text, "exact") == 0) {
        *out = (struct ti_quality){TI_EXACT, 0};
        return true;
    }
    if (strcmp(text, "stats") == 0) {
        *out = (struct ti_quality){TI_STATISTICS, 0};
        return true;
    }
    if (strncmp(text, "bound:", 6) != 0 || text[6] < '0' || text[6] > '9')
        return false;
    percent = strtod(text + 6, &end);
    if (strcmp(end, "%") != 0 || percent < 0.0001 || percent > 50)
        return false;
    *out = (struct ti_quality){TI_BOUNDED, (uint32_t)(percent * 1e4 + 0.5)};
    return true;
}

static ti_status parse(const char *option, const char *text, struct ti_quality *out,
                       struct ti_err *err)
{
    if (!text || ti_quality_parse(text, out))
        return TI_OK;
    return ti_err_set(err, TI_ERR_USAGE,
                      "%s is exact, stats, or bound:N%% with N from 0.0001 to 50, not '%s'", option,
                      text);
}

ti_status ti_qualities_parse(const char *volumes, const char *extras, struct ti_qualities *out,
                             struct ti_err *err)
{
    ti_status st;

    *out = (struct ti_qualities){.volumes.kind = TI_EXACT};
    st = parse("--volumes", volumes, &out->volumes, err);
    return st == TI_OK ? parse("--extras", extras, &out->extras, err) : st;
}

void ti_quality_text(const struct ti_quality *q, char *buf, size_t bytes)
{
    if (q->kind == TI_BOUNDED)
        snprintf(buf, bytes, "bound:%g%%", q->ppm / 1e4);
    else
        snprintf(buf, bytes, "%s", q->kind == TI_EXACT ? "exact" : "stats");
}

uint64_t ti_quality_slack(const struct ti_quality *q, uint64_t exact)
{
    return exact / 1000000 * q->ppm + exact % 1000000 * q->ppm / 1000000;
}

bool ti_quality_allows(const struct ti_quality *q, uint64_t exact, uint64_t value)
{
    uint64_t distance = value > exact ? value - exact : exact - value;

    return q->kind == TI_STATISTICS ||
           distance <= (q->kind == TI_EXACT ? 0 : ti_quality_slack(q, exact));
}
