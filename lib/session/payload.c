#include "session/payload.h"

#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "common/crc32c.h"
#include "common/hex.h"
#include "common/sha256.h"
#include "common/write.h"
#include "session/frame.h"

#define FILES_MAX   16
#define HASH_DIGITS 32

struct file {
    char path[PATH_MAX];
    char name[64]; /* on the node, below the folder */
};

struct blob {
    unsigned char *data;
    size_t bytes, room;
};

/* The work of a thread, and its results. */
struct work {
    bool packing;
    char hash[HASH_DIGITS + 1];
    struct blob packed;
    ti_status st;
    struct ti_err err;
};

struct ti_payload {
    struct file file[FILES_MAX]; /* the first is ti-node */
    int n;
    size_t node_bytes; /* of ti-node */
    char hash[HASH_DIGITS + 1];
    char family[65];
    struct blob part[2]; /* ti-node as it is; the other files as frames */
    bool failed;
    struct ti_err err;

    int done;     /* an eventfd, signalled when a thread has ended; -1: no threads are used */
    bool working; /* a thread is running */
    bool wanted;  /* a node needs the packed files */
    pthread_t thread;
    struct work work; /* the thread's as long as there is one */
};

/* --- what there is to send ----------------------------------------------- */

static void add_file(struct ti_payload *p, const char *path, const char *folder)
{
    const char *slash = strrchr(path, '/');
    struct file *f = &p->file[p->n];

    if (p->n == FILES_MAX || access(path, R_OK) < 0 || strlen(path) >= sizeof f->path)
        return;
    strcpy(f->path, path);
    snprintf(f->name, sizeof f->name, "%s%.40s", folder, slash ? slash + 1 : path);
    p->n++;
}

static int is_mpi_backend(const struct dirent *d)
{
    size_t n = strlen(d->d_name);

    return strncmp(d->d_name, "libminitrace-", 13) == 0 && n > 16 &&
           strcmp(d->d_name + n - 3, ".so") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Add the library, its MPI back ends, and the library that programs compiled with ti-mpicc may
 * need.  Does not use glob(), which would link NSS, and with it shared libraries, into ti-node. */
static void add_libraries(struct ti_payload *p, const char *library)
{
    const char *slash = strrchr(library, '/');
    char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    struct dirent **found = NULL;
    int n;

    add_file(p, library, "");
    if (!slash || slash - library >= PATH_MAX)
        return;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - library), library);
    n = scandir(folder, &found, is_mpi_backend, by_name);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, found[i]->d_name);
        add_file(p, path, "");
        free(found[i]);
    }
    free(found);
    snprintf(path, sizeof path, "%s/libtiara-blocks.so", folder);
    add_file(p, path, "");
}

ti_status ti_payload_new(const struct ti_paths *paths, struct ti_payload **out, struct ti_err *err)
{
    struct ti_payload *p = calloc(1, sizeof *p);
    char tool[PATH_MAX + 32];
    struct utsname u;
    struct stat sb;

    if (!p)
        return ti_err_errno(err, TI_ERR_IO, "cannot prepare for the nodes");
    p->done = -1;
    if (!paths->node[0] || !paths->counter[0]) {
        free(p);
        ti_err_set(err, TI_ERR_IO, "cannot find '%s'",
                   paths->node[0] ? "ti-node-counter" : "ti-node");
        ti_err_hint(err, "is Tiara built, or installed completely?");
        return TI_ERR_IO;
    }
    snprintf(p->family, sizeof p->family, "%s", uname(&u) == 0 ? u.machine : "?");
    add_file(p, paths->node, "");
    add_file(p, paths->counter, "");
    add_libraries(p, paths->library);
    if (paths->valgrind[0]) {
        snprintf(tool, sizeof tool, "%s/ticount-amd64-linux", paths->valgrind);
        add_file(p, tool, "libexec/valgrind/");
    }
    if (access(paths->node, R_OK) < 0 || stat(paths->node, &sb) < 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", paths->node);
        free(p);
        return TI_ERR_IO;
    }
    p->node_bytes = (size_t)sb.st_size;
    *out = p;
    return TI_OK;
}

/* The folder of ti-node, without a slash at the end. */
static void folder_of(const struct ti_payload *p, char folder[PATH_MAX])
{
    snprintf(folder, PATH_MAX, "%s", p->file[0].path);
    *strrchr(folder, '/') = '\0';
}

void ti_payload_trust_folder(struct ti_payload *p)
{
    char folder[PATH_MAX];
    const char *name;

    folder_of(p, folder);
    name = strrchr(folder, '/');
    name = name ? name + 1 : folder;
    if (ti_is_hex(name, HASH_DIGITS))
        strcpy(p->hash, name);
}

static void drop(struct blob *b)
{
    free(b->data);
    *b = (struct blob){0};
}

void ti_payload_drop(struct ti_payload *p)
{
    for (int i = 0; i < 2; i++)
        drop(&p->part[i]);
    p->wanted = false;
}

void ti_payload_free(struct ti_payload *p)
{
    if (!p)
        return;
    if (p->working)
        pthread_join(p->thread, NULL);
    drop(&p->work.packed);
    ti_payload_drop(p);
    if (p->done >= 0)
        close(p->done);
    free(p);
}

const char *ti_payload_hash(const struct ti_payload *p)
{
    return p->hash;
}

/* --- packing ------------------------------------------------------------- */

static bool append(struct blob *b, const void *data, size_t bytes)
{
    if (b->bytes + bytes > b->room) {
        size_t room = 2 * (b->bytes + bytes);
        unsigned char *more = realloc(b->data, room);

        if (!more)
            return false;
        b->data = more;
        b->room = room;
    }
    if (bytes)
        memcpy(b->data + b->bytes, data, bytes);
    b->bytes += bytes;
    return true;
}

static bool append_frame(struct blob *b, enum ti_frame_type type, const void *payload, size_t bytes)
{
    unsigned char header[TI_FRAME_HEADER];

    ti_frame_header(type, 0, payload, (uint32_t)bytes, header);
    return append(b, header, sizeof header) && append(b, payload, bytes);
}

static bool append_json(struct blob *b, json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    bool ok = text && append_frame(b, TI_FRAME_MESSAGE, text, strlen(text));

    json_decref(json);
    free(text);
    return ok;
}

static bool append_file(struct blob *b, const struct file *f, const struct blob *content)
{
    uLongf packed = compressBound(content->bytes);
    unsigned char *data = malloc(packed);
    bool so = strstr(f->name, ".so") != NULL, ok;

    ok = data && compress2(data, &packed, content->data, content->bytes, 6) == Z_OK &&
         append_json(b, json_pack("{s:s, s:i, s:I, s:I}", "name", f->name, "mode", so ? 0644 : 0755,
                                  "bytes", (json_int_t)content->bytes, "crc32c",
                                  (json_int_t)ti_crc32c(0, content->data, content->bytes)));
    for (size_t at = 0; ok && at < packed; at += TI_FRAME_MAX)
        ok = append_frame(b, TI_FRAME_DATA, data + at,
                          packed - at < TI_FRAME_MAX ? packed - at : TI_FRAME_MAX);
    free(data);
    return ok;
}

/*
 * Read all files and compute the checksum of their names and contents.  *packed becomes what is
 * sent after ti-node; `packed` may be NULL.
 */
static ti_status read_file(const char *path, struct blob *out, struct ti_err *err)
{
    out->data = (void *)ti_read_file(path, SIZE_MAX, &out->bytes);
    return out->data ? TI_OK : ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
}

static ti_status read_all(const struct ti_payload *p, struct blob *packed,
                          char hash[HASH_DIGITS + 1], struct ti_err *err)
{
    struct ti_sha256 sum;
    ti_status st = TI_OK;
    char hex[65];

    ti_sha256_begin(&sum);
    for (int i = 0; st == TI_OK && i < p->n; i++) {
        struct blob content = {0};
        char head[128];
        int n;

        st = read_file(p->file[i].path, &content, err);
        n = snprintf(head, sizeof head, "%s %zu\n", p->file[i].name, content.bytes);
        ti_sha256_add(&sum, head, (size_t)n);
        ti_sha256_add(&sum, content.data, content.bytes);
        if (st == TI_OK && packed && i > 0 && !append_file(packed, &p->file[i], &content))
            st = ti_err_set(err, TI_ERR_IO, "cannot pack '%s': out of memory", p->file[i].path);
        free(content.data);
    }
    if (st == TI_OK && packed && !append_json(packed, json_pack("{s:b}", "done", 1)))
        st = ti_err_set(err, TI_ERR_IO, "cannot pack: out of memory");
    ti_sha256_end(&sum, hex);
    snprintf(hash, HASH_DIGITS + 1, "%.*s", HASH_DIGITS, hex);
    return st;
}

static void do_work(struct ti_payload *p)
{
    struct work *w = &p->work;

    w->st = read_all(p, w->packing ? &w->packed : NULL, w->hash, &w->err);
    if (w->st != TI_OK)
        drop(&w->packed);
}

/* Take the results of the work. */
static void use_work(struct ti_payload *p)
{
    struct work *w = &p->work;
    char folder[PATH_MAX];

    if (w->st == TI_OK && !p->hash[0]) {
        strcpy(p->hash, w->hash);
    } else if (w->st == TI_OK && strcmp(w->hash, p->hash) != 0) {
        folder_of(p, folder);
        w->st = ti_err_set(&w->err, TI_ERR_IO,
                           "Tiara's files, in '%.400s' and beside it, are others than they were",
                           folder);
        ti_err_hint(&w->err, "were they installed, or built, anew meanwhile? Start again");
    }
    p->failed = w->st != TI_OK;
    if (p->failed)
        p->err = w->err;
    else if (w->packing && (p->wanted || p->done < 0))
        p->part[1] = w->packed;
    if (p->part[1].data != w->packed.data)
        drop(&w->packed);
    if (w->packing)
        p->wanted = false;
    w->packed = (struct blob){0};
}

static void *in_thread(void *arg)
{
    struct ti_payload *p = arg;

    do_work(p);
    eventfd_write(p->done, 1);
    return NULL;
}

/* Start the work, in a thread if one can be made. */
static void begin_work(struct ti_payload *p, bool packing)
{
    sigset_t all, was;
    int error;

    p->work.packing = packing;
    p->failed = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was); /* signals are handled in the main thread only */
    error = pthread_create(&p->thread, NULL, in_thread, p);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    p->working = error == 0;
    if (error) {
        do_work(p);
        use_work(p);
        eventfd_write(p->done, 1); /* no thread: the results are there already */
    }
}

static void end_work(struct ti_payload *p)
{
    if (!p->working)
        return;
    pthread_join(p->thread, NULL);
    p->working = false;
    use_work(p);
}

int ti_payload_begin(struct ti_payload *p)
{
    p->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->done >= 0 && !p->hash[0])
        begin_work(p, false);
    return p->done;
}

void ti_payload_collect(struct ti_payload *p)
{
    eventfd_t n;

    if (eventfd_read(p->done, &n) < 0)
        return;
    end_work(p);
    if (p->wanted && !p->failed)
        begin_work(p, true);
}

bool ti_payload_known(const struct ti_payload *p)
{
    return p->hash[0] || p->failed;
}

ti_status ti_payload_wait(struct ti_payload *p, struct ti_err *err)
{
    if (!p->hash[0])
        end_work(p);
    if (!p->hash[0] && !p->failed) {
        p->work.packing = false;
        do_work(p);
        use_work(p);
    }
    if (p->hash[0])
        return TI_OK;
    if (err)
        *err = p->err;
    return TI_ERR_IO;
}

ti_status ti_payload_need(struct ti_payload *p, enum ti_payload_part part, struct ti_err *err)
{
    struct blob *b = &p->part[part - 1];
    ti_status st = TI_OK;

    if (part == TI_PAYLOAD_NODE && !b->data) {
        st = read_file(p->file[0].path, b, err);
        if (st == TI_OK && b->bytes != p->node_bytes)
            st = ti_err_set(err, TI_ERR_IO, "'%s' changed meanwhile", p->file[0].path);
        if (st != TI_OK)
            drop(b);
    }
    if (st != TI_OK || p->part[1].data || p->wanted || (part == TI_PAYLOAD_NODE && p->done < 0))
        return st;
    p->wanted = true; /* the other files are needed next */
    if (p->working)
        return TI_OK;
    if (p->done >= 0) {
        begin_work(p, true);
        return TI_OK;
    }
    p->work.packing = true;
    do_work(p);
    use_work(p);
    if (p->failed && err)
        *err = p->err;
    return p->failed ? TI_ERR_IO : TI_OK;
}

const unsigned char *ti_payload_part(const struct ti_payload *p, enum ti_payload_part part,
                                     size_t *bytes)
{
    const struct blob *b = &p->part[part - 1];

    *bytes = b->bytes;
    return b->data;
}

const struct ti_err *ti_payload_error(const struct ti_payload *p)
{
    return p->failed ? &p->err : NULL;
}

size_t ti_payload_node_bytes(const struct ti_payload *p)
{
    return p->node_bytes;
}

const char *ti_payload_family(const struct ti_payload *p)
{
    return p->family;
}
