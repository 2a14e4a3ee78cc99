#include "acquire/plan/common_isa.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/plan/isa.h"
#include "common/hostlist.h"

#define TEXT_BYTES  1024
#define NAMES_BYTES 120
#define KINDS_SHOWN 4

struct ti_common_isa_node ti_common_isa_node_of_facts(const char *name, const json_t *facts)
{
    return (struct ti_common_isa_node){
        .name = name,
        .family = json_string_value(json_object_get(facts, "family")),
        .isa = json_string_value(json_object_get(facts, "isa")),
        .cpu = json_string_value(json_object_get(facts, "cpu")),
        .glibc = json_string_value(json_object_get(facts, "glibc")),
        .mpi = json_string_value(json_object_get(json_object_get(facts, "mpi"), "version")),
    };
}

typedef const char *field(const struct ti_common_isa_node *node);

static const char *family_of(const struct ti_common_isa_node *node)
{
    return node->family;
}

static const char *isa_of(const struct ti_common_isa_node *node)
{
    int level = node->isa ? ti_isa_level(node->isa) : 0;

    return level ? ti_isa_name(level) : node->isa;
}

static const char *cpu_of(const struct ti_common_isa_node *node)
{
    return node->cpu;
}

static const char *glibc_of(const struct ti_common_isa_node *node)
{
    return node->glibc;
}

static const char *mpi_of(const struct ti_common_isa_node *node)
{
    return node->mpi;
}

/* Count the nodes whose field has `value`; `text` gets the list of their names, cut if it is
 * long. */
static int64_t names_of(const struct ti_common_isa_node *node, int64_t n, field *get,
                        const char *value, char text[NAMES_BYTES])
{
    const char **name = malloc((size_t)n * sizeof *name);
    int64_t count = 0;
    char *folded;

    text[0] = '\0';
    for (int64_t i = 0; name && i < n; i++) {
        const char *v = get(&node[i]);

        if (v && strcmp(v, value) == 0)
            name[count++] = node[i].name;
    }
    folded = count ? ti_hostlist_fold(name, count) : NULL;
    if (folded && strlen(folded) < NAMES_BYTES)
        strcpy(text, folded);
    else if (count)
        snprintf(text, NAMES_BYTES, "%.64s and %" PRId64 " more", name[0], count - 1);
    free(folded);
    free(name);
    return count;
}

/* Whether known values of a field differ. */
static bool differ(const struct ti_common_isa_node *node, int64_t n, field *get)
{
    const char *first = NULL;

    for (int64_t i = 0; i < n; i++) {
        const char *value = get(&node[i]);

        if (value && first && strcmp(value, first) != 0)
            return true;
        if (value)
            first = value;
    }
    return false;
}

static bool met(const struct ti_common_isa_node *node, int64_t before, field *get,
                const char *value)
{
    for (int64_t i = 0; i < before; i++) {
        const char *v = get(&node[i]);

        if (v && strcmp(v, value) == 0)
            return true;
    }
    return false;
}

/* "2.36 on a-[1-4], 2.31 on b-[1-2]" into text. */
static void describe(const struct ti_common_isa_node *node, int64_t n, field *get,
                     char text[TEXT_BYTES])
{
    size_t at = 0;
    int kinds = 0;

    text[0] = '\0';
    for (int64_t i = 0; i < n && at < TEXT_BYTES; i++) {
        const char *value = get(&node[i]);
        char names[NAMES_BYTES];

        if (!value || met(node, i, get, value))
            continue;
        if (++kinds > KINDS_SHOWN) {
            snprintf(text + at, TEXT_BYTES - at, " and others");
            return;
        }
        names_of(node, n, get, value, names);
        at += (size_t)snprintf(text + at, TEXT_BYTES - at, "%s%s on %s", at ? ", " : "", value,
                               names);
    }
}

static void warn(struct ti_common_isa *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void warn(struct ti_common_isa *c, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    if (c->nwarnings == TI_COMMON_ISA_WARNINGS)
        return;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) >= 0)
        c->warning[c->nwarnings++] = text;
    va_end(ap);
}

/* The lowest level of all nodes; 0 if there are no nodes or the level of one, *who, is unknown. */
static int lowest_level(const struct ti_common_isa_node *node, int64_t n, const char **who)
{
    int least = 0;

    for (int64_t i = 0; i < n; i++) {
        int level = node[i].isa ? ti_isa_level(node[i].isa) : 0;

        if (level == 0 || i == 0 || level < least) {
            least = level;
            *who = node[i].name;
        }
        if (level == 0)
            break;
    }
    return least;
}

static ti_status use_requested(struct ti_common_isa *c, const struct ti_common_isa_node *node,
                               int64_t n, const char *asked, struct ti_err *err)
{
    for (int64_t i = 0; i < n; i++) {
        int level = node[i].isa ? ti_isa_level(node[i].isa) : 0;

        if (level && level < ti_isa_level(asked)) {
            ti_err_set(err, TI_ERR_INPUT, "--isa %s is more than '%s' has, which is %s", asked,
                       node[i].name, ti_isa_name(level));
            ti_err_hint(err, "--isa %s, or --exclude the node", ti_isa_name(level));
            return TI_ERR_INPUT;
        }
    }
    c->isa = asked;
    return TI_OK;
}

/* Processors differ and no --isa was given. */
static void choose(struct ti_common_isa *c, const struct ti_common_isa_node *node, int64_t n,
                   bool levels)
{
    char text[TEXT_BYTES];
    const char *who = "";
    int least = lowest_level(node, n, &who);

    describe(node, n, levels ? isa_of : cpu_of, text);
    if (!least) {
        warn(c,
             "processors differ (%s), and there is no level for '%s' that would have glibc choose "
             "its functions alike: volumes may depend on where a rank is",
             text, who);
        return;
    }
    c->isa = ti_isa_name(least < TI_ISA_MAX ? least : TI_ISA_MAX);
    c->chosen = true;
    if (asprintf(&c->said,
                 "processors differ (%s): glibc is told to choose its functions as on %s "
                 "everywhere, so that volumes do not depend on where a rank is; --isa native "
                 "leaves it alone",
                 text, c->isa) < 0)
        c->said = NULL;
}

ti_status ti_common_isa_choose(const struct ti_common_isa_node *node, int64_t n, const char *asked,
                               bool native, bool counted, struct ti_common_isa *out,
                               struct ti_err *err)
{
    bool levels = differ(node, n, isa_of), models = differ(node, n, cpu_of);
    char text[TEXT_BYTES];
    ti_status st = TI_OK;

    memset(out, 0, sizeof *out);
    if (differ(node, n, family_of)) {
        describe(node, n, family_of, text);
        warn(out, "families of processors differ: %s", text);
    } else if (asked) {
        st = use_requested(out, node, n, asked, err);
    } else if (counted && (levels || models) && !native) {
        choose(out, node, n, levels);
    } else if (counted && (levels || models)) {
        describe(node, n, levels ? isa_of : cpu_of, text);
        warn(out, "processors differ (%s): volumes may depend on where a rank is", text);
    }
    if (counted && differ(node, n, glibc_of)) {
        describe(node, n, glibc_of, text);
        warn(out, "glibc differs (%s): volumes may depend on where a rank is", text);
    }
    if (differ(node, n, mpi_of)) {
        describe(node, n, mpi_of, text);
        warn(out, "Open MPI differs (%s): ranks may not find each other", text);
    }
    return st;
}

void ti_common_isa_free(struct ti_common_isa *c)
{
    free(c->said);
    for (int i = 0; i < c->nwarnings; i++)
        free(c->warning[i]);
    memset(c, 0, sizeof *c);
}
