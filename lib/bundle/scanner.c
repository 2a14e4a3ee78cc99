#include "bundle/scanner.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "bundle/node_traces.h"
#include "bundle/rank_scan.h"
#include "common/folder.h"
#include "common/order.h"
#include "trace/rankname.h"

#define THREADS_MAX 4
#define NICE        5            /* the thread that receives goes first */
#define KEPT_MAX    (512u << 20) /* bytes; 100,000 ranks need some 60 MB */
#define SHARED_MAX  64

enum state { NONE, QUEUED, SCANNING, SCANNED };

struct item {
    enum state state;
    bool again; /* replaced during the scan: scan it again */
    struct ti_rank_scan *scan;
};

struct ti_scanner {
    char *path;
    int dir;
    struct ti_bundle *bundle;
    struct ti_node_traces *from_nodes;

    pthread_mutex_t lock; /* protects all that follows */
    pthread_cond_t more, done;
    struct item *item; /* by rank */
    int64_t nitems;
    int64_t *queue; /* ring of ranks */
    int64_t room, first, waiting;
    size_t kept;
    struct ti_rank_scan_info shared[SHARED_MAX];
    int nshared;
    struct ti_rank_scan
        *unusual; /* result outside the table: an unusual file name, or over KEPT_MAX */

    volatile int stop; /* read without the lock */
    pthread_t thread[THREADS_MAX];
    int nthreads;
};

/* ------------------------------------------------------------------ queue -- */

static bool grow_items(struct ti_scanner *a, int64_t rank)
{
    int64_t want = a->nitems ? a->nitems : 256;
    struct item *grown;

    if (rank < a->nitems)
        return true;
    while (want <= rank)
        want *= 2;
    grown = realloc(a->item, (size_t)want * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + a->nitems, 0, (size_t)(want - a->nitems) * sizeof *grown);
    a->item = grown;
    a->nitems = want;
    return true;
}

static bool grow_queue(struct ti_scanner *a)
{
    int64_t want = a->room ? 2 * a->room : 256;
    int64_t *grown;

    if (a->waiting < a->room)
        return true;
    grown = malloc((size_t)want * sizeof *grown);
    if (!grown)
        return false;
    for (int64_t i = 0; i < a->waiting; i++)
        grown[i] = a->queue[(a->first + i) % a->room];
    free(a->queue);
    a->queue = grown;
    a->room = want;
    a->first = 0;
    return true;
}

static void drop(struct ti_scanner *a, struct item *item)
{
    if (item->scan)
        a->kept -= ti_rank_scan_bytes(item->scan);
    ti_rank_scan_free(item->scan);
    item->scan = NULL;
    item->state = NONE;
}

static void enqueue(struct ti_scanner *a, int64_t rank)
{
    if (rank < 0 || rank >= TI_RANKS_MAX || !grow_items(a, rank))
        return;
    if (a->item[rank].state == SCANNING)
        a->item[rank].again = true;
    if (a->item[rank].state == SCANNING || a->item[rank].state == QUEUED || !grow_queue(a))
        return;
    drop(a, &a->item[rank]);
    a->item[rank].state = QUEUED;
    a->queue[(a->first + a->waiting++) % a->room] = rank;
    pthread_cond_signal(&a->more);
}

/* The next queued rank, without those that ti_scanner_get() has scanned meanwhile; -1: none. */
static int64_t dequeue(struct ti_scanner *a)
{
    while (a->waiting) {
        int64_t rank = a->queue[a->first];

        a->first = (a->first + 1) % a->room;
        a->waiting--;
        if (a->item[rank].state == QUEUED)
            return rank;
    }
    return -1;
}

/* ------------------------------------------------------------------- scan -- */

/* Keeps equal metadata once: it is nearly always equal in all ranks. */
static void share(struct ti_scanner *a, struct ti_rank_scan *r)
{
    for (int i = 0; i < a->nshared; i++) {
        if (a->shared[i].bytes != r->common.bytes ||
            memcmp(a->shared[i].text, r->common.text, r->common.bytes) != 0)
            continue;
        free(r->common.text);
        r->common = a->shared[i];
        r->shared = true;
        return;
    }
    if (a->nshared == SHARED_MAX || !r->common.text)
        return;
    a->shared[a->nshared++] = r->common;
    r->shared = true;
}

/* Scans a rank that no other thread is scanning.  Releases the lock meanwhile. */
static void scan_rank(struct ti_scanner *a, int64_t rank)
{
    char name[TI_RANK_NAME_BYTES];
    struct ti_rank_scan *r;

    a->item[rank].state = SCANNING;
    a->item[rank].again = false;
    pthread_mutex_unlock(&a->lock);
    ti_rank_name(rank, name);
    r = ti_node_traces_has(a->from_nodes, rank, NULL)
            ? ti_rank_scan_merged(a->from_nodes, rank, &a->stop)
            : ti_rank_scan_file(a->dir, a->path, name, &a->stop);
    if (r && a->bundle)
        ti_bundle_add(a->bundle, a->dir, name, rank, r);
    pthread_mutex_lock(&a->lock);
    /* bounds the memory that crafted traces can take; they are scanned again when asked for */
    if (r && a->kept + ti_rank_scan_bytes(r) > KEPT_MAX) {
        ti_rank_scan_free(r);
        r = NULL;
    }
    if (r)
        share(a, r);
    a->item[rank].state = r ? SCANNED : NONE;
    a->item[rank].scan = r;
    a->kept += r ? ti_rank_scan_bytes(r) : 0;
    if (a->item[rank].again)
        enqueue(a, rank);
    pthread_cond_broadcast(&a->done);
}

static void *run_thread(void *arg)
{
    struct ti_scanner *a = arg;

    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    pthread_mutex_lock(&a->lock);
    while (!a->stop) {
        int64_t rank = dequeue(a);

        if (rank >= 0)
            scan_rank(a, rank);
        else
            pthread_cond_wait(&a->more, &a->lock);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* True if the trace is there, and unchanged since its scan. */
static bool is_current(const struct ti_scanner *a, const struct ti_rank_scan *r, int64_t rank,
                       const char *name)
{
    struct stat sb;

    if (r && r->from_node)
        return ti_node_traces_has(a->from_nodes, rank, NULL);
    return r && fstatat(a->dir, name, &sb, 0) == 0 && ti_rank_scan_is_current(r, &sb);
}

static const struct ti_rank_scan *scan_unusual(struct ti_scanner *a, int64_t rank, const char *name,
                                               bool usual)
{
    ti_rank_scan_free(a->unusual);
    a->unusual = usual && ti_node_traces_has(a->from_nodes, rank, NULL)
                     ? ti_rank_scan_merged(a->from_nodes, rank, &a->stop)
                     : ti_rank_scan_file(a->dir, a->path, name, &a->stop);
    return a->unusual;
}

const struct ti_rank_scan *ti_scanner_get(struct ti_scanner *a, int64_t rank, const char *name)
{
    const struct ti_rank_scan *r = NULL;
    char usual[TI_RANK_NAME_BYTES];

    if (strcmp(name, ti_rank_name(rank, usual)) != 0)
        return scan_unusual(a, rank, name, false);
    pthread_mutex_lock(&a->lock);
    if (grow_items(a, rank)) {
        struct item *item = &a->item[rank];

        if (item->state == SCANNED && !is_current(a, item->scan, rank, name))
            drop(a, item);
        while (item->state == SCANNING) {
            int64_t other = dequeue(a);

            if (other >= 0)
                scan_rank(a, other);
            else
                pthread_cond_wait(&a->done, &a->lock);
            item = &a->item[rank];
        }
        if (item->state != SCANNED)
            scan_rank(a, rank);
        r = a->item[rank].scan;
    }
    pthread_mutex_unlock(&a->lock);
    return r ? r : scan_unusual(a, rank, name, true);
}

/* --------------------------------------------------------- beginning, end -- */

/* Leaves one core to the main thread, which receives, and scans too in the end. */
static int threads_wanted(void)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 2;

    return cores - 1 < 1 ? 1 : cores - 1 > THREADS_MAX ? THREADS_MAX : cores - 1;
}

static void start_threads(struct ti_scanner *a)
{
    sigset_t all, was;

    /* only the main thread handles signals */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    for (int i = threads_wanted(); i > 0; i--)
        if (pthread_create(&a->thread[a->nthreads], NULL, run_thread, a) == 0)
            a->nthreads++;
    pthread_sigmask(SIG_SETMASK, &was, NULL);
}

TI_ORDER_NUMBERS(by_number, int64_t)

/* Queues the files that are there already, by rank. */
static void add_present(struct ti_scanner *a)
{
    DIR *dir = ti_names_in(a->dir);
    struct dirent *d;

    if (!dir)
        return;
    while ((d = readdir(dir))) {
        int64_t rank = ti_rank_of_own_name(d->d_name);

        if (rank >= 0)
            enqueue(a, rank);
    }
    closedir(dir);
    if (a->waiting)
        qsort(a->queue, (size_t)a->waiting, sizeof *a->queue, by_number);
}

struct ti_scanner *ti_scanner_new(const char *path, struct ti_bundle *bundle,
                                  struct ti_node_traces *from_nodes)
{
    struct ti_scanner *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->bundle = bundle;
    a->from_nodes = from_nodes;
    a->path = strdup(path);
    a->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->more, NULL);
    pthread_cond_init(&a->done, NULL);
    if (!a->path || a->dir < 0) {
        ti_scanner_free(a);
        return NULL;
    }
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--) /* "run/" is shown as "run" */
        a->path[n - 1] = '\0';
    add_present(a);
    start_threads(a);
    return a;
}

struct ti_node_traces *ti_scanner_from_nodes(const struct ti_scanner *a)
{
    return a ? a->from_nodes : NULL;
}

void ti_scanner_add(struct ti_scanner *a, int64_t rank)
{
    pthread_mutex_lock(&a->lock);
    enqueue(a, rank);
    pthread_mutex_unlock(&a->lock);
}

void ti_scanner_free(struct ti_scanner *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    __atomic_store_n(&a->stop, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&a->more);
    pthread_mutex_unlock(&a->lock);
    for (int i = 0; i < a->nthreads; i++)
        pthread_join(a->thread[i], NULL);
    for (int64_t i = 0; i < a->nitems; i++)
        ti_rank_scan_free(a->item[i].scan);
    ti_rank_scan_free(a->unusual);
    for (int i = 0; i < a->nshared; i++)
        free(a->shared[i].text);
    pthread_cond_destroy(&a->more);
    pthread_cond_destroy(&a->done);
    pthread_mutex_destroy(&a->lock);
    if (a->dir >= 0)
        close(a->dir);
    free(a->item);
    free(a->queue);
    free(a->path);
    free(a);
}
