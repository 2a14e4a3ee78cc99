#include "node/waits.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "node/launch.h"

#define WAITS_MAX 16
#define SYN_SENT  0x02 /* as in /proc/net/tcp */

struct wait {
    unsigned long inode;
    char peer[INET6_ADDRSTRLEN + 16];
    bool ours;
};

struct waits {
    struct wait wait[WAITS_MAX];
    int n;
};

/* /proc/net/tcp has addresses as 32-bit words in the machine's byte order. */
static bool read_address(const char *hex, int family, char *text, size_t bytes)
{
    unsigned char address[16];

    for (int i = 0; i < (family == AF_INET ? 1 : 4); i++) {
        unsigned word;

        if (sscanf(hex + 8L * i, "%8x", &word) != 1)
            return false;
        memcpy(address + 4L * i, &word, 4);
    }
    return inet_ntop(family, address, text, (socklen_t)bytes) != NULL;
}

/* A line is "SL: LOCAL:PORT REMOTE:PORT STATE TX:RX TR:WHEN RETRNSMT UID TIMEOUT INODE". */
static void read_line(struct waits *w, const char *line, int family)
{
    struct wait *to = &w->wait[w->n];
    char remote[40], address[INET6_ADDRSTRLEN];
    unsigned port, state;
    unsigned long inode;

    if (w->n == WAITS_MAX ||
        sscanf(line, " %*[^:]: %*s %39[0-9A-Fa-f]:%x %x %*s %*s %*s %*s %*s %lu", remote, &port,
               &state, &inode) != 4 ||
        state != SYN_SENT || strlen(remote) != (family == AF_INET ? 8 : 32) ||
        !read_address(remote, family, address, sizeof address))
        return;
    snprintf(to->peer, sizeof to->peer, family == AF_INET ? "%s:%u" : "[%s]:%u", address, port);
    to->inode = inode;
    to->ours = false;
    w->n++;
}

static void read_table(struct waits *w, const char *path, int family)
{
    FILE *f = fopen(path, "re");
    char line[512];

    while (f && fgets(line, sizeof line, f))
        read_line(w, line, family);
    if (f)
        fclose(f);
}

/* Mark the connections whose socket the process has. */
static void look_at(pid_t pid, void *arg)
{
    struct waits *w = arg;
    char path[64], target[64];
    const struct dirent *e;
    DIR *dir;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    while (dir && (e = readdir(dir)) != NULL) {
        ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof target - 1);
        unsigned long inode;

        target[n > 0 ? n : 0] = '\0';
        if (sscanf(target, "socket:[%lu]", &inode) != 1)
            continue;
        for (int i = 0; i < w->n; i++)
            if (w->wait[i].inode == inode)
                w->wait[i].ours = true;
    }
    if (dir)
        closedir(dir);
}

static bool has(const json_t *list, const char *text)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item) if (strcmp(json_string_value(item), text) == 0) return true;
    return false;
}

json_t *ti_waits(const char *run_id)
{
    struct waits w = {.n = 0};
    json_t *list = json_array();

    read_table(&w, "/proc/self/net/tcp", AF_INET);
    read_table(&w, "/proc/self/net/tcp6", AF_INET6);
    if (w.n)
        ti_launch_each(run_id, look_at, &w);
    for (int i = 0; list && i < w.n; i++)
        if (w.wait[i].ours && !has(list, w.wait[i].peer))
            json_array_append_new(list, json_string(w.wait[i].peer));
    return list;
}
