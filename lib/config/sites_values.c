#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/units.h"
#include "config/sites_internal.h"

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

/* Parse "10Gbps" or "50us", whose text is kept for SimGrid. */
static void parse_unit(struct reading *r, char **field, const struct ti_ini_key *k,
                       enum ti_unit kind)
{
    struct ti_err err;

    if (ti_unit_check(k->value, kind, k->name, &err) == TI_OK)
        set(r, field, k->value);
    else
        ti_ini_error(r->ini, ti_ini_at(k, 0), "%s", err.text);
}

/* --------------------------------------------------------- keys of clusters -- */

static void parse_int(struct draft *d, const struct ti_ini_key *k, int64_t most, int *out)
{
    struct ti_err err;
    int64_t v;

    if (ti_parse_int(k->value, k->name, 1, most, &v, &err) == TI_OK)
        *out = (int)v;
    else
        wrong(d, k, err.text);
}

static bool parse_size(struct draft *d, const struct ti_ini_key *k, int64_t *out)
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

static void parse_site(struct draft *d, const struct ti_ini_key *k)
{
    struct ti_sites *s = d->r->out;
    struct ti_nearest near = {.to = k->value};
    char shown[64];

    for (int i = 0; i < s->nsites; i++) {
        if (strcmp(s->site[i].name, k->value) == 0) {
            d->c.site = i;
            return;
        }
        ti_nearest_try(&near, s->site[i].name);
    }
    ti_ini_error(d->r->ini, ti_ini_at(k, 0), "there is no [site %s]%s%s%s",
                 ti_ini_show(k->value, shown), near.text[0] ? ", did you mean '" : "", near.text,
                 near.text[0] ? "'?" : "");
    d->c.site = -2;
}

static void parse_nodes(struct draft *d, const struct ti_ini_key *k)
{
    d->nodes = k;
}

static void parse_cores(struct draft *d, const struct ti_ini_key *k)
{
    d->cores = k;
    parse_int(d, k, TI_SITES_CORES_MAX, &d->c.cores);
}

static void parse_cpus(struct draft *d, const struct ti_ini_key *k)
{
    d->cpus = k;
    parse_int(d, k, TI_SITES_CORES_MAX, &d->c.cpus);
}

static void parse_memory(struct draft *d, const struct ti_ini_key *k)
{
    int64_t v;

    d->memory = k;
    if (!parse_size(d, k, &v))
        return;
    if (v < 1 << 20)
        ti_ini_error(d->r->ini, ti_ini_at(k, 0), "memory of %" PRId64 " bytes: a unit is missing",
                     v);
    else
        d->c.memory_bytes = v;
}

static void parse_reserve(struct draft *d, const struct ti_ini_key *k)
{
    int64_t v = 0;

    d->reserve = k;
    if (strcmp(k->value, "0") == 0 || parse_size(d, k, &v))
        d->c.reserve_bytes = v;
}

static void parse_cpu(struct draft *d, const struct ti_ini_key *k)
{
    set(d->r, &d->c.cpu, k->value);
}

static void parse_family(struct draft *d, const struct ti_ini_key *k)
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
    if (!meant && !ti_ini_is_in(k->value, known)) {
        meant = ti__sites_nearest(k->value, known);
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

static void parse_isa(struct draft *d, const struct ti_ini_key *k)
{
    static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", NULL};
    char shown[64];

    d->isa = k;
    if (ti_ini_is_in(k->value, levels))
        set(d->r, &d->c.isa, k->value);
    else
        ti_ini_error(d->r->ini, ti_ini_at(k, 0), "isa is x86-64 or x86-64-v2, -v3 or -v4, not '%s'",
                     ti_ini_show(k->value, shown));
}

static void parse_speed(struct draft *d, const struct ti_ini_key *k)
{
    char shown[64];

    if (!ti_ini_number(k->value, &d->c.speed))
        ti_ini_error(d->r->ini, ti_ini_at(k, 0),
                     "speed is instructions per second of a core, such as 2.53G, not '%s'",
                     ti_ini_show(k->value, shown));
}

static void parse_bandwidth(struct draft *d, const struct ti_ini_key *k)
{
    parse_unit(d->r, &d->c.bandwidth, k, TI_UNIT_BANDWIDTH);
}

static void parse_latency(struct draft *d, const struct ti_ini_key *k)
{
    parse_unit(d->r, &d->c.latency, k, TI_UNIT_LATENCY);
}

/* Report what a parser of host_values.h says, with its hint. */
static void reject(struct draft *d, const struct ti_ini_key *k, const struct ti_err *err)
{
    ti_ini_error(d->r->ini, ti_ini_at(k, 0), "%s%s%s", err->text, err->hint[0] ? "; " : "",
                 err->hint);
}

static void parse_watts(struct draft *d, const struct ti_ini_key *k)
{
    struct ti_err err = {0};

    if (ti_watts_parse(k->value, k->name, &d->c.watts, &err) != TI_OK)
        reject(d, k, &err);
}

static void parse_disk(struct draft *d, const struct ti_ini_key *k)
{
    struct ti_err err = {0};

    if (ti_disk_parse(k->value, k->name, &d->c.disk, &err) != TI_OK)
        reject(d, k, &err);
}

static void parse_program(struct draft *d, const struct ti_ini_key *k)
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

static void parse_trace_dir(struct draft *d, const struct ti_ini_key *k)
{
    if (absolute(d, k))
        set(d->r, &d->c.trace_dir, k->value);
}

static void parse_tiara(struct draft *d, const struct ti_ini_key *k)
{
    if (absolute(d, k))
        set(d->r, &d->c.tiara, k->value);
}

/* Parse the variable in the `bytes` bytes at `at`; it replaces one of [defaults]. */
static void parse_var(struct draft *d, const struct ti_ini_key *k, int at, int bytes)
{
    const char *text = k->value + at;
    int name = 0;
    char *var;

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
    if (!var) {
        d->r->failed = true;
        return;
    }
    for (int i = 0; i < d->c.nenv; i++)
        if (strncmp(d->c.env[i], var, (size_t)name + 1) == 0) {
            free(d->c.env[i]);
            d->c.env[i] = var;
            return;
        }
    d->c.env = ti_grow(d->c.env, &d->c.env_cap, (size_t)d->c.nenv + 1, sizeof *d->c.env);
    d->c.env[d->c.nenv++] = var;
}

static void parse_env(struct draft *d, const struct ti_ini_key *k)
{
    int at = 0;

    while (at <= k->value_bytes) {
        int bytes = (int)strcspn(k->value + at, "\n");

        parse_var(d, k, at, bytes);
        at += bytes + 1;
    }
}

#define PARSER(name) {#name, parse_##name},
static const struct {
    const char *name;
    void (*parse)(struct draft *d, const struct ti_ini_key *k);
} parsers[] = {TI_CLUSTER_KEYS(PARSER)};
#undef PARSER

void ti__sites_cluster_key(struct draft *d, const struct ti_ini_key *k)
{
    for (size_t i = 0; i < sizeof parsers / sizeof *parsers; i++)
        if (strcmp(k->name, parsers[i].name) == 0) {
            if (k->value[0])
                parsers[i].parse(d, k);
            else
                ti_ini_error(d->r->ini, k->at, "'%s' has no value", k->name);
        }
}

/* ------------------------------------------------------------ keys of sites -- */

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

/* Parse a list with commas, and keep it without blanks. */
static void parse_network(struct reading *r, struct ti_site *x, const struct ti_ini_key *k)
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

void ti__sites_site_key(struct reading *r, struct ti_site *x, const struct ti_ini_key *k)
{
    const char *why = NULL;

    if (!k->value[0]) {
        ti_ini_error(r->ini, k->at, "'%s' has no value", k->name);
    } else if (strcmp(k->name, "network") == 0) {
        parse_network(r, x, k);
    } else if (strcmp(k->name, "gateway") == 0) {
        why = gateway_error(k->value);
        set(r, &x->gateway, k->value);
    } else if (strcmp(k->name, "wan_bandwidth") == 0) {
        parse_unit(r, &x->wan_bandwidth, k, TI_UNIT_BANDWIDTH);
    } else if (strcmp(k->name, "wan_latency") == 0) {
        parse_unit(r, &x->wan_latency, k, TI_UNIT_LATENCY);
    } else if (strcmp(k->name, "domain") == 0) {
        const char *dots = k->value + strspn(k->value, ".");

        why = *dots ? domain_error(dots) : "a domain is of letters, digits, '.' and '-'";
        set(r, &x->domain, dots);
    }
    if (why)
        ti_ini_error(r->ini, ti_ini_at(k, 0), "%s", why);
}
