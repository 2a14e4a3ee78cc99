/*
 * A link with delay and rate between two network namespaces: frames that come
 * out of a TAP device in one go into a TAP device in the other, later.
 *
 *   wan DELAY_US RATE_BITS  NETNS DEVICE  NETNS DEVICE
 *
 * DELAY_US is one way; RATE_BITS a second, each way, 0 for no limit.  The devices
 * are made, and live as long as this program.  What would have to wait longer
 * than QUEUE_S for its turn is dropped, as a router does.  For kernels without
 * netem.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define QUEUE_S   0.2
#define FRAME_MAX 2048 /* an Ethernet frame of MTU 1500, with room */
#define ROUND     64   /* frames taken from one side before the other has its turn */
#define OVERHEAD  24   /* bytes a frame takes on an Ethernet beside those we see */

struct frame {
    struct frame *next;
    int64_t due_ns;
    size_t bytes;
    unsigned char data[];
};

struct way { /* one direction */
    int from, to;
    int64_t free_ns; /* when the last frame has been sent */
    struct frame *first, **end;
};

static int64_t delay_ns, rate_bits;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void die(const char *what, const char *subject)
{
    fprintf(stderr, "wan: %s: '%s': %s\n", what, subject, strerror(errno));
    exit(1);
}

static int64_t number(const char *text)
{
    char *end;
    int64_t v;

    errno = 0;
    v = strtoll(text, &end, 10);
    if (errno || end == text || *end || v < 0) {
        errno = EINVAL;
        die("not a number", text);
    }
    return v;
}

static int tap(const char *netns, const char *device)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int ns = open(netns, O_RDONLY | O_CLOEXEC), fd;

    if (ns < 0 || setns(ns, CLONE_NEWNET))
        die("cannot enter a network namespace", netns);
    close(ns);
    fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        die("cannot open", "/dev/net/tun");
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device);
    if (ioctl(fd, TUNSETIFF, &request))
        die("cannot make a device", device);
    return fd;
}

/* When a frame that comes now has been sent; -1 if it must be dropped. */
static int64_t sent_ns(const struct way *w, size_t bytes, int64_t now)
{
    int64_t start = w->free_ns > now ? w->free_ns : now;

    if (rate_bits == 0)
        return now;
    if (start - now > (int64_t)(QUEUE_S * 1e9))
        return -1;
    return start + (int64_t)((double)(bytes + OVERHEAD) * 8e9 / (double)rate_bits);
}

/* Takes what has come; false when the device is gone. */
static bool take(struct way *w)
{
    unsigned char data[FRAME_MAX];

    for (int i = 0; i < ROUND; i++) {
        ssize_t n = read(w->from, data, sizeof data);
        int64_t sent;
        struct frame *f;

        if (n < 0)
            return errno == EAGAIN || errno == EINTR || errno == EIO; /* EIO: it is down */
        sent = sent_ns(w, (size_t)n, now_ns());
        if (sent < 0)
            continue;
        f = malloc(sizeof *f + (size_t)n);
        if (!f)
            continue; /* links lose frames */
        w->free_ns = sent;
        *f = (struct frame){.due_ns = sent + delay_ns, .bytes = (size_t)n};
        memcpy(f->data, data, (size_t)n);
        *w->end = f;
        w->end = &f->next;
    }
    return true;
}

/* Hands over what is due. */
static void hand_over(struct way *w)
{
    int64_t now = now_ns();

    while (w->first && w->first->due_ns <= now) {
        struct frame *f = w->first;

        /* A frame that the device does not take is lost. */
        if (write(w->to, f->data, f->bytes) < 0 && errno == EBADFD)
            die("a device is gone", "wan");
        w->first = f->next;
        if (!w->first)
            w->end = &w->first;
        free(f);
    }
}

int main(int argc, char **argv)
{
    struct way way[2];
    int fd[2];

    if (argc != 7) {
        fputs("usage: wan DELAY_US RATE_BITS NETNS DEVICE NETNS DEVICE\n", stderr);
        return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1000UL);
    delay_ns = number(argv[1]) * 1000;
    rate_bits = number(argv[2]);
    fd[0] = tap(argv[3], argv[4]);
    fd[1] = tap(argv[5], argv[6]);
    for (int i = 0; i < 2; i++) {
        way[i] = (struct way){.from = fd[i], .to = fd[1 - i]};
        way[i].end = &way[i].first;
    }
    for (;;) {
        struct pollfd wait[2] = {{.fd = fd[0], .events = POLLIN}, {.fd = fd[1], .events = POLLIN}};
        int64_t due = INT64_MAX, pause;
        struct timespec limit, *until = NULL;

        for (int i = 0; i < 2; i++)
            if (way[i].first && way[i].first->due_ns < due)
                due = way[i].first->due_ns;
        if (due < INT64_MAX) {
            pause = due - now_ns();
            pause = pause < 0 ? 0 : pause;
            limit = (struct timespec){pause / 1000000000, pause % 1000000000};
            until = &limit;
        }
        if (ppoll(wait, 2, until, NULL) < 0 && errno != EINTR)
            die("cannot wait", "poll");
        for (int i = 0; i < 2; i++)
            if ((wait[i].revents & POLLIN) && !take(&way[i]))
                die("cannot read from a device", argv[4 + 2 * i]);
        for (int i = 0; i < 2; i++)
            hand_over(&way[i]);
    }
}
