/*
 * ti-node against whoever talks to it: the loop of `ti-node serve` as it is, in this process,
 * with the frames of the input on its standard input; or, by the first byte, `ti-node run` with
 * the input as its NODE.json.  Nothing is started, signalled, connected or looked at outside of a
 * folder of our own, whose name is written "/@" in messages: what would is replaced below by
 * something that succeeds, or fails, as the real one may.
 *
 * All output of ti-node is frames, and messages in them are JSON.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/folder.h"
#include "common/sha256.h"
#include "node/facts.h"
#include "node/launch.h"
#include "node/rundir.h"
#include "node/serve.h"
#include "node/start.h"
#include "node/task.h"
#include "remote/embed.h"
#include "session/frame.h"
#include "session/paths.h"
#include "tests/fuzz/fuzz.h"
#include "trace/rankname.h"
#include "trace/trace.h"
#include "trace/writer.h"

#define FIRST_PID 0x7f000000 /* there is no such process */

struct ti_channel {
    struct ti_channel_callbacks calls;
    void *arg;
    int turn;
    bool closing, commanded;
    struct ti_channel *next;
};

struct ti_remote {
    struct ti_channel *channels;
    int fd; /* is waited for, if `call` is there */
    void (*call)(int fd, void *arg);
    void *arg;
};

static char scratch[64];
static double now;
static int started, reaped; /* processes that are none */
static unsigned turns;      /* of poll(), in which others came before the input */
static struct ti_remote the_remote;

static void must(int ok, const char *what)
{
    if (ok)
        return;
    dprintf(STDERR_FILENO, "fuzz-messages: %s\n", what); /* stderr may be another */
    abort();
}

/* In our folder, by its name. */
static bool is_ours(const char *path)
{
    size_t n = strlen(scratch);

    return strncmp(path, scratch, n) == 0 && (path[n] == '/' || !path[n]) && !strstr(path, "..");
}

/* --- in place of what acts ----------------------------------------------- */

double __wrap_ti_now(void);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
ti_status __wrap_ti_paths_find(struct ti_paths *p, struct ti_err *err);
void __wrap_ti_sha256_end(struct ti_sha256 *s, char hex[65]);
ti_status __wrap_ti_task_start(struct ti_task *t, json_t *(*work)(void *arg), void *arg,
                               struct ti_err *err);
json_t *__wrap_ti_facts(const json_t *request, const char *folder);
json_t *__wrap_ti_left_find(const char *const *bases, const char *run_id);
void __wrap_ti_left_remove(json_t *left);
json_t *__wrap_ti_waits(const char *run_id);
ti_status __wrap_ti_launch_start(const struct ti_launch *l, struct ti_proc *proc,
                                 struct ti_err *err);
int __wrap_ti_launch_signal(const char *run_id, int sig, struct ti_pids *told);
int __wrap_ti_launch_each(const char *run_id, void (*f)(pid_t pid, void *arg), void *arg);
int __wrap_ti_launch_signal_fd(void);
int __wrap_ti_launch_sleep(int ms);
pid_t __wrap_waitpid(pid_t pid, int *status, int how);
int __wrap_kill(pid_t pid, int sig);
int __wrap_killpg(pid_t pid, int sig);
pid_t __wrap_fork(void);
int __wrap_execvp(const char *file, char *const argv[]);
int __wrap_chdir(const char *path);
int __wrap_sched_setscheduler(pid_t pid, int policy, const struct sched_param *param);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __real_rmdir(const char *path);
int __wrap_rmdir(const char *path);
void __real_ti_folder_remove(const char *path, int lock);
void __wrap_ti_folder_remove(const char *path, int lock);

double __wrap_ti_now(void)
{
    return now;
}

/* Time passes, and nobody waits for it.  All of the input is there at once: where something else
 * can be read, every second time that goes first. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    int got = __real_poll(fds, n, 0), others = 0;

    for (nfds_t i = 2; i < n; i++)
        others += (fds[i].revents & POLLIN) != 0;
    if (n > 2 && others && fds[1].revents && turns++ % 2 == 0) {
        fds[1].revents = 0;
        got--;
    }
    now += got ? 1e-4 : 1e-3 * (timeout_ms > 0 && timeout_ms < 10000 ? timeout_ms : 1);
    return got;
}

ti_status __wrap_ti_paths_find(struct ti_paths *p, struct ti_err *err)
{
    (void)err;
    memset(p, 0, sizeof *p);
    snprintf(p->node, sizeof p->node, "%s/ti-node", scratch);
    snprintf(p->counter, sizeof p->counter, "%s/ti-node-counter", scratch);
    snprintf(p->library, sizeof p->library, "%s/libminitrace.so", scratch);
    return TI_OK;
}

/* The same whatever files there are, and known to inputs. */
void __wrap_ti_sha256_end(struct ti_sha256 *s, char hex[65])
{
    (void)s;
    memset(hex, 'a', 64);
    hex[64] = '\0';
}

/* The work is done at once, in this process. */
ti_status __wrap_ti_task_start(struct ti_task *t, json_t *(*work)(void *arg), void *arg,
                               struct ti_err *err)
{
    json_t *j = work(arg);

    (void)err;
    t->fd = memfd_create("task", MFD_CLOEXEC);
    must(t->fd >= 0, "no memory for a file");
    if (j)
        json_dumpfd(j, t->fd, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(j);
    lseek(t->fd, 0, SEEK_SET);
    t->used = 0;
    return TI_OK;
}

json_t *__wrap_ti_facts(const json_t *request, const char *folder)
{
    (void)folder;
    return json_pack("{s:i}", "cores", (int)json_object_size(request));
}

json_t *__wrap_ti_waits(const char *run_id)
{
    (void)run_id;
    return json_array();
}

/* The fuzzer leaves nothing on the machine, so nothing is looked for and removed there. */
json_t *__wrap_ti_left_find(const char *const *bases, const char *run_id)
{
    must(bases[0] && bases[0][0] == '/' && !bases[1], "what is left is looked for nowhere");
    return json_pack("{s:[], s:[], s:[], s:s*}", "directories", "folders", "processes", "asked",
                     run_id);
}

void __wrap_ti_left_remove(json_t *left)
{
    const char *id = json_string_value(json_object_get(left, "asked"));

    must(id && strlen(id) >= 12, "everything is removed");
}

ti_status __wrap_ti_launch_start(const struct ti_launch *l, struct ti_proc *proc,
                                 struct ti_err *err)
{
    must(l->argv && l->argv[0] && l->run_id && l->fds, "a process of nothing");
    if (started == 100)
        return ti_err_set(err, TI_ERR_IO, "too many processes");
    *proc = (struct ti_proc){.pid = FIRST_PID + started++, .running = true};
    return TI_OK;
}

int __wrap_ti_launch_signal(const char *run_id, int sig, struct ti_pids *told)
{
    (void)sig;
    (void)told;
    must(strlen(run_id) == TI_RUN_ID_TEXT - 1, "processes of any run are signalled");
    return 0;
}

int __wrap_ti_launch_each(const char *run_id, void (*f)(pid_t pid, void *arg), void *arg)
{
    (void)f;
    (void)arg;
    must(strlen(run_id) == TI_RUN_ID_TEXT - 1, "processes of any run are looked for");
    return 0;
}

int __wrap_ti_launch_signal_fd(void)
{
    static int fd = -1;

    if (fd < 0)
        fd = eventfd(0, EFD_CLOEXEC);
    return fd;
}

int __wrap_ti_launch_sleep(int ms)
{
    (void)ms;
    return 0;
}

/* Every process ends soon. */
pid_t __wrap_waitpid(pid_t pid, int *status, int how)
{
    (void)how;
    *status = 0;
    if (pid == -1 && reaped < started)
        return FIRST_PID + reaped++;
    errno = ECHILD;
    return -1;
}

int __wrap_kill(pid_t pid, int sig)
{
    must(pid <= -FIRST_PID && sig > 0 && sig < 65, "somebody is signalled");
    return 0;
}

int __wrap_killpg(pid_t pid, int sig)
{
    return __wrap_kill(-pid, sig);
}

pid_t __wrap_fork(void)
{
    must(0, "a process is started");
    return -1;
}

int __wrap_execvp(const char *file, char *const argv[])
{
    must(file && argv[0], "nothing is executed");
    errno = ENOENT;
    return -1;
}

int __wrap_chdir(const char *path)
{
    must(path != NULL, "to nowhere");
    errno = ENOENT;
    return -1;
}

int __wrap_sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
    (void)policy;
    (void)param;
    must(pid == 0, "somebody else's class is set");
    return 0;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    if (!is_ours(path) && (flags & (O_CREAT | O_ACCMODE | O_DIRECTORY))) {
        errno = EACCES;
        return -1;
    }
    return __real_open(path, flags, mode);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    if (is_ours(path))
        return __real_mkdir(path, mode);
    errno = EACCES;
    return -1;
}

int __wrap_rmdir(const char *path)
{
    must(is_ours(path), "a directory of others is removed");
    return __real_rmdir(path);
}

void __wrap_ti_folder_remove(const char *path, int lock)
{
    must(!*path || is_ours(path), "a directory of others is removed with all in it");
    __real_ti_folder_remove(path, lock);
}

/* --- nodes that a relay reaches ------------------------------------------ */

const char *ti_channel_end_text(enum ti_channel_end end)
{
    return end < TI_CHANNEL_END_COUNT ? "it ended" : NULL;
}

ti_status ti_remote_new(const struct ti_remote_config *config, struct ti_remote **out,
                        struct ti_err *err)
{
    (void)config;
    (void)err;
    *out = &the_remote;
    return TI_OK;
}

void ti_remote_free(struct ti_remote *r)
{
    while (r && r->channels) {
        struct ti_channel *c = r->channels;

        r->channels = c->next;
        free(c);
    }
}

int ti_remote_fd(const struct ti_remote *r)
{
    (void)r;
    return -1;
}

double ti_remote_due(const struct ti_remote *r)
{
    (void)r;
    return now;
}

void ti_remote_read_by_turns(struct ti_remote *r, bool (*full)(void *arg), void *arg)
{
    (void)r;
    full(arg);
}

bool ti_remote_add_fd(struct ti_remote *r, int fd, void (*call)(int fd, void *arg), void *arg)
{
    struct pollfd done = {fd, POLLIN, 0};
    int got;

    must(!r->call, "two are waited for");
    do {
        got = __real_poll(&done, 1, 10000);
    } while (got < 0 && errno == EINTR);   /* libFuzzer's alarm */
    must(got == 1, "no checksum is made"); /* the same each time */
    r->fd = fd;
    r->call = call;
    r->arg = arg;
    return true;
}

void ti_remote_drop_fd(struct ti_remote *r, int fd)
{
    must(!r->call || r->fd == fd, "another is waited for");
    r->call = NULL;
}

int ti_remote_waiting(const struct ti_remote *r)
{
    (void)r;
    return 0;
}

uint64_t ti_remote_turns(const struct ti_remote *r)
{
    (void)r;
    return 0;
}

const char *ti_remote_folder(struct ti_remote *r, struct ti_err *err)
{
    (void)r;
    (void)err;
    return scratch;
}

double __wrap_ti__now(void);

double __wrap_ti__now(void)
{
    return now;
}

bool ti_channel_command(struct ti_channel *c, const char *command)
{
    must(!c->commanded && command, "two commands for one");
    return c->commanded = true;
}

struct ti_channel *ti_remote_run(struct ti_remote *r, const char *host, const char *gateway,
                                 const char *command, const struct ti_channel_callbacks *calls,
                                 void *arg)
{
    struct ti_channel *c = calloc(1, sizeof *c);

    must(c && host && !gateway, "a connection to nobody");
    c->commanded = command != NULL;
    must(host[0] != '-' && strlen(host) < 512, "a host that is an option");
    c->calls = *calls;
    c->arg = arg;
    c->next = r->channels;
    r->channels = c;
    return c;
}

struct ti_channel *ti_remote_local(struct ti_remote *r, const char *command,
                                   const struct ti_channel_callbacks *calls, void *arg)
{
    must(0, "a relay connects to its own machine");
    return ti_remote_run(r, NULL, NULL, command, calls, arg);
}

bool ti_remote_is_target(const char *host)
{
    return host[0] && !strpbrk(host, "- '\"\n");
}

void ti_channel_set_options(struct ti_channel *c, const struct ti_channel_options *wants)
{
    must(!wants->known || is_ours(wants->known), "host keys of others");
    (void)c;
}

bool ti_channel_write(struct ti_channel *c, const void *data, size_t bytes)
{
    (void)data;
    (void)bytes;
    return !c->closing;
}

size_t ti_channel_queued(const struct ti_channel *c)
{
    return c->turn % 2 ? 1000 : 0;
}

double ti_channel_taken_at(const struct ti_channel *c)
{
    (void)c;
    return 0;
}

void ti_channel_eof(struct ti_channel *c)
{
    c->closing = true;
}

void ti_channel_close(struct ti_channel *c)
{
    c->closing = true;
}

const char *ti_channel_host(const struct ti_channel *c)
{
    (void)c;
    return "n1";
}

const char *ti_channel_transport(const struct ti_channel *c)
{
    (void)c;
    return "OpenSSH";
}

static void one_turn(struct ti_remote *r, struct ti_channel *c)
{
    static const char *const says[] = {"Welcome\n", "TIARA-SEND x86_64\n", "TIARA-SEND 2\n"};
    unsigned char hello[TI_FRAME_HEADER + 2];
    struct ti_channel_result result = {.end = TI_CHANNEL_EXITED, .status = 3};
    struct ti_channel **p = &r->channels;
    int turn = c->turn++;

    if (turn == 0 && c->calls.ready)
        c->calls.ready(c, c->arg);
    else if (turn < 4 && !c->closing)
        c->calls.output(c, says[turn - 1], strlen(says[turn - 1]), c->arg);
    else if (turn == 4 && !c->closing) {
        ti_frame_header(TI_FRAME_HELLO, 0, "{}", 2, hello);
        memcpy(hello + TI_FRAME_HEADER, "{}", 2);
        c->calls.output(c, hello, sizeof hello, c->arg);
    } else if (turn > 6 || c->closing) {
        ti_err_set(&result.err, TI_ERR_REMOTE, "it ended");
        while (*p != c)
            p = &(*p)->next;
        *p = c->next;
        c->calls.ended(c, &result, c->arg);
        free(c);
    }
}

int ti_remote_poll(struct ti_remote *r, int timeout_ms)
{
    struct pollfd fd = {r->fd, POLLIN, 0};

    (void)timeout_ms;
    if (r->call && __real_poll(&fd, 1, 0) > 0)
        r->call(r->fd, r->arg);
    for (struct ti_channel *c = r->channels, *next; c; c = next) {
        next = c->next;
        one_turn(r, c);
    }
    return 0;
}

/* --- our folder ---------------------------------------------------------- */

static void write_file(const char *name, const void *data, size_t bytes)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", scratch, name);
    f = fopen(path, "wb");
    must(f && fwrite(data, 1, bytes, f) == bytes && fclose(f) == 0, "cannot write");
}

/* With what is in it, as deep as it goes. */
static void empty(int dir)
{
    DIR *d = fdopendir(dir);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        int below;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            unlinkat(dirfd(d), e->d_name, 0) == 0)
            continue;
        below = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (below >= 0)
            empty(below);
        unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    }
    if (d)
        closedir(d);
}

static void at_exit(void)
{
    empty(__real_open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    __real_rmdir(scratch);
}

/* A trace that can be merged. */
static void write_sound(int rank)
{
    char name[TI_RANK_NAME_BYTES], path[128];
    uint8_t run_id[TI_RUN_ID_BYTES];
    struct ti_writer *w;
    struct ti_err err;

    memset(run_id, 0xab, sizeof run_id);
    snprintf(path, sizeof path, "%s/run/%s", scratch, ti_rank_name(rank, name));
    must(ti_writer_open(path, (uint32_t)rank, 8, run_id, &w, &err) == TI_OK &&
             ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err) == TI_OK,
         "cannot write a trace");
}

/* Traces of a run, as far as ti-node looks at them. */
static void prepare(void)
{
    static uint8_t trace[100000];
    char name[TI_RANK_NAME_BYTES], path[96];

    if (!scratch[0]) {
        snprintf(scratch, sizeof scratch, "/dev/shm/tiara-fuzz-XXXXXX");
        if (!mkdtemp(scratch)) {
            snprintf(scratch, sizeof scratch, "/tmp/tiara-fuzz-XXXXXX");
            must(mkdtemp(scratch) != NULL, "cannot make a folder");
        }
        atexit(at_exit);
        signal(SIGPIPE, SIG_IGN); /* as ti_launch_init() has it */
    }
    empty(__real_open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    snprintf(path, sizeof path, "%s/run", scratch);
    must(__real_mkdir(path, 0700) == 0, "cannot make a folder");
    write_file("ti-node", "node", 4);
    write_file("ti-node-counter", "counter", 7);
    write_file("libminitrace.so", "library", 7);
    memcpy(trace, TI_MAGIC, TI_MAGIC_BYTES);
    memset(trace + 24, 0xab, TI_RUN_ID_BYTES);
    for (int r = 0; r < 3; r++) {
        snprintf(path, sizeof path, "run/%s", ti_rank_name(r, name));
        write_file(path, trace, r == 2 ? sizeof trace : 100);
    }
    write_sound(3);
    write_sound(4);
}

/* --- serve --------------------------------------------------------------- */

struct text {
    unsigned char *data;
    size_t used, room;
};

static void add(struct text *t, const void *data, size_t bytes)
{
    if (t->used + bytes > t->room) {
        t->room = 2 * (t->used + bytes);
        t->data = realloc(t->data, t->room);
        must(t->data != NULL, "no memory");
    }
    if (bytes)
        memcpy(t->data + t->used, data, bytes);
    t->used += bytes;
}

/* A payload, with our folder for "/@". */
static void add_payload(struct text *t, const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (i + 1 < bytes && data[i] == '/' && data[i + 1] == '@') {
            add(t, scratch, strlen(scratch));
            i++;
        } else {
            add(t, data + i, 1);
        }
}

/* Steps: type (0: the bytes as they are), stream, two bytes of length, payload. */
static void add_frames(struct text *t, const uint8_t *data, size_t bytes)
{
    for (size_t at = 0; at + 4 <= bytes;) {
        size_t n = (size_t)data[at + 2] | (size_t)data[at + 3] << 8, room = bytes - at - 4;
        unsigned char header[TI_FRAME_HEADER];
        struct text payload = {0};

        n = n < room ? n : room;
        if (data[at] % 7 == 0) {
            add(t, data + at + 4, n);
        } else {
            add_payload(&payload, data + at + 4, n);
            ti_frame_header((enum ti_frame_type)(data[at] % 7), data[at + 1],
                            payload.data ? payload.data : (const unsigned char *)"",
                            (uint32_t)payload.used, header);
            add(t, header, sizeof header);
            add(t, payload.data, payload.used);
        }
        free(payload.data);
        at += 4 + n;
    }
}

/* Check the output of ti-node. */
static void look_at(const unsigned char *p, size_t bytes)
{
    struct ti_frame_reader in = {.started = 0};
    struct ti_frame f;
    struct ti_err err;
    size_t used;
    int got;

    for (;;) {
        json_t *j;

        must(ti_frame_feed(&in, p, bytes, &used, &f, &got, &err) == TI_OK, "what is said is none");
        p += used;
        bytes -= used;
        if (!got)
            break;
        if (f.type != TI_FRAME_HELLO && f.type != TI_FRAME_MESSAGE)
            continue;
        j = json_loadb((const char *)f.payload, f.bytes, 0, NULL);
        must(json_is_object(j), "a message that is none");
        must(f.type == TI_FRAME_HELLO || json_is_string(json_object_get(j, "is")),
             "a message of nothing");
        json_decref(j);
    }
    ti_frame_reader_free(&in);
}

static void fuzz_serve(const uint8_t *data, size_t bytes)
{
    int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC),
        were[2] = {dup(STDIN_FILENO), dup(STDOUT_FILENO)};
    struct text t = {0};
    struct ti_err err = {"", ""};
    struct stat sb;
    void *said;

    add_frames(&t, data, bytes);
    must(in >= 0 && out >= 0 && write(in, t.data, t.used) == (ssize_t)t.used,
         "no memory for a file");
    free(t.data);
    lseek(in, 0, SEEK_SET);
    fflush(stdout);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    ti__serve_alone(scratch, "/ti-node", &err);
    for (int i = 0; i < 2; i++) {
        if (were[i] < 0)
            close(i);
        else
            dup2(were[i], i);
        if (were[i] >= 0)
            close(were[i]);
    }
    must(fstat(out, &sb) == 0 && sb.st_size > 0, "nothing was said");
    said = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, out, 0);
    must(said != MAP_FAILED, "no memory");
    look_at(said, (size_t)sb.st_size);
    munmap(said, (size_t)sb.st_size);
    close(in);
    close(out);
}

/* --- run ----------------------------------------------------------------- */

static void fuzz_run(const uint8_t *data, size_t bytes, bool dry_launch)
{
    static char program[] = "program";
    char path[96], *argv[] = {program, NULL};
    int out = dup(STDOUT_FILENO), null = __real_open("/dev/null", O_WRONLY | O_CLOEXEC);

    write_file("NODE.json", data, bytes);
    snprintf(path, sizeof path, "%s/NODE.json", scratch);
    chmod(path, 0600);
    setenv("TIARA_NODE_FILE", path, 1);
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    fflush(stdout);
    dup2(null, STDOUT_FILENO);
    must(ti_start(1, argv, dry_launch) != 0 || dry_launch, "what cannot be executed was");
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    close(null);
    clearenv(); /* of what NODE.json says */
    setenv("PATH", "/usr/bin:/bin", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static FILE *null;
    FILE *was = stderr;

    if (bytes < 1)
        return 0;
    if (!null)
        null = fopen("/dev/null", "w");
    prepare();
    now = 1000;
    turns = 0;
    started = reaped = 0;
    stderr = null; /* what ti-node says there */
    if (data[0] & 1)
        fuzz_run(data + 1, bytes - 1, data[0] & 2);
    else
        fuzz_serve(data + 1, bytes - 1);
    stderr = was;
    return 0;
}
