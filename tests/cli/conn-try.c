/*
 * The API of session/conn.h from the command line, for tests/cli/conn.sh.
 *
 *   conn-try [OPTION]... NAME=RELAY:HOST...
 *
 * RELAY is an earlier NAME, or empty: connect from here.  HOST "." is this machine; "+DIR" after it
 * is the folder where Tiara is installed there.  Prints for each connection "NAME ready TRANSPORT"
 * and "NAME pid PID", with -d "NAME rank RANK BYTES CRC" for each trace, and "NAME ended END
 * own|relay | sentence | hint".  Exits when all have ended or, unless -n, when all are ready and
 * have sent their traces; then prints "NAME bytes OWN LINK".
 *
 * With -w it takes commands from standard input, a line each:
 *
 *   turn [NAME,...]  Turn the clock as fast as connections allow: it waits for each that is not
 *                    ready yet and, after a quarter of -S, for a heartbeat of each that is, and
 *                    for each that is sent Tiara's files to take some.  It does not wait for the
 *                    connections named.  So none but these is ever late, however slow the machine
 *                    is.  Prints "turned N" after each N times SILENCE_S.
 *   jump             Turn it by ten times SILENCE_S at once, as if this process had been stopped.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "node/launch.h"
#include "session/conn_internal.h"
#include "session/times.h"
#include "turned.h"

#define MOST 512

struct one {
    char *name, *host, *tiara;
    struct one *relay;
    struct ti_conn *way;
    bool began, ready, done;
    bool awaited;  /* the clock waits for it */
    size_t queued; /* of Tiara's files */
    double took;   /* when it took some, ti_sessions_clock() */
    uint32_t crc;
    int64_t bytes, got;
};

static struct {
    const char *gateway, *directory, *run_id, *close;
    double silence_s;
    int ranks;
    bool hold, commands;
} opt;

static struct one ones[MOST];
static int n;
static struct ti_conns *ways;
static const struct ti_conn_callbacks calls;

static const char *const ends[] = {
#define NAME(name, text) #name,
    TI_CHANNEL_ENDS(NAME)
#undef NAME
};

static void begin(struct one *o)
{
    bool local = strcmp(o->host, ".") == 0;

    o->began = true;
    o->way = ti_conn_open(ways, o->relay ? o->relay->way : NULL, local ? NULL : o->host,
                          opt.gateway, o->tiara, local, &calls, o);
    if (!o->way)
        exit(1);
}

static void on_ready(struct ti_conn *w, void *arg)
{
    struct one *o = arg;

    printf("%s ready %s\n", o->name, ti_conn_transport(w));
    printf("%s pid %lld\n", o->name,
           (long long)json_integer_value(json_object_get(ti_conn_hello(w), "pid")));
    o->ready = true;
    for (int i = 0; i < n; i++)
        if (ones[i].relay == o)
            begin(&ones[i]);
    if (opt.directory &&
        !ti_conn_request(w, json_pack("{s:s, s:i, s:s, s:s, s:[[i, i]]}", "do", "send", "id", 7,
                                      "directory", opt.directory, "run_id", opt.run_id, "ranks", 0,
                                      opt.ranks - 1)))
        printf("%s cannot be asked\n", o->name);
    if (opt.close && strcmp(opt.close, o->name) == 0)
        ti_conn_close(w);
}

static void on_message(struct ti_conn *w, const json_t *m, void *arg)
{
    struct one *o = arg;
    const char *is = json_string_value(json_object_get(m, "is"));

    (void)w;
    if (strcmp(is, "sent") == 0) {
        printf(
            "%s rank %lld %lld %08x%s\n", o->name,
            (long long)json_integer_value(json_object_get(m, "rank")), (long long)o->bytes, o->crc,
            o->crc == (uint32_t)json_integer_value(json_object_get(m, "crc32c")) ? "" : " WRONG");
        o->bytes = 0;
        o->crc = 0;
    } else if (strcmp(is, "send") == 0) {
        o->done = true;
    } else if (strcmp(is, "sending") != 0) {
        char *text = json_dumps(m, JSON_COMPACT | JSON_SORT_KEYS);

        printf("%s says %s\n", o->name, text);
        free(text);
    }
}

static void on_data(struct ti_conn *w, uint32_t rank, const void *data, size_t bytes, void *arg)
{
    struct one *o = arg;

    (void)w;
    (void)rank;
    o->crc = ti_crc32c(o->crc, data, bytes);
    o->bytes += (int64_t)bytes;
    o->got += (int64_t)bytes;
}

/* Ends the connections behind `relay` that were not begun, and never will be. */
static void give_up_behind(const struct one *relay)
{
    for (int i = 0; i < n; i++) {
        struct one *o = &ones[i];

        if (o->relay != relay || o->began)
            continue;
        o->began = true;
        printf("%s ended NONE relay | %s ended before it was begun | \n", o->name, relay->name);
        give_up_behind(o);
    }
}

static void on_ended(struct ti_conn *w, enum ti_channel_end end, bool relay,
                     const struct ti_err *why, void *arg)
{
    struct one *o = arg;

    printf("%s ended %s %s | %s | %s\n", o->name, ends[end], relay ? "relay" : "own", why->text,
           why->hint);
    (void)w;
    give_up_behind(o);
    o->way = NULL;
    o->done = true;
}

static const struct ti_conn_callbacks calls = {
    .ready = on_ready, .message = on_message, .data = on_data, .ended = on_ended};

static bool add(char *spec)
{
    struct one *o = &ones[n];
    char *relay = strchr(spec, '='), *host = relay ? strchr(relay, ':') : NULL;

    if (!host || n == MOST)
        return false;
    *relay++ = *host++ = '\0';
    o->name = spec;
    o->host = host;
    o->tiara = strchr(host, '+');
    if (o->tiara)
        *o->tiara++ = '\0';
    for (int i = 0; *relay && i < n; i++)
        if (strcmp(ones[i].name, relay) == 0)
            o->relay = &ones[i];
    n++;
    return !*relay || o->relay;
}

static bool all_done(void)
{
    for (int i = 0; i < n; i++)
        if (!ones[i].began || (ones[i].way && (!ones[i].ready || (opt.directory && !ones[i].done))))
            return false;
    return true;
}

/* --- the clock ----------------------------------------------------------- */

static bool turning;
static double turned; /* in all, by "turn" */

/* When it was heard last, or took some of Tiara's files; before that, never. */
static double last_sign(struct one *o)
{
    size_t queued =
        ti_session_installing(&o->way->session) ? ti_session_queued(&o->way->session) : 0;

    if (queued != o->queued)
        o->took = ti_sessions_clock(ways->sessions);
    o->queued = queued;
    return o->ready ? o->way->heard : queued ? o->took : -1e300;
}

/* Whether a connection that the clock waits for must be heard first, or become ready. */
static bool must_wait(void)
{
    double now = ti_sessions_clock(ways->sessions);

    for (int i = 0; i < n; i++) {
        struct one *o = &ones[i];

        if (o->awaited && o->began && o->way && now > last_sign(o) + opt.silence_s / 4)
            return true;
    }
    return false;
}

static void turn(void)
{
    double step = TI_SESSION_CHECK_MS / 1e3;

    turn_clock(step);
    turned += step;
    if ((int)(turned / opt.silence_s) > (int)((turned - step) / opt.silence_s))
        printf("turned %d\n", (int)(turned / opt.silence_s));
}

static void obey(int fd, void *arg)
{
    char line[4096], *rest = NULL, *word;
    ssize_t bytes = read(fd, line, sizeof line - 1); /* a FIFO: the lines of one write */

    (void)arg;
    if (bytes <= 0)
        exit(1);
    line[bytes] = '\0';
    word = strtok_r(line, " \n", &rest);
    if (word && strcmp(word, "jump") == 0) {
        turn_clock(10 * opt.silence_s);
        return;
    }
    turning = true;
    for (int i = 0; i < n; i++)
        ones[i].awaited = true;
    while ((word = strtok_r(NULL, ", \n", &rest)) != NULL)
        for (int i = 0; i < n; i++)
            if (strcmp(ones[i].name, word) == 0)
                ones[i].awaited = false;
}

/* Until all is done; returns how many connections are left. */
static int loop(void)
{
    int live;

    do {
        bool wait = !turning || must_wait();

        if (!wait)
            turn();
        live = ti_conns_poll(ways, wait ? 50 : 1);
    } while (live && (opt.hold || !all_done()));
    if (turning)
        release_clock();
    return live;
}

static int usage(void)
{
    fputs("usage: conn-try [-F FILE] [-t auto|libssh2|openssh] [-A] [-g GATEWAY] [-C CONNECT_S]\n"
          "    [-S SILENCE_S] [-d DIR -r RUN_ID -k RANKS] [-c NAME] [-n] [-w] NAME=RELAY:HOST...\n"
          "-A forward the agent -c close NAME once it is ready -n hold -w take commands\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct ti_conns_config config = {0};
    double start = ti_now();
    struct rusage usage_now;
    struct ti_err err;
    int o, live;

    setvbuf(stdout, NULL, _IOLBF, 0);
    while ((o = getopt(argc, argv, "F:t:Ag:C:S:d:r:k:c:nw")) != -1) {
        switch (o) {
        case 'F':
            config.ssh_config = optarg;
            break;
        case 't':
            config.transport = strcmp(optarg, "libssh2") == 0   ? TI_TRANSPORT_LIBSSH2
                               : strcmp(optarg, "openssh") == 0 ? TI_TRANSPORT_OPENSSH
                                                                : TI_TRANSPORT_AUTO;
            break;
        case 'A':
            config.forward_agent = true;
            break;
        case 'g':
            opt.gateway = optarg;
            break;
        case 'C':
            config.connect_s = atof(optarg);
            break;
        case 'S':
            config.silence_s = opt.silence_s = atof(optarg);
            break;
        case 'd':
            opt.directory = optarg;
            break;
        case 'r':
            opt.run_id = optarg;
            break;
        case 'k':
            opt.ranks = atoi(optarg);
            break;
        case 'c':
            opt.close = optarg;
            break;
        case 'n':
            opt.hold = true;
            break;
        case 'w':
            opt.commands = true;
            break;
        default:
            return usage();
        }
    }
    for (; optind < argc; optind++)
        if (!add(argv[optind]))
            return usage();
    if (ti_conns_new(&config, &ways, &err) != TI_OK) {
        fprintf(stderr, "conn-try: %s\n", err.text);
        return 1;
    }
    if (opt.commands && !ti_remote_add_fd(ti_conns_remote(ways), STDIN_FILENO, obey, NULL))
        return 1;
    for (int i = 0; i < n; i++)
        if (!ones[i].relay)
            begin(&ones[i]);
    live = loop();
    for (int i = 0; i < n; i++)
        if (ones[i].way)
            printf("%s bytes %lld %lld\n", ones[i].name, (long long)ti_conn_bytes(ones[i].way),
                   (long long)ti_conn_link_bytes(ones[i].way));
    o = live && !all_done() ? 3 : 0;
    ti_conns_free(ways);
    getrusage(RUSAGE_SELF, &usage_now);
    printf("took %.2f s, %ld KiB\n", ti_now() - start, usage_now.ru_maxrss);
    return o;
}
