#include "node/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/beside.h"
#include "common/json.h"
#include "common/sha256.h"
#include "common/write.h"
#include "node/machine.h"
#include "program/container.h"
#include "program/program.h"
#include "session/paths.h"

/* SHA-256 of everything that can be read from `fd`. */
static ti_status sha256_of(int fd, const char *path, char hex[65], struct ti_err *err)
{
    struct ti_sha256 sum;
    static char buf[64 * 1024];
    ssize_t n;

    ti_sha256_begin(&sum);
    while ((n = read(fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            ti_sha256_add(&sum, buf, (size_t)n);
    if (n < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
    ti_sha256_end(&sum, hex);
    return TI_OK;
}

json_t *ti_facts_error(const struct ti_err *err)
{
    json_t *j = json_object();

    json_object_set_new(j, "error", ti_json_text(err->text));
    if (err->hint[0])
        json_object_set_new(j, "hint", ti_json_text(err->hint));
    return j;
}

/* --- machine ------------------------------------------------------------- */

static void add_glibc(json_t *facts)
{
    char *argv[] = {"getconf", "GNU_LIBC_VERSION", NULL};
    char *text;

    if (ti_read_output(argv, STDOUT_FILENO, NULL, NULL, &text) == 0 &&
        strncmp(text, "glibc ", 6) == 0) {
        text[strcspn(text, "\n")] = '\0';
        json_object_set_new(facts, "glibc", ti_json_text(text + 6));
    }
    free(text);
}

static void add_machine(json_t *facts)
{
    struct ti_machine m;
    struct utsname u;
    struct ti_err err;
    char cpu[256];

    if (ti_machine_read("", &m, &err) != TI_OK) {
        json_object_set_new(facts, "machine", ti_facts_error(&err));
        return;
    }
    json_object_set_new(facts, "memory_bytes", json_integer(m.memory_bytes));
    json_object_set_new(facts, "limited_by", json_string(m.limited_by));
    json_object_set_new(facts, "total_bytes", json_integer(m.total_bytes));
    json_object_set_new(facts, "swap_bytes", json_integer(m.swap_bytes));
    json_object_set_new(facts, "cores", json_integer(m.cores));
    if (m.processes != INT64_MAX)
        json_object_set_new(facts, "processes", json_integer(m.processes));
    ti_machine_cpu(cpu, sizeof cpu);
    json_object_set_new(facts, "cpu", ti_json_text(cpu));
    json_object_set_new(facts, "family", ti_json_text(uname(&u) == 0 ? u.machine : "?"));
    json_object_set_new(facts, "isa", json_string(ti_machine_isa()));
    add_glibc(facts);
}

/* --- program ------------------------------------------------------------- */

static json_t *program_facts(const char *given)
{
    struct ti_program p;
    struct ti_err err = {"", ""};
    struct stat sb;
    char hex[65], path[PATH_MAX];
    json_t *j;
    ti_status st = ti_program_find(given, &p, &err);
    int fd = st == TI_OK ? open(p.path, O_RDONLY | O_CLOEXEC) : -1;

    if (st == TI_OK && (fd < 0 || fstat(fd, &sb) < 0))
        st = ti_err_errno(&err, TI_ERR_IO, "cannot read the program '%s'", p.path);
    if (st == TI_OK)
        st = sha256_of(fd, p.path, hex, &err);
    if (st == TI_OK) {
        j = json_object();
        json_object_set_new(j, "path", ti_json_text(realpath(p.path, path) ? path : p.path));
        json_object_set_new(j, "bytes", json_integer(sb.st_size));
        json_object_set_new(j, "sha256", json_string(hex));
        json_object_set_new(j, "mpi", json_string(ti_mpi_kind_names[p.mpi]));
        json_object_set_new(j, "elf", json_boolean(p.is_elf));
        json_object_set_new(j, "blocks", json_boolean(p.blocks));
        json_object_set_new(j, "setid", json_boolean(p.setid));
    } else {
        j = ti_facts_error(&err);
    }
    if (fd >= 0)
        close(fd);
    ti_program_free(&p);
    return j;
}

/* The same of a program in an image; all nodes must have the same image. */
static json_t *contained_facts(const struct ti_container *c, const char *given, const char *id)
{
    struct ti_program p;
    struct ti_err err = {"", ""};
    ti_status st = ti_container_find(c, given, &p, &err);
    json_t *j = st == TI_OK ? json_object() : ti_facts_error(&err);

    if (st == TI_OK) {
        json_object_set_new(j, "path", ti_json_text(p.path));
        if (*id)
            json_object_set_new(j, "sha256", ti_json_text(id));
        json_object_set_new(j, "mpi", json_string(ti_mpi_kind_names[p.mpi]));
        json_object_set_new(j, "elf", json_boolean(p.is_elf));
        json_object_set_new(j, "blocks", json_boolean(p.blocks));
        json_object_set_new(j, "setid", json_boolean(p.setid));
    }
    ti_program_free(&p);
    return j;
}

/* Of the further programs of a command line. */
static json_t *more_facts(const json_t *programs, const struct ti_container *c, const char *id)
{
    json_t *list = json_array();
    const json_t *given;
    size_t i;

    json_array_foreach(programs, i, given)
    {
        const char *text = json_string_value(given);

        json_array_append_new(list, !text ? json_null()
                                    : c   ? contained_facts(c, text, id)
                                          : program_facts(text));
    }
    return list;
}

/* The program that decides which counters can count: one that `blocks` cannot count, if any. */
static const char *deciding(const json_t *facts, const char *program)
{
    const json_t *more = json_object_get(facts, "more"), *one;
    size_t i;

    if (!json_is_true(json_object_get(json_object_get(facts, "program"), "blocks")))
        return program;
    json_array_foreach(more, i,
                       one) if (!json_is_true(json_object_get(one, "blocks")) &&
                                *ti_json_string(one, "path")) return ti_json_string(one, "path");
    return program;
}

/* --- trace directory ----------------------------------------------------- */

/* The nearest existing directory above `dir`, or `dir`: it has the file system of the future `dir`.
 */
static bool nearest(const char *dir, char *path)
{
    struct stat sb;

    snprintf(path, PATH_MAX, "%s", dir);
    for (;;) {
        char *slash;

        if (stat(path, &sb) == 0)
            return S_ISDIR(sb.st_mode) || (errno = ENOTDIR, false);
        if (errno != ENOENT)
            return false;
        slash = strrchr(path, '/');
        if (!slash)
            strcpy(path, ".");
        else if (slash == path)
            path[1] = '\0';
        else
            *slash = '\0';
    }
}

static json_t *trace_dir_facts(const char *dir)
{
    char path[PATH_MAX];
    struct ti_err err = {"", ""};
    json_t *j;

    if (strlen(dir) >= PATH_MAX - 1)
        ti_err_set(&err, TI_ERR_INPUT, "the trace directory's name is too long");
    else if (!nearest(dir, path))
        ti_err_errno(&err, TI_ERR_IO, "cannot write traces to '%s': '%s'", dir, path);
    else if (access(path, W_OK | X_OK) < 0)
        ti_err_errno(&err, TI_ERR_IO, "cannot write traces to '%s': '%s'", dir, path);
    if (err.text[0])
        return ti_facts_error(&err);
    j = json_object();
    json_object_set_new(j, "path", ti_json_text(dir));
    json_object_set_new(j, "free_bytes", json_integer(ti_disk_free(path)));
    json_object_set_new(j, "remote", json_boolean(ti_disk_is_remote(path)));
    return j;
}

/* --- counter ------------------------------------------------------------- */

/* Try the counter with ti-node-counter, which can load libraries: a static ti-node cannot. */
static json_t *counter_facts(const char *name, bool sum, const char *program, const char *also,
                             const char *folder)
{
    char path[PATH_MAX + 32], *text;
    char *argv[] = {path,
                    (char *)(uintptr_t)name,
                    sum ? "sum" : "caller",
                    (char *)(uintptr_t)program,
                    (char *)(uintptr_t)also,
                    NULL};
    struct ti_err err;
    json_t *j;
    int status;

    snprintf(path, sizeof path, "%s/ti-node-counter", folder);
    status = ti_read_output(argv, STDOUT_FILENO, NULL, NULL, &text);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        ti_err_set(&err, TI_ERR_IO, "cannot try the counter '%s': '%s' %s", name, path,
                   WIFEXITED(status) && WEXITSTATUS(status) == 127 ? "cannot be executed"
                                                                   : "failed");
        ti_err_hint(&err,
                    "it is a program for glibc on %s: on other nodes, install Tiara and say "
                    "where ('tiara' in the sites file)",
#ifdef __x86_64__
                    "x86_64"
#else
                    "this family"
#endif
        );
        free(text);
        return ti_facts_error(&err);
    }
    j = ti_json_lines(text);
    free(text);
    return j;
}

/* --- MPI ------------------------------------------------------------------ */

/* The launcher of MPICH at the path that it has on the front end: there Hydra starts its proxy. */
static json_t *hydra_facts(const char *launcher)
{
    const char *slash = strrchr(launcher, '/');
    char proxy[PATH_MAX + 32], command[PATH_MAX], number[32], *text;
    char *argv[] = {command, "--version", NULL};
    struct ti_err err = {"", ""};
    json_t *j;
    bool found;

    snprintf(command, sizeof command, "%s", launcher);
    snprintf(proxy, sizeof proxy, "%.*s/hydra_pmi_proxy", slash ? (int)(slash - launcher) : 1,
             slash ? launcher : ".");
    if (access(proxy, X_OK) < 0) {
        ti_err_errno(&err, TI_ERR_INPUT, "cannot execute MPICH's '%s'", proxy);
        ti_err_hint(&err, "Hydra starts it at the path that it has here: install the same MPICH "
                          "there at the same path");
        return ti_facts_error(&err);
    }
    found = ti_read_output(argv, STDOUT_FILENO, NULL, NULL, &text) == 0 &&
            ti_mpich_version(text, number, sizeof number);
    free(text);
    j = json_object();
    json_object_set_new(j, "proxy", ti_json_text(proxy));
    if (found)
        json_object_set_new(j, "version", ti_json_text(number));
    return j;
}

static json_t *mpi_facts(void)
{
    static const char *const daemons[] = {"prted", "orted"};
    char *argv[] = {"mpirun", "--version", NULL};
    const char *path = getenv("PATH");
    char *text, file[PATH_MAX];
    const char *v;
    json_t *j = json_object();
    struct ti_err err;

    for (unsigned i = 0; i < 2; i++)
        if (ti_find_on_path(daemons[i], file))
            json_object_set_new(j, daemons[i], ti_json_text(file));
    if (ti_read_output(argv, STDOUT_FILENO, NULL, NULL, &text) == 0 &&
        (v = strstr(text, "(Open MPI) ")) != NULL)
        json_object_set_new(
            j, "version",
            json_stringn(v + 11, strspn(v + 11, "0123456789.abcdefghijklmnopqrstuvwxyz")));
    free(text);
    if (json_object_get(j, "orted") || json_object_get(j, "prted"))
        return j;
    json_decref(j);
    ti_err_set(&err, TI_ERR_INPUT,
               "neither orted nor prted of Open MPI is on PATH, which is '%s' "
               "for commands by SSH",
               path ? path : "");
    ti_err_hint(&err, "install Open MPI there, or set PATH where a shell that is not interactive "
                      "reads it, before anything in .bashrc that returns");
    return ti_facts_error(&err);
}

/* --- all of them ---------------------------------------------------------- */

/* The programs, and the counter that can count them: in an image. */
static void add_contained(json_t *facts, const json_t *request)
{
    static struct ti_paths paths;
    struct ti_container c = {.image = ti_json_string(request, "container"),
                             .paths = &paths,
                             .valgrind = true,
                             .perf = true};
    const char *program = ti_json_string(request, "program"),
               *also = ti_json_string(request, "also");
    const json_t *more = json_object_get(request, "more");
    struct ti_err err = {"", ""};
    char id[TI_CONTAINER_ID];
    json_t *counter = NULL;
    ti_status st = ti_paths_find(&paths, &err);

    if (st == TI_OK)
        st = ti_container_present(c.image, id, &err);
    if (st != TI_OK) {
        json_object_set_new(facts, "program", ti_facts_error(&err));
        return;
    }
    json_object_set_new(facts, "program", contained_facts(&c, program, id));
    if (json_array_size(more))
        json_object_set_new(facts, "more", more_facts(more, &c, id));
    if (*ti_json_string(json_object_get(facts, "program"), "error"))
        return;
    st = ti_container_counter(&c, ti_json_string(request, "counter"),
                              json_is_true(json_object_get(request, "sum")),
                              deciding(facts, program), also, &counter, &err);
    json_object_set_new(facts, "counter", st == TI_OK ? counter : ti_facts_error(&err));
}

/* The same where no container is asked for. */
static void add_programs(json_t *facts, const json_t *request, const char *folder)
{
    const char *program = json_string_value(json_object_get(request, "program"));
    const char *counter = json_string_value(json_object_get(request, "counter"));
    const json_t *more = json_object_get(request, "more");

    if (program)
        json_object_set_new(facts, "program", program_facts(program));
    if (json_array_size(more))
        json_object_set_new(facts, "more", more_facts(more, NULL, ""));
    program = deciding(facts, program);
    if (counter)
        json_object_set_new(facts, "counter",
                            counter_facts(counter, json_is_true(json_object_get(request, "sum")),
                                          program ? program : "", ti_json_string(request, "also"),
                                          folder));
}

json_t *ti_facts(const json_t *request, const char *folder)
{
    const char *dir = json_string_value(json_object_get(request, "trace_dir"));
    const char *cwd = json_string_value(json_object_get(request, "cwd"));
    const char *hydra = ti_json_string(request, "hydra");
    json_t *facts = json_object();

    if (cwd && chdir(cwd) == 0)
        json_object_set_new(facts, "cwd", json_true());
    add_machine(facts);
    if (*ti_json_string(request, "container"))
        add_contained(facts, request);
    else
        add_programs(facts, request, folder);
    if (dir)
        json_object_set_new(facts, "trace_dir", trace_dir_facts(dir));
    if (json_is_true(json_object_get(request, "mpirun")))
        json_object_set_new(facts, "mpi", *hydra ? hydra_facts(hydra) : mpi_facts());
    return facts;
}
