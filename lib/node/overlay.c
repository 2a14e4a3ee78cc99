#include "node/overlay.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* An overlay would hide mounts below it. */
static bool has_mounts_below(const char *dir)
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    size_t len = strlen(dir), room = 0;
    char *line = NULL, point[PATH_MAX];
    bool has = !f;

    while (f && !has && getline(&line, &room, f) > 0)
        has = sscanf(line, "%*s %*s %*s %*s %4095s", point) == 1 && strncmp(point, dir, len) == 0 &&
              point[len] == '/';
    free(line);
    if (f)
        fclose(f);
    return has;
}

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return done;
}

/* Enter a mount namespace; without the privilege, inside a new user namespace, as the same user. */
static bool have_namespace(void)
{
    char uid[64], gid[64];

    snprintf(uid, sizeof uid, "%u %u 1", (unsigned)getuid(), (unsigned)getuid());
    snprintf(gid, sizeof gid, "%u %u 1", (unsigned)getgid(), (unsigned)getgid());
    if (unshare(CLONE_NEWNS) != 0 &&
        (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !put("/proc/self/setgroups", "deny") ||
         !put("/proc/self/uid_map", uid) || !put("/proc/self/gid_map", gid)))
        return false;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

bool ti_overlay_enter(void)
{
    char dir[PATH_MAX], options[256];
    struct stat st;
    int lower, upper;

    if (stat(".", &st) != 0 || !getcwd(dir, sizeof dir) || strcmp(dir, "/") == 0 ||
        has_mounts_below(dir))
        return false;
    if (!have_namespace())
        return false;
    /* paths through descriptors, because names may have commas and colons */
    lower = open(".", O_PATH | O_DIRECTORY);
    if (lower < 0 || mount("tiara", dir, "tmpfs", 0, "size=25%") != 0 || chdir(dir) != 0 ||
        mkdir("upper", 0700) != 0 || mkdir("work", 0700) != 0 ||
        chmod("upper", st.st_mode & 07777) != 0)
        return false;
    upper = open(".", O_PATH | O_DIRECTORY);
    snprintf(options, sizeof options,
             "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d/upper,"
             "workdir=/proc/self/fd/%d/work",
             lower, upper, upper);
    if (upper < 0 || mount("tiara", dir, "overlay", 0, options) != 0)
        return false;
    close(upper);
    close(lower);
    return chdir(dir) == 0;
}

bool ti_overlay_works(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(!ti_overlay_enter());
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}
