#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/hostlist.h"
#include "common/units.h"
#include "formats/inifile.h"
#include "formats/sites.h"
#include "formats/trace.h"

#define FINDINGS_SHOWN 20

struct reading {
    struct ti_ini *ini;
    struct ti_sites *out;
    const struct ti_ini_section **site;    /* sections of the sites, in the order of out->site */
    const struct ti_ini_section **cluster; /* in the order of the file */
    int nclusters;
    const struct ti_ini_section *defaults, *target;
    bool failed; /* no memory */
};

/* A cluster while it is read. */
struct draft {
    struct reading *r;
    struct ti_cluster c; /* c.site is -1 until it is known */
    const struct ti_ini_key *nodes, *cores, *cpus, *memory, *reserve, *family, *isa;
};

/* ------------------------------------------------------------------ keys -- */

#define WORD(name) #name,
static const char *const site_keys[] = {TI_SITE_KEYS(WORD) NULL};
static const char *const cluster_keys[] = {TI_CLUSTER_KEYS(WORD) NULL};
static const char *const target_keys[] = {TI_TARGET_KEYS(WORD) NULL};
#undef WORD
static const char *const kinds[] = {"defaults", "site", "cluster", "target", NULL};

/* Edit distance of `a` and `b`, exact if it is small; swapped neighbours count as one edit. */
static int distance(const char *a, const char *b)
{
    enum { MOST = 24 };
    int d[MOST + 1][MOST + 1];
    int n = (int)strlen(a), m = (int)strlen(b);

    if (n > MOST || m > MOST)
        return MOST;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            int least, differ;

            if (!i || !j) {
                d[i][j] = i + j;
                continue;
            }
            differ = tolower((unsigned char)a[i - 1]) != b[j - 1];
            least = d[i - 1][j - 1] + differ;
            if (d[i - 1][j] + 1 < least)
                least = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < least)
                least = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < least)
                least = d[i - 2][j - 2] + 1;
            d[i][j] = least;
        }
    return d[n][m];
}

/* Names that other programs have for these keys. */
static const struct {
    const char *word, *key;
} other_words[] = {
    {"hosts", "nodes"},         {"nodelist", "nodes"},      {"mem", "memory"},
    {"ram", "memory"},          {"slots", "cores"},         {"sockets", "cpus"},
    {"model", "cpu"},           {"arch", "family"},         {"proxyjump", "gateway"},
    {"jump", "gateway"},        {"interface", "network"},   {"interfaces", "network"},
    {"tracedir", "trace_dir"},  {"trace-dir", "trace_dir"}, {"environment", "env"},
    {"binary", "program"},      {"clock", "speed"},         {"flops", "speed"},
    {"bw", "bandwidth"},        {"lat", "latency"},         {"wan_bw", "wan_bandwidth"},
    {"wan_lat", "wan_latency"},
};

static const char *nearest(const char *word, const char *const *known)
{
    const char *best = NULL;
    int least = 3;

    for (size_t i = 0; i < sizeof other_words / sizeof *other_words; i++)
        for (int k = 0; strcasecmp(word, other_words[i].word) == 0 && known[k]; k++)
            if (strcmp(other_words[i].key, known[k]) == 0)
                return known[k];
    for (int k = 0; known[k]; k++) {
        int d = distance(word, known[k]), len = (int)strlen(known[k]);

        if (d < least && d * 2 <= len) {
            least = d;
            best = known[k];
        }
    }
    return best;
}

static bool is_in(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

static bool is_kind(const char *word)
{
    return is_in(word, kinds);
}

static bool is_key(const char *word)
{
    return is_in(word, site_keys) || is_in(word, cluster_keys) || is_in(word, target_keys);
}

static bool may_continue(const char *key)
{
    return strcmp(key, "nodes") == 0 || strcmp(key, "env") == 0;
}

static bool holds_equals(const char *key)
{
    return strcmp(key, "env") == 0;
}

static const char *section_error(const char *kind, const char *name)
{
    static char text[160];
    char shown[64];

    if (!is_kind(kind)) {
        const char *meant = nearest(kind, kinds);

        snprintf(text, sizeof text, "unknown section '[%s]'%s%s%s", ti_ini_show(kind, shown),
                 meant ? ", did you mean '"
                       : "; there are [defaults], [site NAME], [cluster NAME] and "
                         "[target]",
                 meant ? meant : "", meant ? "'?" : "");
        return text;
    }
    if (strcmp(kind, "defaults") == 0)
        return *name ? "[defaults] takes no name" : NULL;
    if (strcmp(kind, "target") == 0)
        return *name ? "[target] takes no name" : NULL;
    if (!*name)
        return strcmp(kind, "site") == 0 ? "a site needs a name: [site NAME]"
                                         : "a cluster needs a name: [cluster NAME]";
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
            return strchr("'\"", *p) ? "a name has no quotes"
                                     : "a name is of letters, digits, '.', '_' and '-'";
    return NULL;
}

static const struct ti_ini_grammar grammar = {is_kind, is_key, may_continue, holds_equals,
                                              section_error};

static const struct ti_ini_key *find_key(const struct ti_ini_section *s, const char *name)
{
    for (int k = 0; s && k < s->nkeys; k++)
        if (strcmp(s->key[k].name, name) == 0)
            return &s->key[k];
    return NULL;
}

/* Report keys that are unknown or repeated. */
static void check_keys(struct reading *r, const struct ti_ini_section *s, const char *const *known)
{
    char shown[64];

    for (int k = 0; k < s->nkeys; k++) {
        const struct ti_ini_key *key = &s->key[k], *before = find_key(s, key->name);

        if (!is_in(key->name, known)) {
            const char *meant = nearest(key->name, known);

            if (is_key(key->name))
                ti_ini_error(r->ini, key->at, "'%s' is a key of [%s], not of [%s%s]", key->name,
                             is_in(key->name, site_keys)      ? "site NAME"
                             : is_in(key->name, cluster_keys) ? "cluster NAME"
                                                              : "target",
                             s->kind, s->name[0] ? " NAME" : "");
            else
                ti_ini_error(r->ini, key->at, "unknown key '%s'%s%s%s",
                             ti_ini_show(key->name, shown), meant ? ", did you mean '" : "",
                             meant ? meant : "", meant ? "'?" : "");
        } else if (before < key && strcmp(key->name, "env") != 0) {
            ti_ini_error(r->ini, key->at, "'%s' was given before, in line %d", key->name,
                         before->at.line);
        }
    }
}

/* ---------------------------------------------------------------- values -- */

static void wrong(struct draft *d, const struct ti_ini_key *k, const char *what)
{
    ti_ini_error(d->r->ini, ti_ini_at(k, 0), "%s", what);
}

static void set(struct reading *r, char **field, const char *value)
{
    free(*field);
    *field = strdup(value);
    r->failed |= !*field;
}

static void take_int(struct draft *d, const struct ti_ini_key *k, int64_t most, int *out)
{
    struct ti_err err;
    int64_t v;

    if (ti_parse_int(k->value, k->name, 1, most, &v, &err) == TI_OK)
        *out = (int)v;
    else
        wrong(d, k, err.text);
}

static bool take_size(struct draft *d, const struct ti_ini_key *k, int64_t *out)
{
    char text[64], *unit;
    struct ti_err err;
    size_t digits = strspn(k->value, "0123456789.");
    size_t blanks = strspn(k->value + digits, " \t");

    /* read "16 GiB" as "16GiB" */
    snprintf(text, sizeof text, "%s", k->value);
    unit = k->value + digits + blanks;
    if (digits && blanks && digits < sizeof text && strlen(unit) < sizeof text - digits)
        snprintf(text + digits, sizeof text - digits, "%s", unit);
    if (ti_parse_size(text, k->name, out, &err) != TI_OK) {
        char shown[64];

        ti_ini_error(d->r->ini, ti_ini_at(k, 0),
                     "%s must be a size such as 512M or 16GiB, not '%s'", k->name,
                     ti_ini_show(k->value, shown));
        return false;
    }
    if (*out <= TI_SITES_MEMORY_MAX)
        return true;
    wrong(d, k, "more than 1024 TiB");
    return false;
}

static void take_site(struct draft *d, const struct ti_ini_key *k)
{
    struct ti_sites *s = d->r->out;
    const char *meant = NULL;
    char shown[64];
    int least = 3;

    for (int i = 0; i < s->nsites; i++) {
        int away = distance(k->value, s->site[i].name);

        if (strcmp(s->site[i].name, k->value) == 0) {
            d->c.site = i;
            return;
        }
        if (away < least) {
            least = away;
            meant = s->site[i].name;
        }
    }
    ti_ini_error(d->r->ini, ti_ini_at(k, 0), "there is no [site %s]%s%s%s",
                 ti_ini_show(k->value, shown), meant ? ", did you mean '" : "", meant ? meant : "",
                 meant ? "'?" : "");
    d->c.site = -2;
}

static void take_nodes(struct draft *d, const struct ti_ini_key *k)
{
    d->nodes = k;
}

static void take_cores(struct draft *d, const struct ti_ini_key *k)
{
    d->cores = k;
    take_int(d, k, TI_SITES_CORES_MAX, &d->c.cores);
}

static void take_cpus(struct draft *d, const struct ti_ini_key *k)
{
    d->cpus = k;
    take_int(d, k, TI_SITES_CORES_MAX, &d->c.cpus);
}

static void take_memory(struct draft *d, const struct ti_ini_key *k)
{
    int64_t v;

    d->memory = k;
    if (!take_size(d, k, &v))
        return;
    if (v < 1 << 20)
        ti_ini_error(d->r->ini, ti_ini_at(k, 0), "memory of %" PRId64 " bytes: a unit is missing",
                     v);
    else
        d->c.memory_bytes = v;
}

static void take_reserve(struct draft *d, const struct ti_ini_key *k)
{
    int64_t v = 0;

    d->reserve = k;
    if (strcmp(k->value, "0") == 0 || take_size(d, k, &v))
        d->c.reserve_bytes = v;
}

static void take_cpu(struct draft *d, const struct ti_ini_key *k)
{
    set(d->r, &d->c.cpu, k->value);
}

static void take_family(struct draft *d, const struct ti_ini_key *k)
{
    static const struct {
        const char *word, *family;
    } others[] = {{"amd64", "x86_64"},  {"x86", "x86_64"},     {"i386", "x86_64"},
                  {"intel", "x86_64"},  {"amd", "x86_64"},     {"arm", "aarch64"},
                  {"power", "ppc64le"}, {"power8", "ppc64le"}, {"power9", "ppc64le"},
                  {"x86-64", "x86_64"}, {"x64", "x86_64"},     {"arm64", "aarch64"},
                  {"armv8", "aarch64"}, {"ppc64el", "ppc64le"}};
    static const char *const known[] = {"x86_64",  "aarch64",     "ppc64le", "ppc64",
                                        "riscv64", "s390x",       "i686",    "armv7l",
                                        "mips64",  "loongarch64", NULL};
    const char *meant = NULL;
    char shown[64];

    d->family = k;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(k->value, others[i].word) == 0)
            meant = others[i].family;
    if (!meant && !is_in(k->value, known)) {
        meant = nearest(k->value, known);
        if (!meant && k->value[strspn(k->value, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0') {
            ti_ini_warning(
                d->r->ini, ti_ini_at(k, 0),
                "family '%s' is none that we know; it must be what uname -m prints there",
                k->value);
            set(d->r, &d->c.family, k->value);
            return;
        }
        if (!meant)
            meant = "x86_64 or aarch64";
    }
    if (meant)
        ti_ini_error(d->r->ini, ti_ini_at(k, 0),
                     "family is what uname -m prints, such as %s, not '%s'", meant,
                     ti_ini_show(k->value, shown));
    else
        set(d->r, &d->c.family, k->value);
}

static void take_isa(struct draft *d, const struct ti_ini_key *k)
{
    static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", NULL};
    char shown[64];

    d->isa = k;
    if (is_in(k->value, levels))
        set(d->r, &d->c.isa, k->value);
    else
        ti_ini_error(d->r->ini, ti_ini_at(k, 0), "isa is x86-64 or x86-64-v2, -v3 or -v4, not '%s'",
                     ti_ini_show(k->value, shown));
}

static void take_speed(struct draft *d, const struct ti_ini_key *k)
{
    char shown[64];

    if (!ti_ini_number(k->value, &d->c.speed))
        ti_ini_error(d->r->ini, ti_ini_at(k, 0),
                     "speed is instructions per second of a core, such as 2.53G, not '%s'",
                     ti_ini_show(k->value, shown));
}

/* Take "10Gbps" or "50us", whose text is kept for SimGrid. */
static void take_unit(struct reading *r, char **field, const struct ti_ini_key *k,
                      enum ti_unit kind)
{
    struct ti_err err;

    if (ti_unit_check(k->value, kind, k->name, &err) == TI_OK)
        set(r, field, k->value);
    else
        ti_ini_error(r->ini, ti_ini_at(k, 0), "%s", err.text);
}

static void take_bandwidth(struct draft *d, const struct ti_ini_key *k)
{
    take_unit(d->r, &d->c.bandwidth, k, TI_UNIT_BANDWIDTH);
}

static void take_latency(struct draft *d, const struct ti_ini_key *k)
{
    take_unit(d->r, &d->c.latency, k, TI_UNIT_LATENCY);
}

static void take_program(struct draft *d, const struct ti_ini_key *k)
{
    set(d->r, &d->c.program, k->value);
}

static bool absolute(struct draft *d, const struct ti_ini_key *k)
{
    char shown[64];

    if (k->value[0] == '/')
        return true;
    ti_ini_error(d->r->ini, ti_ini_at(k, 0),
                 "%s is a folder on the nodes and begins with '/', not '%s'", k->name,
                 ti_ini_show(k->value, shown));
    return false;
}

static void take_trace_dir(struct draft *d, const struct ti_ini_key *k)
{
    if (absolute(d, k))
        set(d->r, &d->c.trace_dir, k->value);
}

static void take_tiara(struct draft *d, const struct ti_ini_key *k)
{
    if (absolute(d, k))
        set(d->r, &d->c.tiara, k->value);
}

/* Take the variable in the `bytes` bytes at `at`; it replaces one of [defaults]. */
static void take_var(struct draft *d, const struct ti_ini_key *k, int at, int bytes)
{
    const char *text = k->value + at;
    int name = 0;
    char **env, *var;

    while (name < bytes && (isalnum((unsigned char)text[name]) || text[name] == '_'))
        name++;
    if (!name || isdigit((unsigned char)text[0]) || name == bytes || text[name] != '=') {
        ti_ini_error(d->r->ini, ti_ini_at(k, at),
                     "env is VAR=VALUE, without blanks or quotes, not '%.*s'",
                     bytes < 40 ? bytes : 40, text);
        return;
    }
    if (strncmp(text, "TIARA_", 6) == 0) {
        ti_ini_error(d->r->ini, ti_ini_at(k, at), "'%.*s' is Tiara's own", name, text);
        return;
    }
    var = strndup(text, (size_t)bytes);
    env = realloc(d->c.env, (size_t)(d->c.nenv + 1) * sizeof *env);
    if (env)
        d->c.env = env;
    if (!var || !env) {
        free(var);
        d->r->failed = true;
        return;
    }
    for (int i = 0; i < d->c.nenv; i++)
        if (strncmp(env[i], var, (size_t)name + 1) == 0) {
            free(env[i]);
            env[i] = var;
            return;
        }
    env[d->c.nenv++] = var;
}

static void take_env(struct draft *d, const struct ti_ini_key *k)
{
    int at = 0;

    while (at <= k->value_bytes) {
        int bytes = (int)strcspn(k->value + at, "\n");

        take_var(d, k, at, bytes);
        at += bytes + 1;
    }
}

#define TAKE(name) {#name, take_##name},
static const struct {
    const char *name;
    void (*take)(struct draft *d, const struct ti_ini_key *k);
} takers[] = {TI_CLUSTER_KEYS(TAKE)};
#undef TAKE

static void take_key(struct draft *d, const struct ti_ini_key *k)
{
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        if (strcmp(k->name, takers[i].name) == 0) {
            if (k->value[0])
                takers[i].take(d, k);
            else
                ti_ini_error(d->r->ini, k->at, "'%s' has no value", k->name);
        }
}

/* ----------------------------------------------------------------- sites -- */

/* NULL if `text` is [USER@]HOST[:PORT], else the error. */
static const char *gateway_error(const char *text)
{
    const char *at = strrchr(text, '@'), *host = at ? at + 1 : text, *colon = strrchr(host, ':');
    const char *end = colon ? colon : host + strlen(host);
    long port = colon ? strtol(colon + 1, NULL, 10) : 1;

    if (*host == '[') /* an IPv6 address */
        end = strchr(host, ']') ? strchr(host, ']') + 1 : host;
    if (text[0] == '-' || *host == '-' || at == text || end == host)
        return "a gateway is [USER@]HOST[:PORT]";
    if (strchr(text, ','))
        return "one gateway only; what is in front of it belongs into ~/.ssh/config (ProxyJump)";
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._-@:[]", *p))
            return "a gateway is [USER@]HOST[:PORT]";
    if (*end && *end != ':')
        return "a gateway is [USER@]HOST[:PORT]";
    if (*end == ':' &&
        (!end[1] || end[1 + strspn(end + 1, "0123456789")] || port < 1 || port > 65535))
        return "a port is a number from 1 to 65535";
    return NULL;
}

static const char *domain_error(const char *text)
{
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr(".-_", *p))
            return "a domain is of letters, digits, '.' and '-'";
    return NULL;
}

/* NULL if `text` is such as eth0 or 10.0.0.0/16, else the error. */
static const char *network_error(const char *text, int bytes)
{
    char net[64], addr[16], *slash;

    if (bytes == 0)
        return "an interface or network is missing";
    if (bytes >= (int)sizeof net)
        return "a name of an interface or network is too long";
    memcpy(net, text, (size_t)bytes);
    net[bytes] = '\0';
    slash = strchr(net, '/');
    if (slash) {
        char *end;
        long prefix = strtol(slash + 1, &end, 10);
        int family = strchr(net, ':') ? AF_INET6 : AF_INET;

        *slash = '\0';
        if (inet_pton(family, net, addr) != 1 || !isdigit((unsigned char)slash[1]) || *end ||
            prefix > (family == AF_INET ? 32 : 128))
            return "a network is such as 172.16.0.0/16";
        return NULL;
    }
    if (inet_pton(AF_INET, net, addr) == 1)
        return "an address is no network: 172.16.0.0/16, or the name of an interface";
    for (const char *p = net; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._-@:", *p))
            return "a network is the names of interfaces, or such as 172.16.0.0/16, with commas "
                   "between";
    return NULL;
}

/* Take a list with commas, without its blanks. */
static void take_network(struct reading *r, struct ti_site *x, const struct ti_ini_key *k)
{
    char *out;

    set(r, &x->network, k->value);
    if (!x->network)
        return;
    out = x->network;
    for (int at = 0; at <= k->value_bytes;) {
        int bytes = (int)strcspn(k->value + at, ","), from = at, to = at + bytes;
        const char *why;

        while (from < to && isspace((unsigned char)k->value[from]))
            from++;
        while (to > from && isspace((unsigned char)k->value[to - 1]))
            to--;
        why = network_error(k->value + from, to - from);
        if (why)
            ti_ini_error(r->ini, ti_ini_at(k, from), "%s", why);
        if (out > x->network)
            *out++ = ',';
        memmove(out, k->value + from, (size_t)(to - from));
        out += to - from;
        *out = '\0';
        at += bytes + 1;
    }
}

static void take_site_key(struct reading *r, struct ti_site *x, const struct ti_ini_key *k)
{
    const char *why = NULL;

    if (!k->value[0]) {
        ti_ini_error(r->ini, k->at, "'%s' has no value", k->name);
    } else if (strcmp(k->name, "network") == 0) {
        take_network(r, x, k);
    } else if (strcmp(k->name, "gateway") == 0) {
        why = gateway_error(k->value);
        set(r, &x->gateway, k->value);
    } else if (strcmp(k->name, "wan_bandwidth") == 0) {
        take_unit(r, &x->wan_bandwidth, k, TI_UNIT_BANDWIDTH);
    } else if (strcmp(k->name, "wan_latency") == 0) {
        take_unit(r, &x->wan_latency, k, TI_UNIT_LATENCY);
    } else if (strcmp(k->name, "domain") == 0) {
        const char *dots = k->value + strspn(k->value, ".");

        why = *dots ? domain_error(dots) : "a domain is of letters, digits, '.' and '-'";
        set(r, &x->domain, dots);
    }
    if (why)
        ti_ini_error(r->ini, ti_ini_at(k, 0), "%s", why);
}

/* Sort the sections by kind, and add the sites: a cluster may come before its site. */
static void sort_sections(struct reading *r)
{
    for (int i = 0; i < r->ini->nsections && !r->failed; i++) {
        const struct ti_ini_section *s = &r->ini->section[i], *before = NULL;

        for (int k = 0; k < i && !before; k++)
            if (strcmp(r->ini->section[k].kind, s->kind) == 0 &&
                strcmp(r->ini->section[k].name, s->name) == 0)
                before = &r->ini->section[k];
        if (before) {
            ti_ini_error(r->ini, s->at, "'[%s%s%s]' was there before, in line %d", s->kind,
                         s->name[0] ? " " : "", s->name, before->at.line);
        } else if (s->kind[0] == 'd') {
            r->defaults = s;
        } else if (s->kind[0] == 't') {
            r->target = s;
        } else if (s->kind[0] == 'c') {
            r->cluster[r->nclusters++] = s;
        } else if (ti_sites_add_site(r->out, s->name)) {
            r->site[r->out->nsites - 1] = s;
        } else {
            r->failed = true;
        }
    }
}

static void take_target(struct reading *r)
{
    const struct ti_ini_key *k = find_key(r->target, "ranks_per_node");
    struct ti_err err;

    if (r->target)
        check_keys(r, r->target, target_keys);
    if (k && ti_parse_int(k->value, k->name, 1, TI_RANKS_MAX, &r->out->target_ranks_per_node,
                          &err) != TI_OK)
        ti_ini_error(r->ini, ti_ini_at(k, 0), "%s", err.text);
}

static void take_sites(struct reading *r)
{
    for (int i = 0; i < r->out->nsites; i++) {
        const struct ti_ini_section *s = r->site[i];

        check_keys(r, s, site_keys);
        for (int k = 0; k < s->nkeys; k++)
            if (is_in(s->key[k].name, site_keys))
                take_site_key(r, &r->out->site[i], &s->key[k]);
    }
    if (!r->out->nsites && !ti_sites_add_site(r->out, "here"))
        r->failed = true;
}

/* -------------------------------------------------------------- clusters -- */

/* Report values that contradict each other. */
static void check_cluster(struct draft *d, const struct ti_ini_section *s)
{
    const struct ti_ini_key *k;

    if (d->c.cpus > d->c.cores && d->c.cores) {
        k = d->cpus->at.line > d->cores->at.line ? d->cpus : d->cores;
        ti_ini_error(d->r->ini, ti_ini_at(k, 0),
                     "%d cpus with %d cores in all: cores are those of a node", d->c.cpus,
                     d->c.cores);
    }
    if (d->c.memory_bytes && d->c.reserve_bytes >= d->c.memory_bytes)
        ti_ini_error(d->r->ini, ti_ini_at(d->reserve, 0),
                     "reserve leaves nothing of the memory in cluster '%s'", s->name);
    if (d->c.isa && d->c.family && strcmp(d->c.family, "x86_64") != 0)
        ti_ini_error(d->r->ini, ti_ini_at(d->isa, 0), "isa '%s' is of family x86_64, not '%s'",
                     d->c.isa, d->c.family);
    if (!d->nodes && !find_key(s, "nodes"))
        ti_ini_missing(d->r->ini, s->at, "cluster '%s' has no nodes", s->name);
    if (d->c.site == -1 && d->r->out->nsites == 1)
        d->c.site = 0;
    if (d->c.site == -1)
        ti_ini_missing(d->r->ini, s->at, "cluster '%s' does not say at which of the %d sites it is",
                       s->name, d->r->out->nsites);
}

/* Take the values of [defaults], then the cluster's own. */
static void take_cluster(struct draft *d, const struct ti_ini_section *s)
{
    struct ti_ini *ini = d->r->ini;
    int findings = ini->nfindings, errors = ini->nerrors;

    for (int k = 0; d->r->defaults && k < d->r->defaults->nkeys; k++) {
        const struct ti_ini_key *key = &d->r->defaults->key[k];

        if (strcmp(key->name, "nodes") != 0 &&
            (strcmp(key->name, "env") == 0 || !find_key(s, key->name)))
            take_key(d, key);
    }
    ini->nfindings = findings; /* findings about [defaults] were reported once already */
    ini->nerrors = errors;
    check_keys(d->r, s, cluster_keys);
    for (int k = 0; k < s->nkeys; k++) {
        const struct ti_ini_key *first = find_key(s, s->key[k].name);

        if (first == &s->key[k] || strcmp(s->key[k].name, "env") == 0)
            take_key(d, &s->key[k]);
    }
    d->c.line = s->at.line;
    check_cluster(d, s);
}

static void check_defaults(struct reading *r)
{
    struct draft d = {.r = r, .c = {.site = -1, .reserve_bytes = -1}};

    if (!r->defaults)
        return;
    check_keys(r, r->defaults, cluster_keys);
    for (int k = 0; k < r->defaults->nkeys; k++) {
        const struct ti_ini_key *key = &r->defaults->key[k];

        if (strcmp(key->name, "nodes") == 0)
            ti_ini_error(r->ini, key->at, "nodes belong to one cluster, not into [defaults]");
        else
            take_key(&d, key);
    }
    ti__cluster_release(&d.c);
}

/* ----------------------------------------------------------------- nodes -- */

/* A node's name and its position. */
struct name {
    const char *name;
    const struct ti_ini_key *key;
    int offset; /* in the value of the key */
    int cluster;
};

static int by_name(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int c = strcmp(x->name, y->name);

    if (c)
        return c;
    if (x->key != y->key)
        return x->key->at.line < y->key->at.line ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

struct names {
    struct name *v;
    int64_t n, room;
};

/* Join the lines of a hostlist, with a comma unless there is one. */
static void join_lines(char *text)
{
    char *last = NULL; /* last character that is not blank */

    for (char *p = text; *p; p++) {
        if (*p == '\n')
            *p = !last || *last == ',' || *last == '[' ? ' ' : ',';
        if (*p != ' ' && *p != '\t')
            last = p;
    }
}

static bool add_node(struct reading *r, struct names *all, const char *name, const char *domain,
                     const struct ti_ini_key *k, int offset)
{
    char full[2 * TI_HOST_NAME_MAX + 2];
    struct ti_node *node;

    if (domain && !strchr(name, '.'))
        snprintf(full, sizeof full, "%.*s.%.*s", TI_HOST_NAME_MAX, name, TI_HOST_NAME_MAX, domain);
    else
        snprintf(full, sizeof full, "%s", name);
    if (all->n == all->room) {
        int64_t room = all->room ? 2 * all->room : 256;
        struct name *more = realloc(all->v, (size_t)room * sizeof *more);

        if (!more)
            return false;
        all->v = more;
        all->room = room;
    }
    node = ti_sites_add_node(r->out, full);
    if (!node)
        return false;
    all->v[all->n++] = (struct name){node->name, k, offset, node->cluster};
    return true;
}

/* Whether a name looks like "n1-n4": it is one node, but four may be meant. */
static bool looks_like_range(const char *name)
{
    for (const char *dash = strchr(name, '-'); dash; dash = strchr(dash + 1, '-')) {
        size_t left = (size_t)(dash - name), right = strlen(dash + 1), a = left, b = right;

        while (a && isdigit((unsigned char)name[a - 1]))
            a--;
        while (b && isdigit((unsigned char)dash[b]))
            b--;
        if (a && a == b && a < left && b < right && strncmp(name, dash + 1, a) == 0)
            return true;
    }
    return false;
}

/* Expand a hostlist and report its errors; with `all`, add its names to the last cluster. */
static void take_hostlist(struct reading *r, struct names *all, const struct ti_ini_key *k,
                          const char *domain)
{
    char **names = NULL;
    struct ti_err err;
    int *at = NULL, column;
    int64_t n = 0;
    bool warned = false;
    ti_status st;

    join_lines(k->value);
    st = ti__hostlist_expand(k->value, &names, &at, &n, &column, &err);
    if (st == TI_ERR_INPUT)
        ti_ini_error(r->ini, ti_ini_at(k, column - 1), "%s", err.text);
    r->failed |= st == TI_ERR_IO;
    for (int64_t i = 0; i < n && !r->failed; i++) {
        if (looks_like_range(names[i]) && !warned) {
            ti_ini_warning(r->ini, ti_ini_at(k, at[i] - 1),
                           "'%s' is one node; n[1-4] would be four", names[i]);
            warned = true;
        }
        if (all)
            r->failed |= !add_node(r, all, names[i], domain, k, at[i] - 1);
    }
    free(names);
    free(at);
}

static void find_twins(struct reading *r, struct names *all)
{
    if (all->n)
        qsort(all->v, (size_t)all->n, sizeof *all->v, by_name);
    for (int64_t i = 1; i < all->n; i++) {
        const struct name *a = &all->v[i - 1], *b = &all->v[i];

        if (strcmp(a->name, b->name) != 0)
            continue;
        ti_ini_error(
            r->ini, ti_ini_at(b->key, b->offset), "node '%s' is in cluster '%s' %s, in line %d",
            b->name, r->out->cluster[a->cluster].name,
            a->cluster == b->cluster ? "already" : "as well", ti_ini_at(a->key, a->offset).line);
    }
}

/* ------------------------------------------------------------------ read -- */

/* Make a cluster of a draft. */
static bool settle(struct reading *r, struct draft *d, int i, struct names *all)
{
    struct ti_cluster *c = ti_sites_add_cluster(r->out, d->c.site, r->cluster[i]->name);
    char *name;

    if (!c)
        return false;
    name = c->name;
    *c = d->c;
    c->name = name;
    memset(&d->c, 0, sizeof d->c);
    if (d->nodes)
        take_hostlist(r, all, d->nodes, r->out->site[c->site].domain);
    return !r->failed;
}

/* Add the clusters, grouped by site, and in the order of the file within a site. */
static void take_clusters(struct reading *r)
{
    struct draft *draft = calloc((size_t)r->nclusters + 1, sizeof *draft);
    struct names all = {0};

    if (!draft) {
        r->failed = true;
        return;
    }
    for (int i = 0; i < r->nclusters; i++) {
        draft[i] = (struct draft){.r = r, .c = {.site = -1, .reserve_bytes = -1}};
        take_cluster(&draft[i], r->cluster[i]);
        if (draft[i].c.site < 0 && draft[i].nodes)
            take_hostlist(r, NULL, draft[i].nodes, NULL); /* only reports errors */
    }
    for (int s = 0; s < r->out->nsites; s++) {
        int clusters = r->out->nclusters;

        for (int i = 0; i < r->nclusters && !r->failed; i++)
            if (draft[i].c.site == s)
                r->failed |= !settle(r, &draft[i], i, &all);
        if (r->out->nclusters == clusters && r->site[s])
            ti_ini_warning(r->ini, r->site[s]->at, "no cluster is at site '%s'", r->site[s]->name);
    }
    find_twins(r, &all);
    for (int i = 0; i < r->nclusters; i++)
        ti__cluster_release(&draft[i].c);
    free(draft);
    free(all.v);
}

static ti_status interpret(struct reading *r, char **more, struct ti_err *err)
{
    size_t n = (size_t)r->ini->nsections + 1;
    ti_status st;

    r->site = calloc(n, sizeof *r->site);
    r->cluster = calloc(n, sizeof *r->cluster);
    r->out = ti_sites_new(TI_SITES_FILE, r->ini->path);
    r->failed = !r->site || !r->cluster || !r->out;
    if (!r->failed) {
        sort_sections(r);
        take_target(r);
        take_sites(r);
        check_defaults(r);
    }
    if (!r->failed)
        take_clusters(r);
    if (r->failed)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", r->ini->path);
    if (!r->nclusters && !r->ini->nerrors)
        ti_ini_missing(r->ini, (struct ti_ini_pos){1, 1}, "there is no '[cluster NAME]' in it");
    st = ti_ini_conclude(r->ini, FINDINGS_SHOWN, more, err);
    if (st == TI_ERR_INPUT && !r->ini->has_heads)
        ti_err_hint(err, "a sites file has sections such as [cluster NAME], see tiara-sites(5); "
                         "--hostfile takes hostfiles of Open MPI");
    return st;
}

ti_status ti_sites_read(const char *path, struct ti_sites **out, char **more, struct ti_err *err)
{
    struct reading r = {0};
    ti_status st;

    if (more)
        *more = NULL;
    st = ti_ini_read(path, &grammar, &r.ini, err);
    if (st == TI_OK)
        st = interpret(&r, more, err);
    if (st == TI_OK)
        *out = r.out;
    else
        ti_sites_free(r.out);
    ti_ini_free(r.ini);
    free(r.site);
    free(r.cluster);
    return st;
}
