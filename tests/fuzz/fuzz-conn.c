/*
 * Fuzzes ti-gather with nodes that send anything: ti_fetch() with its connections, relays, adoption
 * and .part files, over simulated channels.  Afterwards every rank must be here or reported, and
 * nothing else may have been written.
 *
 * The first byte: bits 0 and 1, the arity; 2, remove instead of fetch; 3, parts that are here
 * before; 4, nodes fall silent at the end instead of being lost; 5, ranks that RUN.json does not
 * name; 6, nodes are to merge their ranks.  Then steps: kind (STEPS), connection, arguments.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/node_traces.h"
#include "common/crc32c.h"
#include "common/sha256.h"
#include "gather/fetch/fetch.h"
#include "gather/fetch/nodes.h"
#include "remote/embed.h"
#include "session/frame.h"
#include "session/messages.h"
#include "session/paths.h"
#include "tests/fuzz/fuzz.h"
#include "trace/rankname.h"

#define NODES    5
#define NP       8
#define ENDS_MAX 64 /* connections of one input */
#define RUN_ID   "00112233445566778899aabbccddeeff"

#define TEXT(x)   #x
#define NUMBER(x) TEXT(x)

enum { HELLO, MESSAGE, DATA, FRAME, BYTES, END, PASS, WHOLE, MERGED, STEPS };

/* A connection to a node, from here or through another one. */
struct end {
    struct ti_channel *channel; /* NULL: through `relay` */
    struct end *relay;
    uint32_t stream;
    struct ti_frame_reader in; /* what ti-gather says to it */
    bool gone;
};

struct ti_channel {
    struct ti_channel_callbacks calls;
    void *arg;
    char host[64];
    bool ready, closing, ended, commanded;
    struct end *end;
    struct ti_channel *next;
};

struct ti_remote {
    int fd;
    void (*call)(int fd, void *arg);
    void *arg;
};

static struct {
    const uint8_t *data;
    size_t bytes, at;
    double now;
    bool silent;
    struct end end[ENDS_MAX];
    int ends;
    struct ti_channel *channels;
} at;

static char scratch[64], run_dir[80];
volatile sig_atomic_t ti_gather_stop; /* bundle/run.c has it, which is not linked */
static struct ti_remote the_remote;

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz-conn: %s\n", what);
    abort();
}

/* --- what is made up ----------------------------------------------------- */

double __wrap_ti_now(void);
void __wrap_ti_warn(const char *format, ...);
ti_status __wrap_ti_paths_find(struct ti_paths *p, struct ti_err *err);
void __wrap_ti_sha256_end(struct ti_sha256 *s, char hex[65]);

/* Nobody waits for real time to pass. */
double __wrap_ti_now(void)
{
    return at.now;
}

void __wrap_ti_warn(const char *format, ...)
{
    (void)format;
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

static struct end *new_end(struct ti_channel *channel, struct end *relay, uint32_t stream)
{
    struct end *e;

    if (at.ends == ENDS_MAX)
        return NULL;
    e = &at.end[at.ends++];
    *e = (struct end){.channel = channel, .relay = relay, .stream = stream, .in = {.started = 1}};
    return e;
}

/* The checksum of what nodes are sent is there from the beginning: the same each time. */
bool ti_remote_add_fd(struct ti_remote *r, int fd, void (*call)(int fd, void *arg), void *arg)
{
    struct pollfd done = {fd, POLLIN, 0};
    int n;

    while ((n = poll(&done, 1, 10000)) < 0 && errno == EINTR)
        ; /* libFuzzer's alarm */
    must(n == 1, "no checksum is made");
    *r = (struct ti_remote){fd, call, arg};
    call(fd, arg);
    return true;
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

    (void)r;
    (void)gateway;
    must(c != NULL, "no memory");
    c->commanded = command != NULL;
    c->calls = *calls;
    c->arg = arg;
    snprintf(c->host, sizeof c->host, "%s", host ? host : "");
    c->end = new_end(c, NULL, 0);
    c->closing = !c->end;
    c->next = at.channels;
    at.channels = c;
    return c;
}

struct ti_channel *ti_remote_local(struct ti_remote *r, const char *command,
                                   const struct ti_channel_callbacks *calls, void *arg)
{
    return ti_remote_run(r, NULL, NULL, command, calls, arg);
}

static struct end *through(const struct end *relay, uint32_t stream)
{
    for (int i = 0; i < at.ends; i++)
        if (at.end[i].relay == relay && at.end[i].stream == stream && !at.end[i].gone)
            return &at.end[i];
    return NULL;
}

static void hear(struct end *e, const void *data, size_t bytes);

/* A relay keeps what ti-gather asks it to reach. */
static void hear_request(struct end *e, const struct ti_frame *f)
{
    json_t *j = json_loadb((const char *)f->payload, f->bytes, 0, NULL);
    const char *what = json_string_value(json_object_get(j, "do"));
    json_int_t stream = json_integer_value(json_object_get(j, "stream"));
    struct end *child;

    must(what != NULL, "ti-gather asks for nothing");
    if (strcmp(what, "reach") == 0) {
        must(stream > 0 && !through(e, (uint32_t)stream), "a stream is used twice");
        new_end(NULL, e, (uint32_t)stream);
    } else if (strcmp(what, "unreach") == 0 && (child = through(e, (uint32_t)stream)) != NULL) {
        child->gone = true;
    }
    json_decref(j);
}

static void hear(struct end *e, const void *data, size_t bytes)
{
    const char *p = data;

    for (;;) {
        struct ti_frame f;
        struct ti_err err;
        size_t used;
        int got;
        ti_status st = ti_frame_feed(&e->in, p, bytes, &used, &f, &got, &err);
        struct end *child;

        if (st != TI_OK || !got)
            return; /* what is sent before HELLO are no frames */
        p += used;
        bytes -= used;
        if (f.type == TI_FRAME_MESSAGE)
            hear_request(e, &f);
        child = f.type == TI_FRAME_INPUT ? through(e, f.stream) : NULL;
        if (child)
            hear(child, f.payload, f.bytes);
    }
}

bool ti_channel_write(struct ti_channel *c, const void *data, size_t bytes)
{
    must(!c->ended, "written to what has ended");
    if (c->end && !c->closing)
        hear(c->end, data, bytes);
    return !c->closing;
}

size_t ti_channel_queued(const struct ti_channel *c)
{
    must(!c->ended, "asked of what has ended");
    return 0;
}

void ti_remote_prefetch(struct ti_remote *r, const char *host)
{
    (void)r;
    must(host != NULL, "nobody is foreseen");
}

bool ti_remote_known(struct ti_remote *r, const char *host, char **lines, double *connect_s)
{
    (void)r;
    (void)host;
    *lines = strdup("");
    *connect_s = 0;
    return true;
}

const char *ti_channel_host(const struct ti_channel *c)
{
    return c->host;
}

void ti_channel_set_options(struct ti_channel *c, const struct ti_channel_options *options)
{
    (void)c;
    (void)options;
    must(0, "options for a channel of ti-gather");
}

double ti_remote_due(const struct ti_remote *r)
{
    (void)r;
    return 0;
}

void ti_remote_drop_fd(struct ti_remote *r, int fd)
{
    must(r->fd == fd, "dropped what was not added");
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
    must(!c->ended, "closed once more than it lived");
    c->closing = true;
}

const char *ti_channel_transport(const struct ti_channel *c)
{
    (void)c;
    return "libssh2";
}

static void end_channel(struct ti_channel *c, enum ti_channel_end end)
{
    struct ti_channel_result r = {.end = end, .status = 1};
    struct ti_channel **p = &at.channels;

    while (*p != c)
        p = &(*p)->next;
    *p = c->next;
    ti_err_set(&r.err, TI_ERR_REMOTE, "'%s': it ended", c->host);
    c->ended = true;
    for (int i = 0; i < at.ends; i++)
        for (struct end *e = &at.end[i]; e; e = e->relay)
            at.end[i].gone = at.end[i].gone || e == c->end;
    c->calls.ended(c, &r, c->arg);
    free(c);
}

void ti_remote_free(struct ti_remote *r)
{
    r->call = NULL;
    while (at.channels) {
        struct ti_channel *c = at.channels;

        at.channels = c->next;
        free(c);
    }
}

/* --- what nodes say ------------------------------------------------------ */

static uint8_t take(void)
{
    return at.at < at.bytes ? at.data[at.at++] : 0;
}

static const uint8_t *take_bytes(size_t *n)
{
    const uint8_t *p;
    size_t most = take();

    most |= (size_t)take() << 8;
    p = at.data + at.at;
    *n = most < at.bytes - at.at ? most : at.bytes - at.at;
    at.at += *n;
    return p;
}

/* Bytes out of a node's end, in frames of the relays between. */
static void say(struct end *e, const void *data, size_t bytes)
{
    const unsigned char *p = data;

    while (e->relay && bytes && !e->gone) {
        size_t piece = bytes < 32768 ? bytes : 32768;
        unsigned char *frame = malloc(TI_FRAME_HEADER + piece);

        must(frame != NULL, "no memory");
        ti_frame_header(TI_FRAME_OUTPUT, e->stream, p, (uint32_t)piece, frame);
        memcpy(frame + TI_FRAME_HEADER, p, piece);
        say(e->relay, frame, TI_FRAME_HEADER + piece);
        free(frame);
        p += piece;
        bytes -= piece;
    }
    if (e->channel && bytes && !e->gone && !e->channel->closing)
        e->channel->calls.output(e->channel, data, bytes, e->channel->arg);
}

static void say_frame(struct end *e, enum ti_frame_type type, uint32_t stream, const void *payload,
                      size_t bytes)
{
    unsigned char *frame = malloc(TI_FRAME_HEADER + bytes);

    must(frame != NULL, "no memory");
    ti_frame_header(type, stream, payload, (uint32_t)bytes, frame);
    memcpy(frame + TI_FRAME_HEADER, payload, bytes);
    say(e, frame, TI_FRAME_HEADER + bytes);
    free(frame);
}

static void say_text(struct end *e, enum ti_frame_type type, const char *text)
{
    say_frame(e, type, 0, text, strlen(text));
}

/* As ti-node sends a trace. */
static void say_whole(struct end *e)
{
    unsigned rank = take() % NP;
    size_t n;
    const uint8_t *data = take_bytes(&n);
    char text[128];

    snprintf(text, sizeof text, "{\"is\":\"sending\",\"rank\":%u,\"from\":0,\"bytes\":%zu}", rank,
             n);
    say_text(e, TI_FRAME_MESSAGE, text);
    if (n)
        say_frame(e, TI_FRAME_DATA, rank, data, n);
    snprintf(text, sizeof text, "{\"is\":\"sent\",\"rank\":%u,\"bytes\":%zu,\"crc32c\":%u}", rank,
             n, ti_crc32c(0, data, n));
    say_text(e, TI_FRAME_MESSAGE, text);
}

/* As ti-node sends a merged trace. */
static void say_merged(struct end *e)
{
    unsigned rank = take() % NP, more = take() % NP;
    size_t n, used;
    const uint8_t *data = take_bytes(&n);
    char text[512];

    used = (size_t)snprintf(text, sizeof text,
                            "{\"is\":\"sending\",\"rank\":%u,\"from\":0,\"bytes\":%zu,"
                            "\"merged\":[[%u,10,5]",
                            rank, n, rank);
    for (unsigned i = 1; i <= more; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, ",[%u,10,5]", rank + i);
    snprintf(text + used, sizeof text - used, "]}");
    say_text(e, TI_FRAME_MESSAGE, text);
    if (n)
        say_frame(e, TI_FRAME_DATA, rank, data, n);
    snprintf(text, sizeof text, "{\"is\":\"sent\",\"rank\":%u,\"bytes\":%zu,\"crc32c\":%u}", rank,
             n, ti_crc32c(0, data, n));
    say_text(e, TI_FRAME_MESSAGE, text);
}

static void say_end(struct end *e)
{
    enum ti_channel_end end = take() % TI_CHANNEL_END_COUNT;
    char text[128];

    if (e->channel) {
        end_channel(e->channel, end);
        return;
    }
    snprintf(text, sizeof text,
             "{\"is\":\"ended\",\"stream\":%u,\"end\":\"NO_AUTH\",\"error\":\"no %d\"}", e->stream,
             (int)end);
    e->gone = true;
    say_text(e->relay, TI_FRAME_MESSAGE, text);
}

static struct end *some_end(unsigned which)
{
    for (int i = 0; i < at.ends; i++) {
        struct end *e = &at.end[(which + (unsigned)i) % (unsigned)at.ends];

        if (!e->gone && (!e->channel || !e->channel->closing))
            return e;
    }
    return NULL;
}

static void step(void)
{
    unsigned what = take() % STEPS, which = take();
    struct end *e = at.ends ? some_end(which) : NULL;
    enum ti_frame_type type;
    const uint8_t *p;
    uint32_t stream;
    size_t n;

    if (what == PASS)
        at.now += 0.01 * (1 + which);
    if (!e || what == PASS)
        return;
    switch (what) {
    case HELLO:
        say_text(e, TI_FRAME_HELLO, "{\"tiara\":\"1\",\"protocol\":" NUMBER(TI_PROTOCOL) "}");
        break;
    case MESSAGE:
        p = take_bytes(&n);
        say_frame(e, TI_FRAME_MESSAGE, 0, p, n);
        break;
    case DATA:
        stream = take();
        p = take_bytes(&n);
        say_frame(e, TI_FRAME_DATA, stream, p, n);
        break;
    case FRAME:
        type = (enum ti_frame_type)(take() % 8);
        stream = take();
        p = take_bytes(&n);
        say_frame(e, type, stream, p, n);
        break;
    case BYTES:
        p = take_bytes(&n);
        say(e, p, n);
        break;
    case WHOLE:
        say_whole(e);
        break;
    case MERGED:
        say_merged(e);
        break;
    default:
        say_end(e);
    }
}

/* End the channels that ti-gather closed; in the end all, or time passes. */
int ti_remote_poll(struct ti_remote *r, int timeout_ms)
{
    bool over = at.at >= at.bytes;
    struct pollfd packed = {r->fd, POLLIN, 0};
    int n = 0;

    (void)timeout_ms;
    if (r->call && poll(&packed, 1, 0) == 1)
        r->call(r->fd, r->arg);
    for (struct ti_channel *c = at.channels, *next; c; c = next) {
        next = c->next;
        if (!c->ready && c->calls.ready)
            c->calls.ready(c, c->arg);
        c->ready = true;
        if (c->closing)
            end_channel(c, TI_CHANNEL_CLOSED);
        else if (over && !at.silent)
            end_channel(c, TI_CHANNEL_LOST);
    }
    if (over)
        at.now += 0.3;
    else
        step();
    at.now += 1e-4;
    for (struct ti_channel *c = at.channels; c; c = c->next)
        n++;
    return n;
}

/* --- the run directory --------------------------------------------------- */

static void write_file(const char *dir, const char *name, const void *data, size_t bytes)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "wb");
    must(f && fwrite(data, 1, bytes, f) == bytes && fclose(f) == 0, "cannot write");
}

static void empty(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL)
        if (e->d_name[0] != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}

static void at_exit(void)
{
    empty(run_dir);
    rmdir(run_dir);
    empty(scratch);
    rmdir(scratch);
}

static void make_scratch(void)
{
    snprintf(scratch, sizeof scratch, "/dev/shm/tiara-fuzz-XXXXXX");
    if (!mkdtemp(scratch)) {
        snprintf(scratch, sizeof scratch, "/tmp/tiara-fuzz-XXXXXX");
        must(mkdtemp(scratch) != NULL, "cannot make a folder");
    }
    snprintf(run_dir, sizeof run_dir, "%s/run", scratch);
    must(mkdir(run_dir, 0700) == 0, "cannot make a folder");
    write_file(scratch, "ti-node", "node", 4);
    write_file(scratch, "ti-node-counter", "counter", 7);
    write_file(scratch, "libminitrace.so", "library", 7);
    atexit(at_exit);
}

static void prepare(uint8_t how)
{
    char text[4096], part[64];
    size_t n =
        (size_t)snprintf(text, sizeof text, "{\"run_id\":\"%s\",\"np\":%d,\"nodes\":[", RUN_ID, NP);

    empty(run_dir);
    for (int i = 0; i < NODES; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%s{\"name\":\"n%d\",\"site\":\"s%d\",\"host\":\"n%d\","
                              "\"directory\":\"/traces\",\"ranks\":",
                              i ? "," : "", i, i == NODES - 1, i);
        n += how & 32 ? (size_t)snprintf(text + n, sizeof text - n, "null}")
                      : (size_t)snprintf(text + n, sizeof text - n, "[[%d,%d]]}", i, i + 3);
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "]}");
    write_file(run_dir, "RUN.json", text, n);
    for (int r = 0; how & 8 && r < NP; r += 2) {
        char name[TI_RANK_NAME_BYTES];

        snprintf(part, sizeof part, "%s.part", ti_rank_name(r, name));
        write_file(run_dir, part, text, 16 * (size_t)r);
    }
}

/* Nothing is here that has no business here; how many ranks are. */
static int64_t look_at_files(bool rank[NP], struct ti_node_traces *from_nodes)
{
    DIR *d = opendir(run_dir);
    struct dirent *e;
    int64_t n = 0;

    for (int64_t r = -1; (r = ti_node_traces_next(from_nodes, r + 1)) >= 0; n++) {
        must(r < NP, "a merged rank that is none");
        rank[r] = true;
    }

    while (d && (e = readdir(d)) != NULL) {
        char name[64], canonical[TI_RANK_NAME_BYTES];
        size_t length = strlen(e->d_name);
        int64_t r;
        bool part;

        if (e->d_name[0] == '.' || strcmp(e->d_name, "RUN.json") == 0)
            continue;
        must(length < sizeof name, "a file with a long name");
        strcpy(name, e->d_name);
        part = length > 5 && strcmp(name + length - 5, ".part") == 0;
        if (part)
            name[length - 5] = '\0';
        r = ti_rank_of_name(name);
        must(r >= 0 && r < NP && strcmp(name, ti_rank_name(r, canonical)) == 0,
             "a file that is no rank's");
        rank[r] = rank[r] || !part;
        n += !part;
    }
    if (d)
        closedir(d);
    return n;
}

static void account(const struct ti_fetch *f, struct ti_node_traces *from_nodes, ti_status st)
{
    bool rank[NP] = {false};
    int64_t here = look_at_files(rank, from_nodes), missing = 0, came = 0;

    if (st != TI_OK)
        return;
    must(f->fetched == here, "more or less was fetched than is here");
    for (int64_t i = 0; i < f->nnodes; i++) {
        const struct ti_fetch_node *x = &f->node[i];

        must(x->ranks >= 0 && x->missing >= 0 && x->wanted >= x->ranks + x->missing,
             "a node was to send less than came or is missing");
        missing += x->missing;
        came += x->ranks;
    }
    must(came == f->fetched, "other ranks than nodes sent");
    for (int i = 0; i < f->nfailures; i++) {
        const struct ti_fetch_failure *x = &f->failure[i];

        if (!x->node)
            missing += ti_ranges_count(&x->ranks);
        must(x->why != NULL, "a failure without a cause");
        ti_ranges_foreach (&x->ranks, r) {
            must(r >= 0 && r < NP && !rank[r], "told to be missing, and is here or told twice");
            rank[r] = true;
        }
    }
    for (int r = 0; r < NP; r++)
        must(rank[r], "a rank is lost silently");
    must(missing == NP - here, "other ranks are missing than nodes lack");
    must((f->worst == TI_OK) == (here == NP), "the status is another");
}

static ti_status remove_them(const struct ti_nodes *nodes, const struct ti_fetch_settings *s,
                             struct ti_fetch *f, struct ti_err *err)
{
    struct ti_run_rank rank[NP] = {{.state = TI_RANK_OK}};
    struct ti_run run = {.path = run_dir, .nranks = NP, .rank = rank};
    int64_t removed;
    ti_status st;

    for (int r = 0; r < NP; r++) {
        rank[r].state = TI_RANK_OK;
        rank[r].file.st_size = 100;
        rank[r].from_node = r % 3;
    }
    st = ti_fetch_remove(&run, nodes, s, &removed, f, err);
    must(removed >= 0 && removed <= NP * NODES, "more was removed than there is");
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const int arity[] = {TI_ARITY_STAR, 1, 2, 4};
    struct ti_fetch_settings s = {.timeout_s = 5};
    struct ti_err err = {"", ""};
    struct ti_nodes nodes;
    struct ti_fetch f;
    ti_status st;

    if (bytes < 1)
        return 0;
    if (!scratch[0])
        make_scratch();
    memset(&at, 0, sizeof at);
    at.data = data + 1;
    at.bytes = bytes - 1;
    at.now = 1000;
    at.silent = data[0] & 16;
    s.arity = arity[data[0] & 3];
    srandom(1);
    prepare(data[0]);
    if (data[0] & 64)
        s.from_nodes = ti_node_traces_new(scratch);
    must(ti_nodes_read(run_dir, &nodes, &err) == TI_OK, "RUN.json cannot be read");
    if (data[0] & 4) {
        st = remove_them(&nodes, &s, &f, &err);
    } else {
        st = ti_fetch(&nodes, &s, false, &f, &err);
        account(&f, s.from_nodes, st);
    }
    must(st == TI_OK || err.text[0], "an error without a text");
    ti_fetch_free(&f);
    ti_nodes_free(&nodes);
    ti_node_traces_free(s.from_nodes);
    for (int i = 0; i < at.ends; i++)
        ti_frame_reader_free(&at.end[i].in);
    return 0;
}
