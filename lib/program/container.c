#include "program/container.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/beside.h"
#include "common/json.h"
#include "common/write.h"

/* --- the engine ---------------------------------------------------------- */

/* Names of Podman's images begin with a letter or a digit. */
static bool is_apptainer(const char *image)
{
    size_t n = strlen(image);

    return image[0] == '/' || image[0] == '.' || (n > 4 && strcmp(image + n - 4, ".sif") == 0);
}

ti_status ti_container_engine(const char *image, const char **name, struct ti_err *err)
{
    static const char *const apptainer[] = {"apptainer", "singularity", NULL};
    static const char *const podman[] = {"podman", NULL};
    bool is_file = is_apptainer(image);
    char path[PATH_MAX];

    if (is_file && access(image, R_OK) < 0)
        return ti_err_errno(err, TI_ERR_INPUT, "cannot open the image '%s'", image);
    for (const char *const *n = is_file ? apptainer : podman; *n; n++)
        if (ti_find_on_path(*n, path)) {
            *name = *n;
            return TI_OK;
        }
    ti_err_set(err, TI_ERR_INPUT, "cannot run the image '%s': cannot find '%s' on PATH", image,
               is_file ? *apptainer : *podman);
    ti_err_hint(err, is_file ? "an image by path is run by Apptainer; by Podman, one that 'podman "
                               "images' lists"
                             : "an image by name is run by Podman; by Apptainer, one by path, such "
                               "as ./IMAGE.sif");
    return TI_ERR_INPUT;
}

ti_status ti_container_present(const char *image, char *id, struct ti_err *err)
{
    char *argv[] = {"podman", "image", "inspect", "--format={{.Id}}", (char *)(uintptr_t)image,
                    NULL};
    const char *engine;
    char *text = NULL;
    ti_status st = ti_container_engine(image, &engine, err);

    id[0] = '\0';
    if (st != TI_OK || is_apptainer(image))
        return st;
    if (ti_read_output(argv, STDOUT_FILENO, NULL, NULL, &text) == 0)
        snprintf(id, TI_CONTAINER_ID, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
    if (id[0])
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT, "Podman has no image '%s'", image);
    ti_err_hint(err, "load the same image there: 'podman pull', or 'podman save' here and 'podman "
                     "load' there");
    return TI_ERR_INPUT;
}

/* --- folders ------------------------------------------------------------- */

/* The folders that are shared, and where; the list is a few words long. */
struct shares {
    struct ti_args from, to; /* as many of one as of the other */
    struct ti_args mode;     /* "ro" or "rw" */
    const char *bad;         /* a name that cannot be shared */
};

static void share(struct shares *s, const char *from, const char *to, const char *mode)
{
    if (strpbrk(from, ":,"))
        s->bad = from;
    ti_args_add(&s->from, from);
    ti_args_add(&s->to, to);
    ti_args_add(&s->mode, mode);
}

/* Share a folder of the run under its own name, unless one above it is shared. */
static void share_same(struct shares *s, const char *folder)
{
    if (!folder || !folder[0] || strcmp(folder, "/") == 0)
        return;
    for (int i = 0; i < s->to.n; i++) {
        size_t n = strlen(s->to.v[i]);

        if (strncmp(folder, s->to.v[i], n) == 0 && (folder[n] == '/' || !folder[n]))
            return;
    }
    share(s, folder, folder, "rw");
}

static void share_folder_of(struct shares *s, const char *file, const char *to)
{
    const char *slash = strrchr(file, '/');
    char folder[PATH_MAX];

    if (!slash)
        return; /* ti_paths_find() has not found it */
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - file), file);
    share(s, folder, to ? to : folder, "ro");
}

/* The valgrind that ticount was built for: its launcher, which may stand behind a script, and the
 * files that our folder has links to. */
static void share_valgrind(struct shares *s, const struct ti_paths *paths)
{
    char launcher[PATH_MAX + 8], link[PATH_MAX + 32], file[PATH_MAX];

    snprintf(link, sizeof link, "%s/default.supp", paths->valgrind);
    if (!paths->valgrind[0] || !ti_find_on_path("valgrind", launcher) || !realpath(link, file))
        return;
    strcat(launcher, ".bin");
    if (access(launcher, X_OK) < 0)
        *strrchr(launcher, '.') = '\0';
    share(s, launcher, "/usr/bin/valgrind", "ro");
    share_folder_of(s, file, NULL);
}

static void find_shares(const struct ti_container *c, struct shares *s)
{
    char here[PATH_MAX];

    share_folder_of(s, c->paths->library, "/.tiara/lib");
    share_folder_of(s, c->paths->counter, "/.tiara/bin");
    if (c->valgrind)
        share_valgrind(s, c->paths);
    share_same(s, "/tmp");
    share_same(s, getcwd(here, sizeof here) ? here : NULL);
    for (size_t i = 0; i < sizeof c->folder / sizeof *c->folder; i++)
        share_same(s, c->folder[i]);
}

/* --- commands ------------------------------------------------------------ */

/* Ranks need the machine's network, processes (Open MPI copies from one process to another) and
 * shared memory, and write traces as the user.  "OMPI_*" is each variable that begins so. */
static void podman(const struct ti_container *c, const struct shares *s, const struct ti_args *env,
                   struct ti_args *out)
{
    static const char *const settings[] = {"OMPI_*", "PMIX_*", "PRTE_*", "TIARA_*", NULL};
    char here[PATH_MAX];

    ti_args_add(out, "run", "--rm", "--interactive", "--entrypoint=", "--log-driver=none",
                "--network=host", "--pid=host", "--security-opt=label=disable");
    /* without privileges, Podman needs /dev/mqueue for all that --ipc shares */
    ti_args_add(out,
                access("/dev/mqueue", F_OK) == 0 ? "--ipc=host" : "--volume=/dev/shm:/dev/shm:rw");
    if (c->perf)
        ti_args_add(out, "--security-opt=seccomp=unconfined");
    if (geteuid() != 0)
        ti_args_add(out, "--userns=keep-id");
    ti_args_addf(out, "--user=%u:%u", geteuid(), getegid());
    if (getcwd(here, sizeof here))
        ti_args_addf(out, "--workdir=%s", here);
    for (int i = 0; i < s->from.n; i++)
        ti_args_addf(out, "--volume=%s:%s:%s", s->from.v[i], s->to.v[i], s->mode.v[i]);
    for (int i = 0; settings[i]; i++)
        ti_args_addf(out, "--env=%s", settings[i]);
    for (int i = 0; i < env->n; i++)
        if (strncmp(env->v[i], "TIARA_", 6) != 0)
            ti_args_addf(out, "--env=%.*s", (int)strcspn(env->v[i], "="), env->v[i]);
}

/* Apptainer shares by itself all that Podman is asked for, /tmp included, and the environment. */
static void apptainer(const struct shares *s, struct ti_args *out)
{
    char here[PATH_MAX];

    ti_args_add(out, "exec");
    if (getcwd(here, sizeof here))
        ti_args_addf(out, "--pwd=%s", here);
    for (int i = 0; i < s->from.n; i++)
        if (strcmp(s->from.v[i], "/tmp") != 0)
            ti_args_addf(out, "--bind=%s:%s:%s", s->from.v[i], s->to.v[i], s->mode.v[i]);
}

/* Move LD_PRELOAD=VALUE from the list, if it is there, to `preload`. */
static void take_preload(struct ti_args *env, struct ti_args *preload)
{
    struct ti_args kept = {.n = 0, .failed = env->failed};

    for (int i = 0; i < env->n; i++)
        ti_args_add(strncmp(env->v[i], "LD_PRELOAD=", 11) == 0 ? preload : &kept, env->v[i]);
    ti_args_free(env);
    *env = kept;
}

ti_status ti_container_words(const struct ti_container *c, struct ti_args *env, struct ti_args *out,
                             struct ti_err *err)
{
    struct shares s = {.bad = NULL};
    struct ti_args preload = {.n = 0};
    const char *engine;
    ti_status st = ti_container_engine(c->image, &engine, err);

    if (st != TI_OK)
        return st;
    take_preload(env, &preload);
    find_shares(c, &s);
    if (s.bad) {
        st = ti_err_set(err, TI_ERR_INPUT, "cannot share '%s' with a container", s.bad);
        ti_err_hint(err, "its name must have no colon and no comma");
    }
    ti_args_add(out, engine);
    if (is_apptainer(c->image))
        apptainer(&s, out);
    else
        podman(c, &s, env, out);
    for (int i = 0; i < preload.n; i++)
        ti_args_addf(out, "--env=%s", preload.v[i]);
    ti_args_add(out, c->image);
    if (st == TI_OK && (s.from.failed || s.to.failed || s.mode.failed || preload.failed))
        st = ti_err_memory(err, "share folders with a container");
    ti_args_free(&s.from);
    ti_args_free(&s.to);
    ti_args_free(&s.mode);
    ti_args_free(&preload);
    return st;
}

/* --- questions ----------------------------------------------------------- */

/* Podman exits with 125 or 126 if it fails itself, Apptainer with 255; both have said why. */
static ti_status not_run(const struct ti_container *c, const char *engine, int status,
                         struct ti_err *err)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

    if (code == 125 || code == 126 || code == 255)
        return ti_err_set(err, TI_ERR_INPUT, "cannot start a container of '%s': %s failed",
                          c->image, engine);
    ti_err_set(err, TI_ERR_INPUT,
               "cannot look into a container of '%s': our 'ti-node-counter' exited there with %d",
               c->image, code);
    ti_err_hint(err, "it needs a C library as new as that of the machine where Tiara was built");
    return TI_ERR_INPUT;
}

/* Run ti-node-counter in the image.  *out is its answer, without an error. */
static ti_status ask(const struct ti_container *c, const char *const *arguments, json_t **out,
                     struct ti_err *err)
{
    struct ti_args command = {.n = 0}, none = {.n = 0};
    ti_status st = ti_container_words(c, &none, &command, err);
    char *text = NULL;
    int status;

    *out = NULL;
    ti_args_add(&command, "/.tiara/bin/ti-node-counter");
    ti_args_add_list(&command, arguments);
    if (st == TI_OK && !ti_args_ok(&command))
        st = ti_err_memory(err, "ask in a container");
    if (st == TI_OK) {
        status = ti_read_output(command.v, STDOUT_FILENO, NULL, NULL, &text);
        if (status != 0) {
            st = not_run(c, command.v[0], status, err);
        } else {
            *out = ti_json_lines(text);
        }
    }
    if (*out && *ti_json_string(*out, "error")) {
        st = ti_err_set(err, TI_ERR_INPUT, "in '%s': %s", c->image, ti_json_string(*out, "error"));
        if (*ti_json_string(*out, "hint"))
            ti_err_hint(err, "%s", ti_json_string(*out, "hint"));
    }
    free(text);
    ti_args_free(&command);
    return st;
}

ti_status ti_container_find(const struct ti_container *c, const char *given, struct ti_program *p,
                            struct ti_err *err)
{
    ti_status st = ti_program_elsewhere(given, p, err);
    json_t *j = NULL;

    if (st == TI_OK)
        st = ask(c, (const char *const[]){"--program", given, NULL}, &j, err);
    if (st == TI_OK) {
        p->path = strdup(ti_json_string(j, "path"));
        for (unsigned i = 0; i < TI_MPI_KINDS; i++)
            if (strcmp(ti_json_string(j, "mpi"), ti_mpi_kind_names[i]) == 0)
                p->mpi = i;
        snprintf(p->library, sizeof p->library, "%s", ti_json_string(j, "library"));
        p->setid = json_is_true(json_object_get(j, "setid"));
        p->is_elf = json_is_true(json_object_get(j, "elf"));
        p->openmp = json_is_true(json_object_get(j, "openmp"));
        p->blocks = json_is_true(json_object_get(j, "blocks"));
        st = p->path ? TI_OK : ti_err_memory(err, "look at the program");
    }
    json_decref(j);
    return st;
}

ti_status ti_container_counter(const struct ti_container *c, const char *wanted, bool sum,
                               const char *program, const char *also, json_t **out,
                               struct ti_err *err)
{
    ti_status st = ask(
        c, (const char *const[]){wanted, sum ? "sum" : "caller", program, also ? also : "", NULL},
        out, err);

    if (st == TI_OK)
        return TI_OK;
    json_decref(*out);
    *out = NULL;
    return st;
}
