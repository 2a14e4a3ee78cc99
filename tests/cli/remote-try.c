/*
 * The API of remote/ from the command line, for tests/cli/remote*.sh.
 *
 *   remote-try [OPTION]... HOST[,HOST]... COMMAND
 *
 * Runs COMMAND on each HOST; HOST*N is N channels to it.  What comes goes to
 * standard output, each end to standard error, as
 *   HOST END STATUS SIGNAL TRANSPORT | sentence | hint
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "remote/embed.h"
#include "remote/remote.h"

#define HOSTS_MAX  4096
#define CHUNK      (64 << 10)
#define PAUSED_MAX (1 << 20) /* of the turns that began before the pause */

static struct {
    const char *gateway;
    bool local, quiet, count, hold, eof;
    int64_t send;        /* bytes to write, of a pattern */
    double pause_s;      /* at the first output */
    int64_t close_after; /* bytes of output */
    int max_kib;         /* of queued input */
    int hosts;
    const char *host[HOSTS_MAX];
    bool input; /* ours goes to theirs */
} opt = {.close_after = -1};

static struct ti_remote *remote;

struct one {
    struct ti_channel *c;
    int64_t sent, got, got_err;
    uint32_t crc;
};

static const char *const names[] = {
#define NAME(name, text) #name,
    TI_CHANNEL_ENDS(NAME)
#undef NAME
};

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The same pattern on both sides of 64 MiB: what `yes` says. */
static void fill(char *buf, int64_t at, size_t bytes)
{
    static const char line[] = "tiara 64 MiB\n";

    for (size_t i = 0; i < bytes; i++)
        buf[i] = line[(size_t)(at + (int64_t)i) % (sizeof line - 1)];
}

static void feed(struct one *o)
{
    char buf[CHUNK];

    while (o->sent < opt.send && ti_channel_queued(o->c) < 4 * CHUNK) {
        size_t bytes = opt.send - o->sent < CHUNK ? (size_t)(opt.send - o->sent) : CHUNK;

        fill(buf, o->sent, bytes);
        if (!ti_channel_write(o->c, buf, bytes))
            return;
        o->sent += (int64_t)bytes;
    }
    if (o->sent == opt.send && !opt.hold)
        ti_channel_eof(o->c);
}

static void on_ready(struct ti_channel *c, void *arg)
{
    (void)c;
    if (!opt.input)
        feed(arg);
}

static void on_drained(struct ti_channel *c, void *arg)
{
    (void)c;
    if (!opt.input)
        feed(arg);
}

static double resume_at; /* no turn is granted before then: -p */

static bool is_full(void *arg)
{
    (void)arg;
    return now() < resume_at;
}

static void on_output(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct one *o = arg;

    if (opt.pause_s > 0 && !o->got)
        resume_at = now() + opt.pause_s;
    o->got += (int64_t)bytes;
    if (now() < resume_at && o->got > PAUSED_MAX)
        fprintf(stderr, "output while paused\n");
    if (opt.count)
        o->crc = ti_crc32c(o->crc, data, bytes);
    else if (!opt.quiet)
        fwrite(data, 1, bytes, stdout);
    if (opt.close_after >= 0 && o->got >= opt.close_after)
        ti_channel_close(c);
}

static void on_err_output(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct one *o = arg;

    (void)c;
    o->got_err += (int64_t)bytes;
    if (!opt.quiet && !opt.count)
        fwrite(data, 1, bytes, stderr);
}

static void on_ended(struct ti_channel *c, const struct ti_channel_result *r, void *arg)
{
    struct one *o = arg;

    if (opt.count)
        printf("%s %lld %08x %lld\n", ti_channel_host(c), (long long)o->got, o->crc,
               (long long)o->got_err);
    fflush(stdout);
    fprintf(stderr, "%s %s %d %s %s | %s | %s\n", ti_channel_host(c), names[r->end], r->status,
            r->signal[0] ? r->signal : "-", ti_channel_transport(c), r->err.text, r->err.hint);
    if (ti_channel_why_openssh(c))
        fprintf(stderr, "%s why OpenSSH: %s\n", ti_channel_host(c), ti_channel_why_openssh(c));
    o->c = NULL;
}

static struct one *ones;

static void on_input(int fd, void *arg)
{
    char buf[CHUNK];
    ssize_t n = read(fd, buf, sizeof buf);

    (void)arg;
    for (int i = 0; i < opt.hosts; i++) {
        if (!ones[i].c)
            continue;
        if (n > 0)
            ti_channel_write(ones[i].c, buf, (size_t)n);
        else if (!opt.hold)
            ti_channel_eof(ones[i].c);
    }
    if (n <= 0)
        ti_remote_drop_fd(remote, fd);
}

static void add_hosts(char *list)
{
    for (char *h = strtok(list, ","); h; h = strtok(NULL, ",")) {
        char *star = strchr(h, '*');
        int times = star ? atoi(star + 1) : 1;

        if (star)
            *star = '\0';
        while (times-- > 0 && opt.hosts < HOSTS_MAX)
            opt.host[opt.hosts++] = h;
    }
}

static int usage(void)
{
    fputs("usage: remote-try [-F FILE] [-t auto|libssh2|openssh] [-g GATEWAY] [-v WORD]... [-l]\n"
          "    [-i] [-s BYTES] [-n] [-c] [-q] [-p SECONDS] [-x BYTES] [-C CONNECT_S]\n"
          "    [-S SILENCE_S] [-m MOST_NEW] [-r TRIES] [-T SECONDS] HOST[*N],... COMMAND\n"
          "-l local -i our input is theirs -s send a pattern -n no end of input -c count and sum\n"
          "-p pause at the first output -x close after so much output -T all at an end by then\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct ti_remote_config config = {0};
    const char *via[16] = {0};
    struct rusage self, children;
    double limit = 0, start = now();
    struct ti_err err;
    int words = 0, o, live;
    static const struct ti_channel_callbacks calls = {on_ready, on_output, on_err_output,
                                                      on_drained, on_ended};

    while ((o = getopt(argc, argv, "+F:t:g:v:lis:ncqp:x:C:S:m:r:T:")) != -1) {
        switch (o) {
        case 'F':
            config.ssh_config = optarg;
            break;
        case 't':
            config.transport = strcmp(optarg, "libssh2") == 0   ? TI_TRANSPORT_LIBSSH2
                               : strcmp(optarg, "openssh") == 0 ? TI_TRANSPORT_OPENSSH
                                                                : TI_TRANSPORT_AUTO;
            break;
        case 'g':
            opt.gateway = optarg;
            break;
        case 'v':
            if (words < 15)
                via[words++] = optarg;
            config.via = via;
            break;
        case 'l':
            opt.local = true;
            break;
        case 'i':
            opt.input = true;
            break;
        case 's':
            opt.send = atoll(optarg);
            break;
        case 'n':
            opt.hold = true;
            break;
        case 'c':
            opt.count = true;
            break;
        case 'q':
            opt.quiet = true;
            break;
        case 'p':
            opt.pause_s = atof(optarg);
            break;
        case 'x':
            opt.close_after = atoll(optarg);
            break;
        case 'C':
            config.connect_s = atof(optarg);
            break;
        case 'S':
            config.silence_s = atof(optarg);
            break;
        case 'm':
            config.max_opening = atoi(optarg);
            break;
        case 'r':
            config.tries = atoi(optarg);
            break;
        case 'T':
            limit = atof(optarg);
            break;
        default:
            return usage();
        }
    }
    if (argc - optind != 2)
        return usage();
    add_hosts(argv[optind]);
    ones = calloc((size_t)opt.hosts + 1, sizeof *ones);
    if (!ones || ti_remote_new(&config, &remote, &err) != TI_OK)
        return 1;
    if (opt.pause_s > 0)
        ti_remote_read_by_turns(remote, is_full, NULL);
    for (int i = 0; i < opt.hosts; i++) {
        struct one *one = &ones[i];

        one->c = opt.local ? ti_remote_local(remote, argv[optind + 1], &calls, one)
                           : ti_remote_run(remote, opt.host[i], opt.gateway, argv[optind + 1],
                                           &calls, one);
        if (!one->c)
            return 1;
    }
    if (opt.input && !ti_remote_add_fd(remote, 0, on_input, NULL)) {
        perror("standard input must be a pipe");
        return 1;
    }
    do {
        live = ti_remote_poll(remote, opt.pause_s > 0 || limit > 0 ? 50 : -1);
    } while (live && (limit <= 0 || now() - start < limit));
    if (live)
        fprintf(stderr, "%d channels still live\n", live);
    ti_remote_free(remote);
    free(ones);
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    if (opt.count)
        printf("took %.2f s, processor %.2f s here and %.2f s in children, %ld KiB\n",
               now() - start,
               (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec) +
                   (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec) / 1e6,
               (double)(children.ru_utime.tv_sec + children.ru_stime.tv_sec) +
                   (double)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) / 1e6,
               self.ru_maxrss);
    return live ? 3 : 0;
}
