#include "node/install.h"
#include "common/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "common/beside.h"
#include "common/crc32c.h"
#include "common/hex.h"
#include "common/write.h"
#include "node/rundir.h"
#include "program/program.h"
#include "session/frame.h"

#define HASH_DIGITS 32
#define KEPT        3
#define OLD_S       (7 * 24 * 3600)
#define UNDONE_S    (24 * 3600)

/* A file being received. */
struct receipt {
    int folder;
    int fd; /* -1: none, or an error occurred */
    char name[64];
    int64_t bytes, done;
    uint32_t crc, wanted;
    mode_t mode;
    z_stream z;
    bool inflating, ended;
    bool complete; /* all files have arrived */
    ti_status st;  /* the first failure; the input is still read to its end */
    struct ti_err *err;
};

static void fail(struct receipt *r, ti_status st)
{
    r->st = st;
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

static void fail_errno(struct receipt *r)
{
    fail(r, ti_err_errno(r->err, TI_ERR_IO, "cannot write '%s' of Tiara", r->name));
}

/* Whether a name is below the folder, at most two folders deep. */
static bool is_safe(const char *name)
{
    return name && *name && strlen(name) < 64 && name[0] != '/' && name[0] != '.' &&
           !strstr(name, "/.") && !strstr(name, "//");
}

static void begin_file(struct receipt *r, const json_t *j)
{
    const char *name = json_string_value(json_object_get(j, "name"));
    char folder[64];

    if (!is_safe(name)) {
        fail(r, ti_err_set(r->err, TI_ERR_REMOTE, "a file that was sent has no proper name"));
        return;
    }
    strcpy(r->name, name);
    strcpy(folder, name);
    for (char *p = folder; (p = strchr(p, '/')) != NULL; *p++ = '/') {
        *p = '\0';
        mkdirat(r->folder, folder, 0700);
    }
    r->bytes = json_integer_value(json_object_get(j, "bytes"));
    r->wanted = (uint32_t)json_integer_value(json_object_get(j, "crc32c"));
    r->mode = (mode_t)json_integer_value(json_object_get(j, "mode")) & 0755;
    r->done = 0;
    r->crc = 0;
    r->ended = false;
    r->fd = openat(r->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (r->fd < 0) {
        fail_errno(r);
        return;
    }
    r->z = (z_stream){0};
    r->inflating = inflateInit(&r->z) == Z_OK;
    if (!r->inflating)
        fail(r, ti_err_set(r->err, TI_ERR_IO, "cannot unpack '%s': out of memory", name));
}

static void add_data(struct receipt *r, const struct ti_frame *f)
{
    static unsigned char out[256 * 1024];

    r->z.next_in = (unsigned char *)(uintptr_t)f->payload;
    r->z.avail_in = f->bytes;
    while (r->fd >= 0 && r->z.avail_in && !r->ended) {
        size_t n;
        int rc;

        r->z.next_out = out;
        r->z.avail_out = sizeof out;
        rc = inflate(&r->z, Z_NO_FLUSH);
        n = sizeof out - r->z.avail_out;
        r->ended = rc == Z_STREAM_END;
        if ((rc != Z_OK && rc != Z_STREAM_END) || r->done + (int64_t)n > r->bytes) {
            fail(r, ti_err_set(r->err, TI_ERR_REMOTE, "'%s' was damaged on its way", r->name));
            return;
        }
        r->crc = ti_crc32c(r->crc, out, n);
        r->done += (int64_t)n;
        if (!ti_write_all(r->fd, out, n))
            fail_errno(r);
    }
}

static void end_file(struct receipt *r)
{
    if (r->inflating)
        inflateEnd(&r->z);
    r->inflating = false;
    if (r->fd < 0)
        return;
    if (!r->ended || r->done != r->bytes || r->crc != r->wanted)
        fail(r, ti_err_set(r->err, TI_ERR_REMOTE, "'%s' was damaged on its way", r->name));
    else if (fchmod(r->fd, r->mode) < 0 || fsync(r->fd) < 0)
        fail_errno(r);
    if (r->fd >= 0 && close(r->fd) < 0) {
        r->fd = -1;
        fail_errno(r);
    }
    r->fd = -1;
}

static void handle_frame(struct receipt *r, const struct ti_frame *f)
{
    json_t *j;

    if (f->type == TI_FRAME_DATA) {
        if (r->fd >= 0)
            add_data(r, f);
        return;
    }
    end_file(r);
    j = json_loadb((const char *)f->payload, f->bytes, 0, NULL);
    if (json_is_true(json_object_get(j, "done")))
        r->complete = true;
    else if (r->st == TI_OK)
        begin_file(r, j);
    json_decref(j);
}

static ti_status receive(struct receipt *r)
{
    struct ti_frame_reader reader = {.started = 1};
    unsigned char buf[64 * 1024];

    while (!r->complete) {
        ssize_t n = read(STDIN_FILENO, buf, sizeof buf);
        size_t done = 0, used;
        struct ti_frame f;
        ti_status st;
        int got;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            fail(r, ti_err_set(r->err, TI_ERR_REMOTE, "the connection ended while Tiara was sent"));
            break;
        }
        do {
            st = ti_frame_feed(&reader, buf + done, (size_t)n - done, &used, &f, &got, r->err);
            done += used;
            if (st == TI_OK && got)
                handle_frame(r, &f);
        } while (st == TI_OK && got);
        if (st != TI_OK) {
            fail(r, st);
            break;
        }
    }
    end_file(r);
    ti_frame_reader_free(&reader);
    return r->st;
}

/* --- in its place -------------------------------------------------------- */

static bool same_content(const char *a, const char *b)
{
    FILE *f = fopen(a, "re"), *g = fopen(b, "re");
    bool same = f && g;
    int c = 0;

    while (same && c != EOF) {
        c = getc(f);
        same = c == getc(g);
    }
    if (f)
        fclose(f);
    if (g)
        fclose(g);
    return same;
}

/* Rename `folder` to BASE/HASH.  A working folder that is there already stays; one that does not
 * work, which is why files were asked for, is replaced. */
static ti_status put_in_place(const char *folder, const char *base, const char *hash,
                              struct ti_err *err)
{
    char place[PATH_MAX], broken[PATH_MAX + 64], theirs[PATH_MAX + 16], ours[PATH_MAX + 16];

    snprintf(place, sizeof place, "%s/%s", base, hash);
    snprintf(theirs, sizeof theirs, "%s/ti-node", place);
    snprintf(ours, sizeof ours, "%s/ti-node", folder);
    for (int i = 0; i < 3; i++) {
        if (rename(folder, place) == 0)
            return TI_OK;
        if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
            break;
        if (access(theirs, X_OK) == 0 && same_content(theirs, ours)) {
            ti_tree_remove(AT_FDCWD, folder);
            return TI_OK;
        }
        snprintf(broken, sizeof broken, "%s.broken", folder);
        if (rename(place, broken) == 0)
            ti_tree_remove(AT_FDCWD, broken);
    }
    return ti_err_errno(err, TI_ERR_IO, "cannot create '%s'", place);
}

struct found {
    char name[NAME_MAX + 1];
    time_t used;
};

static int by_use(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    return x->used < y->used ? 1 : x->used > y->used ? -1 : 0;
}

void ti_install_clean(const char *base, const char *hash)
{
    enum { MOST = 256 };
    struct found *found = calloc(MOST, sizeof *found);
    DIR *dir = opendir(base);
    struct dirent *entry;
    time_t now = time(NULL);
    char path[PATH_MAX + NAME_MAX + 2];
    int n = 0;

    while (found && dir && n < MOST && (entry = readdir(dir)) != NULL) {
        bool undone = strncmp(entry->d_name, ".new-", 5) == 0;
        struct stat sb;

        if ((!undone && !ti_is_hex(entry->d_name, HASH_DIGITS)) ||
            strcmp(entry->d_name, hash) == 0 ||
            fstatat(dirfd(dir), entry->d_name, &sb, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (!undone) {
            strcpy(found[n].name, entry->d_name);
            found[n++].used = sb.st_mtime;
        } else if (now - sb.st_mtime > UNDONE_S) {
            snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
            ti_tree_remove(AT_FDCWD, path);
        }
    }
    if (dir)
        closedir(dir);
    if (n)
        qsort(found, (size_t)n, sizeof *found, by_use);
    for (int i = KEPT - 1; i < n; i++) /* the folder in use is not in the list */
        if (now - found[i].used > OLD_S) {
            snprintf(path, sizeof path, "%s/%s", base, found[i].name);
            ti_tree_remove(AT_FDCWD, path);
        }
    free(found);
}

ti_status ti_install(const char *folder, const char *base, const char *hash, struct ti_err *err)
{
    struct receipt r = {.fd = -1, .err = err};
    ti_status st;

    if (!ti_is_hex(hash, HASH_DIGITS))
        return ti_err_set(err, TI_ERR_USAGE, "'%s' is no hash", hash);
    r.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (r.folder < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", folder);
    printf("TIARA-SEND %s 2\n", hash);
    if (fflush(stdout) != 0)
        fail(&r, ti_err_errno(err, TI_ERR_REMOTE, "cannot ask for the rest"));
    st = r.st == TI_OK ? receive(&r) : r.st;
    close(r.folder);
    if (st == TI_OK)
        st = put_in_place(folder, base, hash, err);
    if (st != TI_OK)
        ti_tree_remove(AT_FDCWD, folder);
    else
        ti_install_clean(base, hash);
    return st;
}

/* --- use ----------------------------------------------------------------- */

/* The folder of this node's valgrind with the files that our tool needs. */
static bool valgrind_folder(char *out)
{
    static const char *const usual[] = {
        "/usr/libexec/valgrind", "/usr/lib/x86_64-linux-gnu/valgrind", "/usr/lib64/valgrind",
        "/usr/lib/valgrind",     "/usr/local/libexec/valgrind",        "/usr/local/lib/valgrind"};
    static const char *const beside[] = {"libexec", "lib", "lib64"};
    char program[PATH_MAX], real[PATH_MAX], probe[PATH_MAX + 64];
    char *slash;

    if (ti_find_on_path("valgrind", program) && realpath(program, real) &&
        (slash = strrchr(real, '/')) != NULL) {
        *slash = '\0';
        for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
            snprintf(out, PATH_MAX, "%.3000s/../%s/valgrind", real, beside[i]);
            snprintf(probe, sizeof probe, "%s/vgpreload_core-amd64-linux.so", out);
            if (access(probe, R_OK) == 0)
                return true;
        }
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        snprintf(out, PATH_MAX, "%s", usual[i]);
        snprintf(probe, sizeof probe, "%s/vgpreload_core-amd64-linux.so", out);
        if (access(probe, R_OK) == 0)
            return true;
    }
    return false;
}

static void link_valgrind(const char *folder)
{
    static const char *const files[] = {"default.supp", "vgpreload_core-amd64-linux.so"};
    char from[PATH_MAX], to[2 * PATH_MAX], link[2 * PATH_MAX], temporary[2 * PATH_MAX + 32];

    snprintf(link, sizeof link, "%s/libexec/valgrind/%s", folder, files[1]);
    if (access(link, R_OK) == 0 || !valgrind_folder(from))
        return;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(to, sizeof to, "%s/%s", from, files[i]);
        snprintf(link, sizeof link, "%s/libexec/valgrind/%s", folder, files[i]);
        snprintf(temporary, sizeof temporary, "%s.%d", link, (int)getpid());
        if (symlink(to, temporary) == 0 && rename(temporary, link) < 0)
            unlink(temporary);
    }
}

void ti_install_use(const char *folder)
{
    const char *slash = strrchr(folder, '/');

    if (!slash || !ti_is_hex(slash + 1, HASH_DIGITS))
        return;
    link_valgrind(folder);
    utimensat(AT_FDCWD, folder, NULL, 0);
}
