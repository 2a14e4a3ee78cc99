#include "replay-bridge/platform/hosts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/write.h"
#include "replay-bridge/platform/platform.h"

#define SLOTS_MAX (1 << 24)

static void add(struct ti_hosts *hosts, const char *name, size_t bytes, int64_t slots,
                int64_t cores, int line)
{
    struct ti_host *h;
    size_t none = 0;

    hosts->list = ti_grow(hosts->list, &hosts->cap, hosts->n + 1, sizeof *hosts->list);
    h = &hosts->list[hosts->n++];
    h->name = ti_grow(NULL, &none, bytes + 1, 1);
    memcpy(h->name, name, bytes);
    h->name[bytes] = '\0';
    h->slots = slots;
    h->cores = cores;
    h->line = line;
}

void ti_hosts_free(struct ti_hosts *hosts)
{
    for (size_t i = 0; i < hosts->n; i++)
        free(hosts->list[i].name);
    free(hosts->list);
    *hosts = (struct ti_hosts){0};
}

int64_t ti_hosts_slots(const struct ti_hosts *hosts)
{
    int64_t slots = 0;

    for (size_t i = 0; i < hosts->n; i++)
        slots += hosts->list[i].slots;
    return slots;
}

int64_t ti_hosts_cores_a_rank(const struct ti_hosts *hosts)
{
    int64_t least = hosts->n ? INT64_MAX : 0;

    for (size_t i = 0; i < hosts->n; i++)
        if (hosts->list[i].cores / hosts->list[i].slots < least)
            least = hosts->list[i].cores / hosts->list[i].slots;
    return least;
}

void ti_hosts_add(struct ti_hosts *hosts, const char *name, int64_t cores)
{
    add(hosts, name, strlen(name), 1, cores, 0);
}

void ti_hosts_generated(struct ti_hosts *hosts, int64_t n, int64_t cores)
{
    char name[64];

    for (int64_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, TI_HOST_PREFIX "%lld", (long long)i);
        ti_hosts_add(hosts, name, cores);
    }
}

/* ---- a hostfile ---- */

static ti_status read_line(struct ti_hosts *hosts, const char *path, int number, char *line,
                           struct ti_err *err)
{
    char *colon, *end;
    int64_t slots = 1;

    line[strcspn(line, "#\n")] = '\0';
    while (isspace((unsigned char)*line))
        line++;
    end = line + strlen(line);
    while (end > line && isspace((unsigned char)end[-1]))
        *--end = '\0';
    if (!*line)
        return TI_OK;
    colon = strchr(line, ':');
    if (colon) {
        *colon = '\0';
        if (ti_parse_int(colon + 1, "slots", 1, SLOTS_MAX, &slots, NULL) != TI_OK)
            return ti_err_set(err, TI_ERR_INPUT, "%s:%d: slots must be 1 or more, not '%s'", path,
                              number, colon + 1);
    }
    if (!*line || strpbrk(line, " \t"))
        return ti_err_set(err, TI_ERR_INPUT, "%s:%d: '%s' is no host name", path, number, line);
    add(hosts, line, strlen(line), slots, 0, number);
    return TI_OK;
}

ti_status ti_hosts_read(const char *path, struct ti_hosts *hosts, struct ti_err *err)
{
    return ti_hosts_read_file(path, "hostfile", hosts, err);
}

ti_status ti_hosts_read_file(const char *path, const char *what, struct ti_hosts *hosts,
                             struct ti_err *err)
{
    bool standard = !strcmp(path, "-");
    FILE *f = standard ? stdin : fopen(path, "re");
    char *line = NULL;
    size_t cap = 0;
    ti_status st = TI_OK;

    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot read the %s '%s'", what, path);
    for (int number = 1; !st && getline(&line, &cap, f) >= 0; number++)
        st = read_line(hosts, path, number, line, err);
    if (!st && ferror(f))
        st = ti_err_errno(err, TI_ERR_IO, "cannot read the %s '%s'", what, path);
    else if (!st && !hosts->n)
        st = ti_err_set(err, TI_ERR_INPUT, "the %s '%s' names no host", what, path);
    free(line);
    if (!standard)
        fclose(f);
    return st;
}

/* ---- a platform ---- */

struct span {
    const char *at;
    size_t n;
};

/* Value of an attribute in a tag's text (without '<' and '>'). */
static struct span attribute(struct span tag, const char *name)
{
    const char *p = tag.at, *end = tag.at + tag.n;

    while (p < end && !isspace((unsigned char)*p))
        p++;
    while (p < end) {
        struct span key, value;
        char quote;

        while (p < end && isspace((unsigned char)*p))
            p++;
        key.at = p;
        while (p < end && *p != '=' && !isspace((unsigned char)*p))
            p++;
        key.n = (size_t)(p - key.at);
        while (p < end && *p != '"' && *p != '\'')
            p++;
        if (p == end)
            break;
        quote = *p++;
        value.at = p;
        while (p < end && *p != quote)
            p++;
        value.n = (size_t)(p - value.at);
        if (p < end)
            p++;
        if (key.n == strlen(name) && !strncmp(key.at, name, key.n))
            return value;
    }
    return (struct span){NULL, 0};
}

/* Adds a host PREFIX NUMBER SUFFIX for each number of a radical such as "0-15,20". */
static void add_radical(struct ti_hosts *hosts, struct span prefix, struct span radical,
                        struct span suffix, int64_t cores)
{
    const char *p = radical.at, *end = radical.at + radical.n;

    while (p < end) {
        char name[512], *q;
        long long from = strtoll(p, &q, 10), to = from;

        if (q == p || q > end)
            return;
        p = q;
        if (p < end && *p == '-') {
            to = strtoll(p + 1, &q, 10);
            p = q;
        }
        if (to - from > SLOTS_MAX)
            return;
        for (; from <= to; from++) {
            int n = snprintf(name, sizeof name, "%.*s%lld%.*s", (int)prefix.n,
                             prefix.at ? prefix.at : "", from, (int)suffix.n,
                             suffix.at ? suffix.at : "");

            if (n < (int)sizeof name)
                add(hosts, name, (size_t)n, 1, cores, 0);
        }
        while (p < end && (*p == ',' || isspace((unsigned char)*p)))
            p++;
    }
}

/* Number of cores of a host; SimGrid's default is 1. */
static int64_t cores_of(struct span tag)
{
    struct span core = attribute(tag, "core");
    char text[24];
    int64_t cores;

    if (!core.at)
        return 1;
    snprintf(text, sizeof text, "%.*s", (int)(core.n < sizeof text ? core.n : sizeof text - 1),
             core.at);
    return ti_parse_int(text, "core", 1, SLOTS_MAX, &cores, NULL) == TI_OK ? cores : 0;
}

static bool is_tag(struct span tag, const char *name)
{
    size_t n = strlen(name);

    return tag.n > n && !strncmp(tag.at, name, n) && isspace((unsigned char)tag.at[n]);
}

ti_status ti_hosts_in_platform(const char *path, struct ti_hosts *hosts, bool *sure,
                               struct ti_err *err)
{
    char *text = ti_read_file(path, SIZE_MAX, NULL);

    if (!text)
        return ti_err_errno(err, TI_ERR_IO, "cannot read the platform '%s'", path);
    *sure = strstr(text, "<platform") != NULL;
    for (const char *p = text; (p = strchr(p, '<'));) {
        struct span tag;
        const char *close;

        if (!strncmp(p, "<!--", 4)) {
            p = strstr(p, "-->");
            if (!p)
                break;
            continue;
        }
        close = strchr(++p, '>');
        if (!close)
            break;
        tag = (struct span){p, (size_t)(close - p)};
        if (is_tag(tag, "host")) {
            struct span id = attribute(tag, "id");

            if (id.at)
                add(hosts, id.at, id.n, 1, cores_of(tag), 0);
        } else if (is_tag(tag, "cluster") || is_tag(tag, "cabinet")) {
            add_radical(hosts, attribute(tag, "prefix"), attribute(tag, "radical"),
                        attribute(tag, "suffix"), cores_of(tag));
        } else if (is_tag(tag, "peer") || is_tag(tag, "include")) {
            *sure = false;
        }
        p = close;
    }
    free(text);
    return TI_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct ti_host *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* Several lines of the same host share its cores in proportion to their slots. */
static void share_cores(struct ti_hosts *hosts)
{
    size_t none = 0;
    struct ti_host **sorted = ti_grow(NULL, &none, hosts->n, sizeof *sorted);

    for (size_t i = 0; i < hosts->n; i++)
        sorted[i] = &hosts->list[i];
    qsort(sorted, hosts->n, sizeof *sorted, by_name);
    for (size_t from = 0, to; from < hosts->n; from = to) {
        int64_t slots = 0;

        for (to = from; to < hosts->n && !strcmp(sorted[to]->name, sorted[from]->name); to++)
            slots += sorted[to]->slots;
        for (size_t i = from; i < to; i++)
            sorted[i]->cores = sorted[i]->cores / slots * sorted[i]->slots;
    }
    free(sorted);
}

ti_status ti_hosts_known(struct ti_hosts *used, const struct ti_hosts *known, const char *path,
                         struct ti_err *err)
{
    size_t none = 0;
    const struct ti_host **sorted = ti_grow(NULL, &none, known->n, sizeof *sorted);
    ti_status st = TI_OK;

    for (size_t i = 0; i < known->n; i++)
        sorted[i] = &known->list[i];
    qsort(sorted, known->n, sizeof *sorted, by_name);
    for (size_t i = 0; i < used->n && !st; i++) {
        struct ti_host *host = &used->list[i];
        const struct ti_host *key = host, *const * found;

        found = bsearch(&key, sorted, known->n, sizeof *sorted, by_name);
        if (found) {
            host->cores = (*found)->cores;
            host->site = (*found)->site;
        } else {
            st = ti_err_set(err, TI_ERR_INPUT, "%s:%d: the platform has no host '%s'", path,
                            host->line, host->name);
        }
    }
    if (!st)
        share_cores(used);
    if (st && known->n)
        ti_err_hint(err, "the first of its %zu hosts is '%s'", known->n, known->list[0].name);
    free(sorted);
    return st;
}

ti_status ti_hosts_enough(const struct ti_hosts *hosts, int64_t np, struct ti_err *err)
{
    bool from_file = hosts->n && hosts->list[0].line;
    int64_t slots = ti_hosts_slots(hosts);

    if (slots >= np)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT, "%lld %s for %lld ranks", (long long)slots,
               from_file                   ? "slots in the hostfile"
               : slots > (int64_t)hosts->n ? "slots on the hosts of the platform"
                                           : "hosts in the platform",
               (long long)np);
    ti_err_hint(
        err, from_file ? "write NAME:SLOTS for a host that ranks shall share"
                       : "ranks share hosts only with --ranks-per-host N, or a --hostfile of lines "
                         "NAME:SLOTS");
    return TI_ERR_INPUT;
}
