#include "acquire/run/left.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acquire/fleet/fleet.h"
#include "common/json.h"
#include "node/launch.h"
#include "node/rundir.h"

#define NODE_BASE     "/tmp" /* of run directories on nodes, unless the sites file says otherwise */
#define LIMIT_S       120.0
#define COMMAND_BYTES 60 /* of the command of a process that are printed */

struct left {
    const struct ti_options *o;
    char run_id[TI_RUN_ID_TEXT]; /* of --clean; "": all, or known by its path only */
    char path[PATH_MAX];         /* of --clean, as listed; "": known by its id only */
    char parent[PATH_MAX];       /* of the run directory that --clean names; "" */
    struct ti_fleet *fleet;      /* NULL: no nodes */
    bool remove;
    int64_t found, busy, failed;
    json_t *json; /* what is printed with --json */
};

/* --- which run ----------------------------------------------------------- */

static bool is_id(const char *text)
{
    size_t n = strlen(text);

    return n >= 12 && n < TI_RUN_ID_TEXT && strspn(text, "0123456789abcdef") == n;
}

/* The id of the run in a run directory; "" if it has neither RUN.json nor NODE.json. */
static void read_id(const char *dir, char id[TI_RUN_ID_TEXT])
{
    static const char *const names[] = {TI_RUN_JSON, TI_NODE_JSON};
    char path[PATH_MAX];

    id[0] = '\0';
    for (size_t i = 0; i < 2 && !id[0]; i++) {
        json_t *json = snprintf(path, sizeof path, "%s/%s", dir, names[i]) < (int)sizeof path
                           ? json_load_file(path, 0, NULL)
                           : NULL;
        const char *text = ti_json_string(json, "run_id");

        if (is_id(text))
            snprintf(id, TI_RUN_ID_TEXT, "%s", text);
        json_decref(json);
    }
}

static ti_status find_run(struct left *l, struct ti_err *err)
{
    const char *run = l->o->clean;
    struct stat sb;
    char *slash;

    if (stat(run, &sb) < 0 && is_id(run)) {
        snprintf(l->run_id, sizeof l->run_id, "%s", run);
        return TI_OK;
    }
    if (stat(run, &sb) < 0 || !S_ISDIR(sb.st_mode) || strlen(run) >= PATH_MAX) {
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s' is no run directory, run id or folder that --list names", run);
        ti_hint_file(err, run);
        return TI_ERR_INPUT;
    }
    strcpy(l->path, run);
    for (size_t n = strlen(l->path); n > 1 && l->path[n - 1] == '/'; n--)
        l->path[n - 1] = '\0';
    strcpy(l->parent, l->path);
    slash = strrchr(l->parent, '/');
    if (slash)
        slash[slash == l->parent] = '\0';
    else
        strcpy(l->parent, ".");
    read_id(run, l->run_id);
    return TI_OK;
}

/* --- printing ------------------------------------------------------------ */

/* "removing", "would remove", or the kind alone. */
static const char *verb(const struct left *l, bool process, bool busy)
{
    if (!l->o->clean || busy)
        return "";
    if (!l->remove)
        return process ? "would end " : "would remove ";
    return process ? "ending " : "removing ";
}

static void print_one(struct left *l, const char *where, const char *kind, const json_t *one)
{
    const char *path = ti_json_string(one, "path"), *id = ti_json_string(one, "run_id");
    const char *command = ti_json_string(one, "command");
    bool busy = json_is_true(json_object_get(one, "busy")), process = !*path;
    char size[32];

    l->found++;
    l->busy += busy;
    if (l->o->json)
        return;
    ti_print(stdout, "%s%s%s%s ", where, *where ? ": " : "", verb(l, process, busy), kind);
    if (process)
        ti_print(stdout, "%" PRId64 ", '%.*s%s'", ti_json_integer(one, "pid"), COMMAND_BYTES,
                 command, strlen(command) > COMMAND_BYTES ? "..." : "");
    else
        ti_print(stdout, "'%s', %s", path,
                 ti_format_size(ti_json_integer(one, "bytes"), size, sizeof size));
    if (ti_json_integer(one, "np"))
        ti_print(stdout, ", %" PRId64 " ranks", ti_json_integer(one, "np"));
    if (*ti_json_string(one, "state") && !(strcmp(ti_json_string(one, "state"), "running") == 0))
        ti_print(stdout, ", %s", ti_json_string(one, "state"));
    else if (*ti_json_string(one, "state") && !busy)
        ti_print(stdout, ", killed");
    if (*id)
        ti_print(stdout, ", run %.12s", id);
    ti_print(stdout, "%s\n", !busy ? "" : *id ? ": the run goes on" : ": in use");
}

static void print_all(struct left *l, const char *where, const json_t *all)
{
    static const char *const kinds[][2] = {
        {"directories", "run directory"}, {"folders", "folder"}, {"processes", "process"}};
    const json_t *one;
    size_t i;

    for (int k = 0; k < 3; k++)
        json_array_foreach(json_object_get(all, kinds[k][0]), i, one)
            print_one(l, where, kinds[k][1], one);
    fflush(stdout);
}

static void say_failures(struct left *l, const char *where, const json_t *all)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(all, "left"), i, one)
    {
        l->failed++;
        ti_warn("%s%s%s", where, *where ? ": " : "", json_string_value(one));
    }
}

/* --- this machine -------------------------------------------------------- */

/* Keep only the entry with that path; processes have none. */
static void keep_path(json_t *all, const char *path)
{
    static const char *const keys[] = {"directories", "folders", "processes"};

    for (int k = 0; k < 3; k++) {
        json_t *list = json_object_get(all, keys[k]);

        for (size_t i = json_array_size(list); i-- > 0;)
            if (strcmp(ti_json_string(json_array_get(list, i), "path"), path) != 0)
                json_array_remove(list, i);
    }
}

static ti_status look_here(struct left *l, json_t **out, struct ti_err *err)
{
    const char *bases[] = {*l->parent ? l->parent : ".", NODE_BASE, NULL};
    char cwd[PATH_MAX];

    /* each directory once */
    if (strcmp(bases[0], NODE_BASE) == 0 ||
        (strcmp(bases[0], ".") == 0 && getcwd(cwd, sizeof cwd) && strcmp(cwd, NODE_BASE) == 0))
        bases[1] = NULL;
    *out = ti_left_find(bases, *l->run_id ? l->run_id : NULL);
    if (!*out)
        return ti_err_set(err, TI_ERR_IO, "cannot look for what is left: out of memory");
    if (l->o->clean && !*l->run_id)
        keep_path(*out, l->path);
    return TI_OK;
}

/* --- nodes --------------------------------------------------------------- */

static json_t *request(struct ti_fleet *f, int64_t node, void *arg)
{
    const struct left *l = arg;
    const struct ti_cluster *c = &f->sites->cluster[f->sites->node[node].cluster];

    /* what is left on this machine is found without asking */
    if (f->member[node].is_local && (!c->trace_dir || strcmp(c->trace_dir, NODE_BASE) == 0))
        return NULL;
    return json_pack("{s:s, s:s, s:s*, s:b}", "do", "left", "base",
                     c->trace_dir ? c->trace_dir : NODE_BASE, "run_id",
                     *l->run_id ? l->run_id : NULL, "remove", l->remove);
}

static ti_status connect_nodes(struct left *l, const struct ti_sites *sites, struct ti_err *err)
{
    static struct ti_paths paths;
    struct ti_fleet_callbacks calls = {.arg = NULL};
    ti_status st = ti_paths_find(&paths, err);

    ti_launch_share_children();
    if (st == TI_OK)
        st = ti_fleet_new(sites, NULL, &paths, l->o->transport, (double)l->o->silence_s, &calls,
                          &l->fleet, err);
    if (st == TI_OK)
        st = ti_fleet_connect(l->fleet, err);
    if (st == TI_OK && l->fleet->sig)
        st = ti_err_set(err, TI_ERR_IO, "interrupted by signal %d", l->fleet->sig);
    return st;
}

/* Ask all nodes; `print` what is there, or say what could not be removed.  The first node that
 * cannot be asked is in `err`; the others are asked all the same. */
static ti_status ask(struct left *l, bool remove, struct ti_err *err)
{
    ti_status st = TI_OK;

    l->remove = remove;
    ti_fleet_ask_all(l->fleet, request, l, LIMIT_S, "looking for what is left");
    for (int64_t i = 0; i < l->fleet->n; i++) {
        const char *name = l->fleet->sites->node[i].name;
        json_t *answer = l->fleet->member[i].answer;
        struct ti_err why = {"", ""};

        if (l->fleet->member[i].state == TI_NODE_READY && !answer)
            continue; /* it is this machine */
        if (!ti_fleet_ok(l->fleet, i, &why)) {
            ti_warn("%s", why.text);
            if (st == TI_OK)
                st = ti_err_set(err, TI_ERR_REMOTE, "not all nodes could be asked");
            continue;
        }
        if (remove) {
            say_failures(l, name, answer);
            continue;
        }
        l->remove = l->o->clean && !l->o->dry_run;
        print_all(l, name, answer);
        if (l->o->json)
            json_object_set(json_object_get(l->json, "nodes"), name, answer);
    }
    return st;
}

/* --- both ---------------------------------------------------------------- */

static ti_status check(const struct left *l, const json_t *here, const struct ti_sites *sites,
                       struct ti_err *err)
{
    if (l->o->clean && l->busy) {
        ti_err_set(err, TI_ERR_INPUT, "run '%s' goes on, nothing was removed", l->o->clean);
        ti_err_hint(err, "end its ti-acquire, by Ctrl-C or SIGTERM: it cleans up after itself");
        return TI_ERR_INPUT;
    }
    if (!l->found && !l->o->json)
        ti_say("nothing is left%s", l->o->clean ? " of that run" : "");
    if (!sites && l->o->clean && l->found && !l->o->json) {
        const json_t *run = json_array_get(json_object_get(here, "directories"), 0);

        if (json_is_true(json_object_get(run, "nodes")))
            ti_say("the run was on nodes: with --sites or --hostfile they are cleaned as well");
    }
    return TI_OK;
}

ti_status ti_left_act(const struct ti_options *o, const struct ti_sites *sites, struct ti_err *err)
{
    struct left *l = calloc(1, sizeof *l);
    json_t *here = NULL;
    ti_status st = TI_OK, nodes = TI_OK;

    if (!l)
        return ti_err_set(err, TI_ERR_IO, "cannot look for what is left: out of memory");
    l->o = o;
    l->remove = o->clean && !o->dry_run;
    if (o->clean)
        st = find_run(l, err);
    if (st == TI_OK)
        st = look_here(l, &here, err);
    if (st == TI_OK) {
        l->json = json_pack("{s:O, s:{}}", "here", here, "nodes");
        print_all(l, "", here);
    }
    if (st == TI_OK && sites && (!o->clean || *l->run_id)) {
        st = connect_nodes(l, sites, err);
        if (st == TI_OK)
            nodes = ask(l, false, err);
    }
    if (st == TI_OK)
        st = check(l, here, sites, nodes == TI_OK ? err : &(struct ti_err){"", ""});
    if (st == TI_OK && o->clean && !o->dry_run) {
        ti_left_remove(here);
        say_failures(l, "", here);
        if (l->fleet)
            ask(l, true, err);
    }
    if (o->json && l->json)
        json_dumpf(l->json, stdout, JSON_INDENT(1));
    if (o->json && l->json)
        putchar('\n');
    ti_fleet_free(l->fleet);
    json_decref(here);
    json_decref(l->json);
    if (st == TI_OK)
        st = nodes != TI_OK ? nodes : l->failed ? TI_ERR_PARTIAL : TI_OK;
    free(l);
    return st;
}
