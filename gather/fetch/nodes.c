#include "gather/fetch/nodes.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/run.h"
#include "bundle/runjson.h"
#include "common/names.h"

#define NODE_BYTES_MAX (INT64_C(1) << 45) /* so that sums of 100,000 nodes do not overflow */

/* --- what RUN.json says -------------------------------------------------- */

static ti_status bad_node(const struct ti_nodes *n, int64_t i, const char *what, struct ti_err *err)
{
    const char *name = n->node[i].name;

    return ti_err_set(err, TI_ERR_INPUT, "'%s/RUN.json': node %" PRId64 "%s%.256s%s: %s", n->path,
                      i + 1, name ? " ('" : "", name ? name : "", name ? "')" : "", what);
}

/* Not an option, and one word for a shell: hints contain it in commands to try. */
static bool is_address(const char *text)
{
    bool begins = true;

    for (; *text; text++) {
        if ((unsigned char)*text <= ' ' || *text == 0x7f ||
            strchr("\"'`$&|;<>()\\*?!#~{}", *text) || (begins && (*text == '-' || *text == ',')))
            return false;
        begins = *text == ',' || *text == '@';
    }
    return !begins;
}

static ti_status read_address(const struct ti_nodes *n, int64_t i, const char *key,
                              const char *text, struct ti_err *err)
{
    char what[400];

    if (!text || is_address(text))
        return TI_OK;
    snprintf(what, sizeof what, "\"%s\": '%.256s' is no [USER@]HOST[:PORT]", key, text);
    return bad_node(n, i, what, err);
}

/* A string, or null. */
static bool text_or_null(const json_t *node, const char *key, const char **out)
{
    const json_t *v = json_object_get(node, key);

    *out = json_string_value(v);
    return !v || json_is_null(v) || json_is_string(v);
}

/* All nodes but local ones must have the same "via", or none. */
static ti_status read_via(struct ti_nodes *n, int64_t i, const json_t *via, bool *ssh,
                          struct ti_err *err)
{
    struct ti_source_node *node = &n->node[i];
    size_t words = json_array_size(via);
    bool first = !n->via;

    if (!via || json_is_null(via)) {
        node->local = !node->host;
        *ssh = *ssh || node->host;
    } else if (!words) {
        return bad_node(n, i, "\"via\" is no command", err);
    } else if (first && !(n->via = calloc(words + 1, sizeof *n->via))) {
        return ti_err_errno(err, TI_ERR_IO, "cannot fetch");
    }
    for (size_t k = 0; k < words; k++) {
        const char *word = json_string_value(json_array_get(via, k));

        if (!word || (!first && (!n->via[k] || strcmp(n->via[k], word) != 0)))
            return bad_node(n, i, "\"via\" differs from that of others", err);
        n->via[k] = word;
    }
    if (n->via && (*ssh || (words && n->via[words])))
        return bad_node(n, i, "\"via\" differs from that of others", err);
    return TI_OK;
}

static ti_status read_ranks(struct ti_nodes *n, int64_t i, const json_t *node, struct ti_err *err)
{
    const json_t *ranks = json_object_get(node, "ranks");
    json_int_t np = json_integer_value(json_object_get(n->run, "np"));
    struct ti_ranges *set = &n->node[i].ranks;

    if (!ranks || json_is_null(ranks))
        return np > 0 && np <= TI_RANKS_MAX
                   ? TI_OK
                   : bad_node(n, i, "its \"ranks\" are not known, nor how many there are (\"np\")",
                              err);
    if (!ti_ranges_of_json(ranks, TI_RANKS_MAX, set))
        return bad_node(n, i, "\"ranks\" is no list of [FIRST, LAST]", err);
    if (np > 0 && set->n && set->range[set->n - 1].last >= np)
        return bad_node(n, i, "\"ranks\" has some that the run does not have (\"np\")", err);
    n->node[i].ranks_known = true;
    return TI_OK;
}

static ti_status read_bytes(struct ti_nodes *n, int64_t i, const json_t *node, struct ti_err *err)
{
    const json_t *bytes = json_object_get(node, "bytes");

    if (!bytes || json_is_null(bytes))
        return TI_OK;
    if (!json_is_integer(bytes) || json_integer_value(bytes) < 0 ||
        json_integer_value(bytes) > NODE_BYTES_MAX)
        return bad_node(n, i, "\"bytes\" is no number of bytes", err);
    n->node[i].bytes = json_integer_value(bytes);
    return TI_OK;
}

/* Facts about all nodes read so far. */
struct common {
    bool ssh; /* one is reached by SSH */
    struct ti_names sites;
};

/* Sets the site of a node, found by its name or else by the gateway. */
static void read_site(struct ti_nodes *n, int64_t i, const char *site, struct common *c)
{
    const char *name = site ? site : n->node[i].gateway ? n->node[i].gateway : "";

    n->node[i].site = (int)ti_names_add(&c->sites, name);
    if (n->node[i].site == n->nsites)
        n->site[n->nsites++] = name;
}

static ti_status read_node(struct ti_nodes *n, int64_t i, json_t *node, struct common *c,
                           struct ti_err *err)
{
    struct ti_source_node *m = &n->node[i];
    const char *site;
    ti_status st;

    if (!text_or_null(node, "name", &m->name))
        return bad_node(n, i, "\"name\" is no string", err);
    if (m->name && !*m->name)
        m->name = NULL;
    if (!m->name)
        return bad_node(n, i, "it has no \"name\"", err);
    if (!text_or_null(node, "host", &m->host) || !text_or_null(node, "gateway", &m->gateway) ||
        !text_or_null(node, "tiara", &m->tiara))
        return bad_node(n, i, "\"host\", \"gateway\" and \"tiara\" are strings or null", err);
    if (!text_or_null(node, "site", &site))
        return bad_node(n, i, "\"site\" is a string or null", err);
    if (!text_or_null(node, "directory", &m->directory) || !m->directory)
        return bad_node(n, i, "it has no \"directory\"", err);
    if (m->tiara)
        n->tiara = m->tiara;
    read_site(n, i, site, c);
    st = read_address(n, i, "host", m->host, err);
    st = st == TI_OK ? read_address(n, i, "gateway", m->gateway, err) : st;
    st = st == TI_OK ? read_ranks(n, i, node, err) : st;
    st = st == TI_OK ? read_bytes(n, i, node, err) : st;
    return st == TI_OK ? read_via(n, i, json_object_get(node, "via"), &c->ssh, err) : st;
}

static void read_transport(struct ti_nodes *n)
{
    const char *name = json_string_value(json_object_get(n->run, "transport"));

    n->transport = TI_TRANSPORT_AUTO;
    if (name && strcmp(name, "openssh") == 0)
        n->transport = TI_TRANSPORT_OPENSSH;
    if (name && strcmp(name, "libssh2") == 0)
        n->transport = TI_TRANSPORT_LIBSSH2;
}

static ti_status read_nodes(const char *path, struct ti_nodes *out, struct ti_err *err)
{
    json_t *nodes, *node;
    const char *id;
    struct stat sb;
    struct common common = {.ssh = false};
    ti_status st;
    size_t i;

    *out = (struct ti_nodes){.path = path};
    out->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->dir < 0)
        return TI_OK; /* ti_run_check() reports it */
    st = ti_runjson_read(out->dir, path, "RUN.json", &out->run, &sb, err);
    nodes = json_object_get(out->run, "nodes");
    if (st != TI_OK || json_array_size(nodes) == 0)
        return st;
    out->others =
        (sb.st_uid != geteuid() && sb.st_uid != 0) || (sb.st_mode & (S_IWOTH | S_IWGRP)) != 0;
    id = json_string_value(json_object_get(out->run, "run_id"));
    if (!id)
        return ti_err_set(err, TI_ERR_INPUT, "'%s/RUN.json' has \"nodes\", and no \"run_id\"",
                          path);
    for (i = 0; id[i]; i++) /* ti_runjson_read() checked its length; nodes compare the text */
        out->run_id[i] = (char)tolower((unsigned char)id[i]);
    read_transport(out);
    out->n = (int64_t)json_array_size(nodes);
    out->node = calloc((size_t)out->n, sizeof *out->node);
    out->site = calloc((size_t)out->n, sizeof *out->site);
    if (!out->node || !out->site)
        return ti_err_errno(err, TI_ERR_IO, "cannot fetch");
    json_array_foreach(nodes, i, node) if (st == TI_OK) st =
        read_node(out, (int64_t)i, node, &common, err);
    ti_names_free(&common.sites);
    return st;
}

ti_status ti_nodes_read(const char *path, struct ti_nodes *out, struct ti_err *err)
{
    ti_status st = read_nodes(path, out, err);

    if (st == TI_ERR_INPUT)
        ti_err_hint(err, TI_RUN_JSON_HINT);
    return st;
}

void ti_nodes_free(struct ti_nodes *n)
{
    for (int64_t i = 0; i < n->n; i++)
        ti_ranges_free(&n->node[i].ranks);
    free(n->node);
    free(n->site);
    free(n->via);
    json_decref(n->run);
    if (n->dir >= 0)
        close(n->dir);
    *n = (struct ti_nodes){.dir = -1};
}

bool ti_node_is_here(const struct ti_nodes *n, const struct ti_source_node *node)
{
    struct stat here, there;

    return node->local && fstat(n->dir, &here) == 0 && stat(node->directory, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}
