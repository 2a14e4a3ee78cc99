#include "common/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/folder.h"

static char dir[PATH_MAX];
static bool temporary;
static pid_t owner;
static int lock = -1; /* of a temporary one, see common/folder.h */
static volatile sig_atomic_t stopped, stops;

void ti_scratch_close(void)
{
    if (temporary && owner == getpid())
        ti_folder_remove(dir, lock);
    lock = -1;
    dir[0] = '\0';
    temporary = false;
}

static const char *temporary_folder(void)
{
    const char *tmp = getenv("TMPDIR");

    return tmp && tmp[0] ? tmp : "/tmp";
}

static ti_status open_temporary(struct ti_err *err)
{
    const char *tmp = temporary_folder();

    if (!ti_folder_make(tmp, dir, sizeof dir, &lock))
        return ti_err_errno(err, TI_ERR_IO, "cannot make a directory in '%s'", tmp);
    temporary = true;
    return TI_OK;
}

static ti_status open_kept(const char *keep, struct ti_err *err)
{
    struct dirent *entry;
    bool empty = true;
    DIR *d;

    if (mkdir(keep, 0777) != 0 && errno != EEXIST)
        return ti_err_errno(err, TI_ERR_IO, "cannot make the directory '%s'", keep);
    d = opendir(keep);
    if (!d)
        return ti_err_errno(err, TI_ERR_IO, "cannot use '%s'", keep);
    while ((entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            empty = false;
    closedir(d);
    if (!empty) {
        ti_err_set(err, TI_ERR_USAGE, "'%s' is not empty", keep);
        ti_err_hint(err, "give --keep a new directory");
        return TI_ERR_USAGE;
    }
    if (snprintf(dir, sizeof dir, "%s", keep) >= (int)sizeof dir) {
        dir[0] = '\0';
        return ti_err_set(err, TI_ERR_IO, "'%s' is too long", keep);
    }
    return TI_OK;
}

/* Directory `dir` is there: it is this process's to remove. */
static ti_status opened(void)
{
    char real[PATH_MAX];

    owner = getpid();
    if (realpath(dir, real))
        memcpy(dir, real, sizeof dir);
    atexit(ti_scratch_close);
    return TI_OK;
}

ti_status ti_scratch_open(const char *keep, struct ti_err *err)
{
    ti_status st = keep ? open_kept(keep, err) : open_temporary(err);

    return st ? st : opened();
}

ti_status ti_scratch_open_beside(const char *output, struct ti_err *err)
{
    const char *slash = strrchr(output, '/');
    char folder[PATH_MAX];
    struct stat sb;

    if (lstat(output, &sb) == 0) {
        ti_err_set(err, TI_ERR_USAGE, "'%s' exists", output);
        ti_err_hint(err, "give -o a new name");
        return TI_ERR_USAGE;
    }
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - output) + 1 : 1,
             slash ? output : ".");
    if (!ti_folder_make(folder, dir, sizeof dir, &lock))
        return ti_err_errno(err, TI_ERR_IO, "cannot make '%s'", output);
    temporary = true;
    return opened();
}

ti_status ti_scratch_publish(const char *name, const char *output, struct ti_err *err)
{
    mode_t mask = umask(0);

    umask(mask);
    if (!name)
        chmod(dir, 0777 & ~mask); /* mkdtemp() made it private */
    if (rename(name ? ti_scratch_path(name) : dir, output) != 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", output);
    if (!name) {
        char path[PATH_MAX + sizeof TI_FOLDER_LOCK + 1];

        snprintf(path, sizeof path, "%s/" TI_FOLDER_LOCK, output);
        unlink(path);
        close(lock);
        lock = -1;
        temporary = false;
    }
    return TI_OK;
}

int ti_scratch_unnamed(const char *folder, struct ti_err *err)
{
    char path[PATH_MAX];
    int fd;

    folder = folder ? folder : temporary_folder();
    fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    /* some file systems do not have O_TMPFILE */
    if (fd < 0 && snprintf(path, sizeof path, "%s/tiara-XXXXXX", folder) < (int)sizeof path) {
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
            unlink(path);
    }
    if (fd < 0)
        ti_err_errno(err, TI_ERR_IO, "cannot make a temporary file in '%s'", folder);
    return fd;
}

const char *ti_scratch_dir(void)
{
    return dir;
}

const char *ti_scratch_path(const char *name)
{
    static char path[PATH_MAX + NAME_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

ti_status ti_scratch_create(const char *name, FILE **out, struct ti_err *err)
{
    *out = fopen(ti_scratch_path(name), "we");
    if (!*out)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", ti_scratch_path(name));
    return TI_OK;
}

ti_status ti_scratch_finish(FILE *f, const char *name, ti_status st, struct ti_err *err)
{
    bool bad = ferror(f) != 0;

    if ((fclose(f) != 0 || bad) && !st)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", ti_scratch_path(name));
    return st;
}

static void on_signal(int sig)
{
    stopped = sig;
    stops++;
}

void ti_stop_catch(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    struct sigaction sa = {.sa_handler = on_signal};

    sigemptyset(&sa.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction was;

        /* nohup(1), or a shell's "&" without job control, mean it */
        if (sigaction(signals[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(signals[i], &sa, NULL);
    }
}

int ti_stopped(void)
{
    return stopped;
}

int ti_stop_count(void)
{
    return stops;
}

void ti_stop_die(void)
{
    signal(stopped, SIG_DFL);
    raise(stopped);
}

ti_status ti_stop_check(struct ti_err *err)
{
    if (!stopped)
        return TI_OK;
    return ti_err_set(err, TI_ERR_IO, "interrupted");
}
