/*
 * A link with delay and rate between two network namespaces: frames that come
 * out of a TAP device in one go into a TAP device in the other, later.
 *
 *   wan SETTINGS  NETNS DEVICE  NETNS DEVICE
 *
 * SETTINGS is a file of five numbers: DELAY_US RATE_BITS LOSS FLIP FORGE.  It is
 * read again on SIGHUP.  DELAY_US is one way; RATE_BITS a second, each way, 0 for no
 * limit.  The devices are made, and live as long as this program.  A frame that would
 * have to wait longer than QUEUE_S for its turn is dropped, as a router does.  For
 * kernels without netem.
 *
 * The other three say which of a million frames are hurt:
 *   LOSS   is dropped
 *   FLIP   has one bit changed behind its Ethernet header.  The checksums of IP and TCP
 *          notice it, and the receiver drops the frame: to programs this is a loss.
 *   FORGE  has one bit of TCP's data changed, and TCP's checksum corrected: the damage
 *          reaches the program, as from a router with bad memory.  Only frames of SSH are
 *          hurt, because nothing in MPI's messages would notice it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
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
#define MILLION   1000000
#define SSH_PORT  22

#define ETHERNET 14 /* bytes of the header */
#define IPV4     0x0800
#define TCP      6

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

static int64_t delay_ns, rate_bits, loss, flip, forge;
static volatile sig_atomic_t changed; /* the settings */

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

static void read_settings(const char *path)
{
    FILE *f = fopen(path, "r");
    int64_t v[5];
    int n = 0;

    if (!f)
        die("cannot open", path);
    while (n < 5 && fscanf(f, "%" SCNd64, &v[n]) == 1 && v[n] >= 0)
        n++;
    fclose(f);
    if (n < 5) {
        errno = EINVAL;
        die("not five numbers", path);
    }
    delay_ns = v[0] * 1000;
    rate_bits = v[1];
    loss = v[2];
    flip = v[3];
    forge = v[4];
}

static void on_hangup(int sig)
{
    (void)sig;
    changed = 1;
}

/* --- hurt frames --------------------------------------------------------- */

static uint32_t random_below(uint32_t limit)
{
    static uint64_t x = 88172645463325252; /* Marsaglia's xorshift */

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (uint32_t)((x >> 32) * limit >> 32);
}

static bool is_hurt(int64_t of_a_million)
{
    return of_a_million > 0 && random_below(MILLION) < of_a_million;
}

static void flip_a_bit(unsigned char *data, size_t bytes)
{
    data[random_below((uint32_t)bytes)] ^= (unsigned char)(1u << random_below(8));
}

static unsigned word(const unsigned char *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

/* The data of a TCP segment of SSH in this frame; 0 bytes if there are none. */
static unsigned char *ssh_data(unsigned char *frame, size_t size, unsigned char **tcp,
                               size_t *bytes)
{
    unsigned char *ip = frame + ETHERNET;
    size_t head, head_tcp, all;

    *bytes = 0;
    if (size < ETHERNET + 40 || word(frame + 12) != IPV4 || ip[0] >> 4 != 4 || ip[9] != TCP)
        return NULL;
    head = (size_t)(ip[0] & 15) * 4;
    all = word(ip + 2);
    if (all + ETHERNET > size || head + 20 > all)
        return NULL;
    *tcp = ip + head;
    head_tcp = (size_t)((*tcp)[12] >> 4) * 4;
    if (head + head_tcp > all || (word(*tcp) != SSH_PORT && word(*tcp + 2) != SSH_PORT))
        return NULL;
    *bytes = all - head - head_tcp;
    return *tcp + head_tcp;
}

/* One's complement: a word that changes from `was` to `is` changes the sum by the difference
 * (RFC 1624). */
static void forge_data(unsigned char *frame, size_t size)
{
    unsigned char *tcp, *data;
    size_t bytes, at;
    unsigned was, is, sum;

    data = ssh_data(frame, size, &tcp, &bytes);
    if (bytes < 2)
        return;
    at = random_below((uint32_t)(bytes / 2)) * 2;
    was = word(data + at);
    flip_a_bit(data + at, 2);
    is = word(data + at);
    sum = (~word(tcp + 16) & 0xffff) + (~was & 0xffff) + is;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff;
    tcp[16] = (unsigned char)(sum >> 8);
    tcp[17] = (unsigned char)sum;
}

/* --- frames -------------------------------------------------------------- */

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
        if (sent < 0 || is_hurt(loss))
            continue;
        if (n > ETHERNET && is_hurt(flip))
            flip_a_bit(data + ETHERNET, (size_t)n - ETHERNET);
        if (is_hurt(forge))
            forge_data(data, (size_t)n);
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

    if (argc != 6) {
        fputs("usage: wan SETTINGS NETNS DEVICE NETNS DEVICE\n", stderr);
        return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1000UL);
    sigaction(SIGHUP, &(struct sigaction){.sa_handler = on_hangup}, NULL);
    read_settings(argv[1]);
    fd[0] = tap(argv[2], argv[3]);
    fd[1] = tap(argv[4], argv[5]);
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
        if (ppoll(wait, 2, until, NULL) < 0) {
            if (errno != EINTR)
                die("cannot wait", "poll");
            wait[0].revents = wait[1].revents = 0;
        }
        if (changed) {
            changed = 0;
            read_settings(argv[1]);
        }
        for (int i = 0; i < 2; i++)
            if ((wait[i].revents & POLLIN) && !take(&way[i]))
                die("cannot read from a device", argv[3 + 2 * i]);
        for (int i = 0; i < 2; i++)
            hand_over(&way[i]);
    }
}
