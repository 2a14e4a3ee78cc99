#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "config/sites_internal.h"

#define WORD(name) #name,
const char *const ti__site_keys[] = {TI_SITE_KEYS(WORD) NULL};
const char *const ti__cluster_keys[] = {TI_CLUSTER_KEYS(WORD) NULL};
const char *const ti__target_keys[] = {TI_TARGET_KEYS(WORD) NULL};
#undef WORD
static const char *const kinds[] = {"defaults", "site", "cluster", "target", NULL};

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
    {"wan_lat", "wan_latency"}, {"power", "watts"},         {"storage", "disk"},
};

const char *ti__sites_nearest(const char *word, const char *const *known)
{
    struct ti_nearest near = {.to = word};
    int best = -1;

    for (size_t i = 0; i < sizeof other_words / sizeof *other_words; i++)
        for (int k = 0; strcasecmp(word, other_words[i].word) == 0 && known[k]; k++)
            if (strcmp(other_words[i].key, known[k]) == 0)
                return known[k];
    for (int k = 0; known[k]; k++) {
        int before = near.distance;

        ti_nearest_try(&near, known[k]);
        best = near.distance != before ? k : best;
    }
    return best < 0 ? NULL : known[best];
}

static bool is_kind(const char *word)
{
    return ti_ini_is_in(word, kinds);
}

static bool is_key(const char *word)
{
    return ti_ini_is_in(word, ti__site_keys) || ti_ini_is_in(word, ti__cluster_keys) ||
           ti_ini_is_in(word, ti__target_keys);
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
        const char *meant = ti__sites_nearest(kind, kinds);

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

const struct ti_ini_grammar ti__sites_grammar = {is_kind, section_error, may_continue, holds_equals,
                                                 is_key};

void ti__sites_check_keys(struct reading *r, const struct ti_ini_section *s,
                          const char *const *known)
{
    char shown[64];

    for (int k = 0; k < s->nkeys; k++) {
        const struct ti_ini_key *key = &s->key[k];

        if (!ti_ini_is_in(key->name, known)) {
            const char *meant = ti__sites_nearest(key->name, known);

            if (is_key(key->name))
                ti_ini_error(r->ini, key->at, "'%s' is a key of [%s], not of [%s%s]", key->name,
                             ti_ini_is_in(key->name, ti__site_keys)      ? "site NAME"
                             : ti_ini_is_in(key->name, ti__cluster_keys) ? "cluster NAME"
                                                                         : "target",
                             s->kind, s->name[0] ? " NAME" : "");
            else
                ti_ini_error(r->ini, key->at, "unknown key '%s'%s%s%s",
                             ti_ini_show(key->name, shown), meant ? ", did you mean '" : "",
                             meant ? meant : "", meant ? "'?" : "");
        } else if (strcmp(key->name, "env") != 0) {
            ti_ini_given_before(r->ini, s, key);
        }
    }
}
