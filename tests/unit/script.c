#include "tests/unit/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/writer.h"

#define NP_MAX    256
#define SITES_MAX 16

struct ti_source *script_source;
const char *const *script_info;
static char dir[64];
static uint32_t named[NP_MAX]; /* a rank's string with the name of all files */
static struct site {
    char text[32];
    uint32_t number[NP_MAX];
} sites[SITES_MAX];
static bool times;             /* the trace has call_ns and burst_ns */
static struct ti_err err;

static int64_t number(const char *text)
{
    return !strcmp(text, "any")    ? TI_ANY
           : !strcmp(text, "null") ? TI_NULL
           : !strcmp(text, "self") ? TI_SELF
                                   : atoll(text);
}

static int numbers(char *text, int64_t *out)
{
    int n = 0;
    char *save;

    for (char *p = strtok_r(text, ",", &save); p; p = strtok_r(NULL, ",", &save))
        out[n++] = number(p);
    return n;
}

static void set_field(struct ti_event *ev, const char *name, const char *value)
{
    for (unsigned f = 0; f < TI_F_COUNT; f++)
        if (!strcmp(ti_field_text(f), name)) {
            ev->mask |= 1u << f;
            ev->arg[f] = number(value);
            return;
        }
    fail_msg("no field '%s'", name);
}

static struct site *find_site(const char *text)
{
    struct site *s = sites;

    while (s->text[0] && strcmp(s->text, text) != 0)
        s++;
    assert_true(s < sites + SITES_MAX);
    snprintf(s->text, sizeof s->text, "%s", text);
    return s;
}

static void take_event(struct ti_writer **w, int from, int to, const char *op, char **save)
{
    static int64_t vec[TI_VECS][64];
    struct ti_event ev = {.op = TI_OP_COUNT};
    const char *call = NULL, *name = NULL;
    struct site *site = NULL;
    uint64_t ns = 0;

    for (uint32_t o = 0; o < TI_OP_COUNT; o++)
        if (!strcmp(ti_op_info(o)->text, op))
            ev.op = o;
    assert_true(ev.op < TI_OP_COUNT);
    ev.arg[TI_F_ESIZE] = ev.arg[TI_F_ESIZE2] = 1;
    for (char *word; (word = strtok_r(NULL, " ", save));) {
        char *value = strchr(word, '=');

        *value++ = '\0';
        if (!strcmp(word, "v")) {
            ev.volume = strtoull(value, NULL, 10);
        } else if (!strcmp(word, "ns")) {
            ns = strtoull(value, NULL, 10);
        } else if (!strcmp(word, "call")) {
            call = value;
        } else if (!strcmp(word, "site")) {
            site = find_site(value);
        } else if (!strcmp(word, "name")) {
            name = value; /* all files have the first one */
        } else if (!strcmp(word, "v0") || !strcmp(word, "v1")) {
            int v = word[1] - '0';

            ev.vec[v] = (struct ti_vec){vec[v], 8, numbers(value, vec[v])};
        } else {
            set_field(&ev, word, value);
        }
    }
    ev.mask |= ti_op_info(ev.op)->fields;
    for (int r = from; r <= to; r++) {
        if (!w[r])
            continue;
        if (site && !site->number[r])
            site->number[r] = ti_writer_string(w[r], TI_STRING_SITE, site->text);
        ev.site = site ? site->number[r] : 0;
        if (call)
            ev.arg[TI_F_CALL] = ti_writer_string(w[r], TI_STRING_CALL, call);
        if (name && !named[r])
            named[r] = ti_writer_string(w[r], TI_STRING_FILE, name);
        if (name)
            ev.arg[TI_F_NAME] = named[r];
        if (times)
            ti_writer_event_extra(w[r], &ev, (const uint64_t[]){77, ns});
        else
            ti_writer_event(w[r], &ev);
    }
}

/* Introduce a communicator to those of group[at] that are among the ranks. */
static void introduce(struct ti_writer **w, int from, int to, uint32_t index, char kind,
                      int group[2][NP_MAX], const int n[2], int at)
{
    const int *mine = group[at], *others = group[!at];

    for (int i = 0; i < n[at]; i++)
        if (mine[i] >= from && mine[i] <= to && w[mine[i]])
            ti_writer_comm(w[mine[i]], index, kind, i, n[at], mine, n[!at], others);
}

static void take_comm(struct ti_writer **w, int from, int to, char **save)
{
    uint32_t index = (uint32_t)atoi(strtok_r(NULL, " ", save));
    char kind = *strtok_r(NULL, " ", save);
    char *text = strtok_r(NULL, " ", save), *second = strchr(text, '|');
    int64_t list[NP_MAX];
    int group[2][NP_MAX], n[2] = {0, 0};

    if (second)
        *second++ = '\0';
    for (int g = 0; g < 2; g++) {
        n[g] = g && !second ? 0 : numbers(g ? second : text, list);
        for (int i = 0; i < n[g]; i++)
            group[g][i] = (int)list[i];
    }
    for (int g = 0; g < 2; g++)
        introduce(w, from, to, index, kind, group, n, g);
}

const char *script_dir(void)
{
    return dir;
}

void script_forget(void)
{
    char command[128];

    ti_source_close(script_source);
    script_source = NULL;
    if (dir[0]) {
        snprintf(command, sizeof command, "rm -rf '%s'", dir);
        assert_int_equal(system(command), 0);
    }
    dir[0] = '\0';
}

void script_trace(int np, int missing, const char *script)
{
    static const char *const info[] = {"application", "test", "extra", "call_ns:ns burst_ns:ns"};
    static const uint8_t run_id[TI_RUN_ID_BYTES] = "0123456789abcde";
    struct ti_writer *w[NP_MAX] = {0};
    enum ti_end end[NP_MAX] = {0};
    int world[NP_MAX];
    char *text = strdup(script), *lines, *words;

    script_forget();
    times = strstr(script, " ns=") != NULL;
    memset(named, 0, sizeof named);
    memset(sites, 0, sizeof sites);
    strcpy(dir, "/tmp/t-script-XXXXXX");
    assert_non_null(mkdtemp(dir));
    for (int r = 0; r < np; r++)
        world[r] = r;
    for (int r = 0; r < np; r++) {
        char path[96];

        if (r == missing)
            continue;
        snprintf(path, sizeof path, "%s/rank-%06d.ti", dir, r);
        assert_int_equal(ti_writer_open(path, (uint32_t)r, (uint32_t)np, run_id, &w[r], &err),
                         TI_OK);
        ti_writer_info(w[r], script_info ? script_info : info, script_info ? 3 : 1 + times);
        if (times)
            ti_writer_extras(w[r], 2);
        ti_writer_comm(w[r], 0, 'w', r, np, world, 0, NULL);
        ti_writer_comm(w[r], 1, 's', 0, 1, &r, 0, NULL);
    }
    for (char *line = strtok_r(text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
        const char *ranks = strtok_r(line, " ", &words);
        const char *op = strtok_r(NULL, " ", &words);
        int from = *ranks == '*' ? 0 : atoi(ranks);
        int to = *ranks == '*' ? np - 1 : ranks[1] == '-' ? atoi(ranks + 2) : from;

        if (!strcmp(op, "COMM"))
            take_comm(w, from, to, &words);
        else if (!strcmp(op, "END"))
            end[from] = (enum ti_end)atoi(strtok_r(NULL, " ", &words));
        else
            take_event(w, from, to, op, &words);
    }
    for (int r = 0; r < np; r++)
        if (w[r])
            assert_int_equal(ti_writer_close(w[r], end[r], NULL, 0, &err), TI_OK);
    free(text);
    assert_int_equal(ti_source_open(dir, &script_source, &err), TI_OK);
}
