/* Launching mpirun: run directories on the nodes, the command, the process. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acquire/fleet/here.h"
#include "acquire/run/describe.h"
#include "acquire/run/environment.h"
#include "acquire/run/nodes.h"
#include "common/json.h"

#define OPEN_LIMIT_S   60.0
#define FILES_PER_NODE 4

/* --- run directories on the nodes ------------------------------------------ */

/* The JSON from which a node makes the command of a container; NULL: there is none.  Valgrind's
 * folder is where the node's counter was tried. */
static json_t *container_request(const struct ti_nodes_backend *b, int64_t node,
                                 struct ti_args *env)
{
    const json_t *counter = json_object_get(b->survey.facts[node], "counter");
    struct ti_container c;

    if (!ti_environment_container(b->a, &c))
        return NULL;
    if (*ti_json_string(counter, "valgrind_lib"))
        ti_args_addf(env, "VALGRIND_LIB=%s", ti_json_string(counter, "valgrind_lib"));
    return json_pack("{s:s, s:b, s:b}", "image", c.image, "valgrind", c.valgrind, "perf", c.perf);
}

static json_t *open_request(struct ti_fleet *f, int64_t node, void *arg)
{
    struct ti_nodes_backend *b = arg;
    const struct ti_used_node *u = ti__nodes_used(b, node);
    const struct ti_cluster *cluster;
    struct ti_args env = {.n = 0}, wrapper = {.n = 0};
    json_t *jenv, *jwrapper, *container, *request;

    (void)f;
    if (!u)
        return NULL;
    jenv = json_array();
    jwrapper = json_array();
    cluster = &b->sites->cluster[b->sites->node[node].cluster];
    ti_environment_there(b->a, u->n, &env);
    for (int i = 0; i < cluster->nenv; i++)
        ti_args_add(&env, cluster->env[i]);
    if (ti_mpirun_is_prrte(&b->a->mpirun))
        ti_args_addf(&env, "OMPI_MCA_btl_sm_backing_directory=%s", u->shm);
    else if (!b->a->mpirun.hydra)
        ti_args_addf(&env, "OMPI_MCA_btl_vader_backing_directory=%s", u->shm);
    ti_environment_wrapper(b->a, &wrapper);
    container = container_request(b, node, &env);
    for (int i = 0; i < env.n; i++)
        json_array_append_new(jenv, ti_json_text(env.v[i]));
    for (int i = 0; i < wrapper.n; i++)
        json_array_append_new(jwrapper, ti_json_text(wrapper.v[i]));
    /* ti-node executes the program that is named here in place of the command's first word */
    request = json_pack(
        "{s:s, s:s, s:s, s:I, s:o, s:b, s:s*, s:o, s:o, s:s, s:s, s:b, s:b, s:b, s:b, s:o*, s:[s, "
        "s]}",
        "do", "open", "run_id", b->a->run_id, "trace_dir", u->directory, "np",
        (json_int_t)b->a->o->np, "ranks", ti_rank_map_json(&b->map, u->node), "force", 0, "program",
        b->a->o->nmore || container ? NULL
        : cluster->program          ? cluster->program
                                    : b->ask.program,
        "env", jenv, "wrapper", jwrapper, "node", b->sites->node[node].name, "cwd", b->cwd, "idle",
        b->a->plan.folding > 1, "timer_slack", b->a->plan.timer_slack, "valgrind",
        b->a->choice.valgrind && !container, "no_core", b->a->choice.valgrind, "container",
        container, "scratch", u->tmp, u->shm);
    ti_args_free(&env);
    ti_args_free(&wrapper);
    return request;
}

ti_status ti__nodes_open(struct ti_nodes_backend *b, struct ti_err *err)
{
    ti_fleet_ask_all(b->fleet, open_request, b, OPEN_LIMIT_S, "opening");
    if (b->fleet->sig)
        return ti__nodes_trouble(b, err);
    for (int64_t i = 0; i < b->nused; i++) {
        struct ti_used_node *u = &b->used[i];

        if (!ti_fleet_ok(b->fleet, u->node, err))
            return TI_ERR_REMOTE;
        u->open = true;
        snprintf(u->node_file, sizeof u->node_file, "%.4000s/%s",
                 ti_json_string(b->fleet->member[u->node].answer, "directory"), TI_NODE_JSON);
    }
    return TI_OK;
}

/* --- the command --------------------------------------------------------- */

/* Whether the first `n` bytes of `word` are an element of the list "A,B,C". */
static bool has_word(const char *list, const char *word, size_t n)
{
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && memcmp(at, word, n) == 0)
            return true;
    return false;
}

/* Append the elements of `more` that `all` lacks.  Releases `all`; returns a new text, or NULL. */
static char *add_words(char *all, const char *more)
{
    for (size_t n; *more; more += n, more += *more == ',') {
        char *longer;

        n = strcspn(more, ",");
        if (!n || has_word(all, more, n))
            continue;
        if (asprintf(&longer, "%s%s%.*s", all ? all : "", all ? "," : "", (int)n, more) < 0)
            longer = NULL;
        free(all);
        all = longer;
    }
    return all;
}

/* The interfaces of all used sites; Open MPI ignores those that a node does not have. */
static char *networks(const struct ti_nodes_backend *b)
{
    char *all = NULL;

    for (int s = 0; s < b->sites->nsites; s++) {
        const char *network = b->sites->site[s].network;
        bool used = false;

        for (int64_t i = 0; i < b->nused && !used; i++)
            used = b->sites->cluster[b->sites->node[b->used[i].node].cluster].site == s;
        if (used && network)
            all = add_words(all, network);
    }
    return all;
}

/* On its node a rank starts as "ti-node run", which sets the rank up as planned and executes the
 * program. */
static void rank_command(const char *program, const struct ti_args *words, bool dry_launch,
                         struct ti_args *out)
{
    ti_args_add(out, "sh", "-c", "exec \"$TIARA_NODE\" run \"$@\"", "ti-node",
                dry_launch ? "--dry-launch" : program);
    if (!dry_launch)
        ti_args_add_all(out, words, 1);
}

/* With several programs, mpirun 4 reads a list of nodes for each; PRRTE and Hydra have one host
 * file. */
struct more {
    struct ti_args words;
    char hosts[PATH_MAX + 32];
};

/* Make the commands and the lists of the further programs: `part` and `job`, each of o->nmore. */
static ti_status more_programs(const struct ti_nodes_backend *b, bool dry_launch, struct more *part,
                               struct ti_mpirun_program *job, struct ti_err *err)
{
    const struct ti_options *o = b->a->o;
    int64_t first = ti_options_first_np(o);
    ti_status st = TI_OK;

    for (int i = 0; i < o->nmore && st == TI_OK; i++) {
        const char *program = ti_acquisition_program(b->a, i + 1)->path;

        snprintf(part[i].hosts, sizeof part[i].hosts, "%s/hosts.%d", b->a->dir.tmp, i + 1);
        rank_command(program ? program : o->more[i].words.v[0], &o->more[i].words, dry_launch,
                     &part[i].words);
        job[i] = (struct ti_mpirun_program){o->more[i].np, &part[i].words, part[i].hosts};
        if (!b->a->mpirun.hydra && !ti_mpirun_is_prrte(&b->a->mpirun))
            st = ti_rank_map_list(&b->map, b->sites, first, o->more[i].np, part[i].hosts, err);
        first += o->more[i].np;
    }
    return st;
}

static bool has_domains(const struct ti_nodes_backend *b)
{
    for (int64_t i = 0; i < b->nused; i++)
        if (strchr(b->sites->node[b->used[i].node].name, '.'))
            return true;
    return false;
}

/* The address of this machine to which Hydra's proxies connect; false: the nodes are this one, or
 * no address is known. */
static bool our_address(const struct ti_nodes_backend *b, const char *network,
                        char text[INET_ADDRSTRLEN])
{
    for (int64_t i = 0; b->a->mpirun.hydra && i < b->nused; i++)
        if (!b->fleet->member[b->used[i].node].is_local)
            return ti_here_address(network, b->sites->node[b->used[i].node].name, text);
    return false;
}

/* `ranks` becomes the rank file, if there is one. */
static ti_status write_prrte_hosts(const struct ti_nodes_backend *b, const char *path,
                                   const char *ranks, struct ti_err *err)
{
    struct ti_rank_map map = b->map;
    bool *local = calloc((size_t)b->sites->nnodes + 1, sizeof *local), *undotted;
    ti_status st;

    if (!local)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    for (int64_t i = 0; i < b->nused; i++)
        local[b->used[i].node] = b->fleet->member[b->used[i].node].is_local;
    map.undotted = undotted = ti_rank_map_undot(&map, b->sites, local);
    free(local);
    if (!b->a->o->nmore)
        st = ti_rank_map_hostfile(&map, b->sites, path, err);
    else
        st = ti_rank_map_slots(&map, b->sites, path, err);
    if (st == TI_OK && b->a->o->nmore && map.node)
        st = ti_rank_map_rankfile(&map, b->sites, ranks, err);
    free(undotted);
    return st;
}

static ti_status write_hosts(const struct ti_nodes_backend *b, const char *path, const char *ranks,
                             struct ti_err *err)
{
    const struct ti_options *o = b->a->o;

    if (b->a->mpirun.hydra)
        return ti_rank_map_hydra(&b->map, b->sites, path, err);
    if (ti_mpirun_is_prrte(&b->a->mpirun))
        return write_prrte_hosts(b, path, ranks, err);
    if (o->nmore)
        return ti_rank_map_list(&b->map, b->sites, 0, ti_options_first_np(o), path, err);
    return ti_rank_map_hostfile(&b->map, b->sites, path, err);
}

ti_status ti__nodes_command(struct ti_nodes_backend *b, bool dry_launch, struct ti_args *out,
                            struct ti_err *err)
{
    struct ti_args none = {.n = 0}, program = {.n = 0};
    char hosts[PATH_MAX + 16], ranks[PATH_MAX + 16], address[INET_ADDRSTRLEN];
    char *network = networks(b);
    const struct ti_options *o = b->a->o;
    bool prrte = ti_mpirun_is_prrte(&b->a->mpirun);
    struct more *part = calloc((size_t)o->nmore + 1, sizeof *part);
    struct ti_mpirun_program *more = calloc((size_t)o->nmore + 1, sizeof *more);
    struct ti_mpirun_nodes nodes = {.hostfile = hosts,
                                    .listed =
                                        prrte ? b->map.node && !o->nmore : b->map.node || o->nmore,
                                    .rankfile = prrte && b->map.node && o->nmore ? ranks : NULL,
                                    .fqdn = has_domains(b),
                                    .agent = b->a->paths.rsh,
                                    .network = network,
                                    .address = our_address(b, network, address) ? address : NULL};
    struct ti_mpirun_job run = {.np = ti_options_first_np(o),
                                .env = &none,
                                .user = &o->mpirun,
                                .wrapper = &none,
                                .program = &program,
                                .more = more,
                                .nmore = o->nmore,
                                .nodes = &nodes};
    ti_status st;

    snprintf(hosts, sizeof hosts, "%s/hosts", b->a->dir.tmp);
    snprintf(ranks, sizeof ranks, "%s/ranks", b->a->dir.tmp);
    rank_command(b->ask.program, &o->program, dry_launch, &program);
    if (!part || !more)
        st = ti_err_errno(err, TI_ERR_IO, "cannot put mpirun's command together");
    else
        st = write_hosts(b, hosts, ranks, err);
    if (st == TI_OK)
        st = more_programs(b, dry_launch, part, more, err);
    if (st == TI_OK)
        st = ti_mpirun_command(&b->a->mpirun, &b->a->plan, &run, out, err);
    for (int i = 0; part && i < o->nmore; i++)
        ti_args_free(&part[i].words);
    free(part);
    free(more);
    ti_args_free(&program);
    free(network);
    return st;
}

/* --- mpirun -------------------------------------------------------------- */

/* SHELL selects mpirun's shell syntax; the socket is for ti-rsh.  The rest is for ranks that
 * mpirun starts on this machine, where ti-node does not set it. */
static void mpirun_environment(const struct ti_nodes_backend *b, struct ti_args *env)
{
    ti_args_add(env, "SHELL=/bin/sh");
    ti_args_addf(env, "TMPDIR=%s", b->a->dir.tmp);
    ti_args_addf(env, "%s=%s", TI_RSH_SOCKET, ti_rsh_path(b->rsh));
    for (int64_t i = 0; i < b->nused; i++) {
        const struct ti_fleet_node *m = &b->fleet->member[b->used[i].node];

        if (!m->is_local)
            continue;
        ti_args_addf(env, "TIARA_NODE=%s/ti-node", ti_json_string(m->hello, "folder"));
        ti_args_addf(env, "TIARA_NODE_NAME=%s", b->sites->node[b->used[i].node].name);
        ti_args_addf(env, "TIARA_NODE_FILE=%s", b->used[i].node_file);
    }
}

/* A harmless warning: mpirun 4.1 may put ti-rsh into its own process group too late. */
static bool is_chatter(const char *text, size_t bytes)
{
    static const char words[] = "plm:rsh: Warning: setpgid(";
    const char *end = memchr(text, '\n', bytes);

    return memmem(text, bytes, words, sizeof words - 1) && end == text + bytes - 1;
}

static void on_err(int fd, void *arg)
{
    struct ti_mpirun_proc *p = arg;
    char buf[4096];
    ssize_t n = read(fd, buf, sizeof buf);

    if (n > 0) {
        ti_progress_clear();
        p->forward.open_line = buf[n - 1] != '\n';
        ti_runlog_text(&p->backend->a->log, buf, (size_t)n);
        if (is_chatter(buf, (size_t)n))
            return;
        if (!p->mute)
            p->mute = write(STDERR_FILENO, buf, (size_t)n) < 0;
        return;
    }
    if (n < 0 && errno == EINTR)
        return;
    ti_remote_drop_fd(p->backend->fleet->remote, fd);
    close(fd);
    p->err = -1;
}

static void on_pass(int fd, void *arg)
{
    struct ti_mpirun_proc *p = arg;

    ti_forward_one(&p->forward, 0);
    if (p->forward.from[0] < 0)
        ti_remote_drop_fd(p->backend->fleet->remote, fd);
}

/* Limits of captured output; each rank prints one line. */
#define OUT_BYTES      (size_t)(1 << 20)
#define OUT_RANK_BYTES (size_t)1024

static void on_out(int fd, void *arg)
{
    struct ti_mpirun_proc *p = arg;
    size_t room = p->out_room - p->out_bytes;
    char drop[4096];
    ssize_t n;

    p->flooded =
        p->flooded || p->out_bytes > OUT_BYTES + OUT_RANK_BYTES * (size_t)p->backend->a->o->np;
    if (p->flooded) {
        n = read(fd, drop, sizeof drop);
        if (n > 0 || (n < 0 && errno == EINTR))
            return;
        room = 1; /* for the terminating 0 */
    }
    if (room < 4096 && !p->flooded) {
        char *grown = realloc(p->out_text, p->out_room + 65536);

        if (!grown)
            return;
        p->out_text = grown;
        p->out_room += 65536;
        room += 65536;
    }
    n = read(fd, p->out_text + p->out_bytes, room - 1);
    if (n > 0) {
        p->out_bytes += (size_t)n;
        p->out_text[p->out_bytes] = '\0';
        return;
    }
    if (n < 0 && errno == EINTR)
        return;
    ti_remote_drop_fd(p->backend->fleet->remote, fd);
    close(fd);
    p->out = -1;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static ti_status start(struct ti_nodes_backend *b, struct ti_args *command, bool capture, int in,
                       struct ti_mpirun_proc *p, struct ti_err *err)
{
    int e[2] = {-1, -1}, o[2] = {-1, -1}, fds[3];
    struct ti_launch l = {.argv = command->v,
                          .run_id = b->a->run_id,
                          .fds = fds,
                          .env = p->env.v,
                          .no_core = b->a->choice.valgrind,
                          .files = (long)b->nused * FILES_PER_NODE + (long)b->a->o->np * 4 + 256};
    int out = b->a->o->json ? STDERR_FILENO : STDOUT_FILENO;
    ti_status st = ti_forward_open(&p->forward, capture ? -1 : out, -1, err);

    if (st != TI_OK)
        return st;
    if (in < 0 || pipe2(e, O_CLOEXEC) < 0 || (capture && pipe2(o, O_CLOEXEC) < 0)) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot start 'mpirun'");
    } else {
        fds[0] = in;
        fds[1] = capture ? o[1] : p->forward.into[0] ? p->forward.into[0] : out;
        fds[2] = e[1];
        st = ti_launch_start(&l, &p->proc, err);
    }
    ti_forward_started(&p->forward);
    close_fd(&e[1]);
    close_fd(&o[1]);
    p->err = e[0];
    p->out = o[0];
    return st;
}

ti_status ti__mpirun_start(struct ti_nodes_backend *b, struct ti_args *command, bool capture,
                           struct ti_mpirun_proc *p, struct ti_err *err)
{
    bool quiet = capture || isatty(STDIN_FILENO);
    int null = quiet ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    struct ti_args recorded;
    char *text;
    ti_status st;

    ti_describe_command(b->a, command, &recorded);
    text = ti_args_ok(&recorded) ? ti_args_shell(&recorded) : NULL;
    ti_runlog_note(&b->a->log, "%s", text ? text : "mpirun");
    ti_args_free(&recorded);
    free(text);
    *p = (struct ti_mpirun_proc){.backend = b, .out = -1, .err = -1, .forward = {.from = {-1, -1}}};
    mpirun_environment(b, &p->env);
    st = ti_args_ok(&p->env) ? start(b, command, capture, quiet ? null : STDIN_FILENO, p, err)
                             : ti_err_set(err, TI_ERR_IO, "cannot start 'mpirun': out of memory");
    close_fd(&null);
    if (st != TI_OK) {
        close_fd(&p->err);
        close_fd(&p->out);
        ti_forward_close(&p->forward);
        ti_args_free(&p->env);
        return st;
    }
    ti_remote_add_fd(b->fleet->remote, p->err, on_err, p);
    if (capture)
        ti_remote_add_fd(b->fleet->remote, p->out, on_out, p);
    if (p->forward.from[0] >= 0)
        ti_remote_add_fd(b->fleet->remote, p->forward.from[0], on_pass, p);
    return TI_OK;
}

void ti__mpirun_close(struct ti_nodes_backend *b, struct ti_mpirun_proc *p)
{
    /* the rest of its output is still in the pipes */
    for (double until = ti_now() + 1;
         (p->err >= 0 || p->out >= 0 || p->forward.from[0] >= 0) && ti_now() < until;)
        ti_fleet_poll(b->fleet, 20);
    if (p->forward.from[0] >= 0)
        ti_remote_drop_fd(b->fleet->remote, p->forward.from[0]);
    ti_forward_close(&p->forward);
    for (int i = 0; i < 2; i++) {
        int *fd = i ? &p->out : &p->err;

        if (*fd >= 0)
            ti_remote_drop_fd(b->fleet->remote, *fd);
        close_fd(fd);
    }
    ti_args_free(&p->env);
}
