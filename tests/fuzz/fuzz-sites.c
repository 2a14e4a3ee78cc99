/* Sites files, hostfiles and hostlists, over any bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hostlist.h"
#include "config/sites.h"
#include "tests/fuzz/fuzz.h"

#define FOLD_MOST 2000 /* names: more take too long here */

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

/* Whether `text` begins with "FILE:LINE:COLUMN: ", a place in the file. */
static void check_place(const char *text, const char *path, int lines, size_t bytes)
{
    size_t n = strlen(path);
    int line = 0, column = 0, end = 0;

    must(strncmp(text, path, n) == 0, "a finding does not name the file");
    must(sscanf(text + n, ":%d:%d: %n", &line, &column, &end) == 2 && end > 0,
         "a finding has no place");
    must(line >= 1 && line <= lines && column >= 1 && (size_t)column <= bytes + 1,
         "a finding is outside of the file");
}

static void check_nodes(const struct ti_sites *s)
{
    int before = 0, site = 0;

    must(s->nsites > 0 && s->nclusters > 0 && s->nnodes > 0, "success, but there is nothing");
    for (int i = 0; i < s->nclusters; i++) {
        must(s->cluster[i].site >= site && s->cluster[i].site < s->nsites,
             "clusters are not in the order of sites");
        site = s->cluster[i].site;
    }
    for (int64_t i = 0; i < s->nnodes; i++) {
        const struct ti_node *n = &s->node[i];

        must(n->cluster >= before && n->cluster < s->nclusters,
             "nodes are not in the order of clusters");
        must(n->name[0] && n->name[0] != '-' && !strpbrk(n->name, " \t\n'\"$`;@:/"),
             "a name is none");
        before = n->cluster;
    }
}

/* A folded list of hosts expands to the same hosts. */
static void check_folding(char *const *name, int64_t n)
{
    char *folded = ti_hostlist_fold((const char *const *)name, n), **again = NULL;
    struct ti_err err;
    int64_t m = 0;

    must(folded && ti_hostlist_expand(folded, &again, &m, NULL, &err) == TI_OK && m == n,
         "a folded list does not expand");
    for (int64_t i = 0; i < n; i++)
        must(strcmp(name[i], again[i]) == 0, "a folded list expands to others");
    free(folded);
    free(again);
}

static void try_hostlist(const char *text)
{
    char **name = NULL;
    struct ti_err err;
    int64_t n = 0;
    int column = 0;
    ti_status st = ti_hostlist_expand(text, &name, &n, &column, &err);

    if (st == TI_OK && n <= FOLD_MOST)
        check_folding(name, n);
    if (st == TI_ERR_INPUT)
        must(column >= 1 && (size_t)column <= strlen(text) + 1, "a column is outside of the list");
    free(name);
}

static void try_sites(const char *path, int lines, size_t bytes)
{
    struct ti_sites *s = NULL;
    char *more = NULL;
    struct ti_err err = {"", ""};
    ti_status st = ti_sites_read(path, &s, &more, &err);

    must((st == TI_OK) == (s != NULL), "success without sites, or failure with them");
    if (st == TI_OK)
        check_nodes(s);
    else
        check_place(err.text, path, lines, bytes);
    for (char *line = more; line && *line; line = strchr(line, '\n') + 1) {
        must(strchr(line, '\n') != NULL, "a finding without a newline");
        if (!strstr(line, "further findings"))
            check_place(line, path, lines, bytes);
    }
    free(more);
    ti_sites_free(s);
}

static void try_hostfile(const char *path, int lines, size_t bytes)
{
    struct ti_sites *s = NULL;
    struct ti_err err = {"", ""};
    ti_status st = ti_sites_read_hostfile(path, &s, NULL, &err);

    must((st == TI_OK) == (s != NULL), "success without hosts, or failure with them");
    if (st == TI_OK)
        check_nodes(s);
    else
        check_place(err.text, path, lines, bytes);
    ti_sites_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1), path[64];
    int lines = 1, fd = ti_fuzz_file(data, bytes);

    if (!text)
        return 0;
    if (bytes)
        memcpy(text, data, bytes);
    text[bytes] = '\0';
    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    try_sites(path, lines, bytes);
    try_hostfile(path, lines, bytes);
    try_hostlist(text);
    free(text);
    close(fd);
    return 0;
}
