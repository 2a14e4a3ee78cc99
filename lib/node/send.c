#include "node/send.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "common/limits.h"
#include "common/order.h"
#include "node/merge.h"
#include "node/traces.h"
#include "session/messages.h"

#define PIECE (64 * 1024)
/* After so many ranks without a file, the directory is listed once: a request may name a million.
 */
#define MISSED_MOST 1000

static bool is_within(const json_t *value, json_int_t most)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= most;
}

/* Whether `list` is a valid "from": [[RANK, BYTES, CRC32C]...]. */
static bool is_from(const json_t *list)
{
    const json_t *item;
    size_t i;

    if (!list || json_is_null(list))
        return true;
    if (!json_is_array(list))
        return false;
    json_array_foreach(list, i, item)
    {
        if (json_array_size(item) != 3 || !is_within(json_array_get(item, 0), TI_RANKS_MAX - 1) ||
            !is_within(json_array_get(item, 1), INT64_MAX) ||
            !is_within(json_array_get(item, 2), UINT32_MAX))
            return false;
    }
    return true;
}

/* --- sending ------------------------------------------------------------- */

static void begin_merge(struct ti_send *s)
{
    s->merged_fd = ti_merge_file(s->dir);
    s->merging = s->merged_fd >= 0;
    if (!s->merging &&
        asprintf(&s->not_merged, "cannot make a temporary file there: %s", strerror(errno)) < 0)
        s->not_merged = NULL;
}

ti_status ti_send_start(struct ti_send *s, const json_t *request, const char *directory,
                        const char *run_id, struct ti_err *err)
{
    const json_t *credit = json_object_get(request, "credit");
    bool merge = json_is_true(json_object_get(request, "merge"));
    ti_status st;

    if (s->active)
        return ti_err_set(err, TI_ERR_INPUT, "one \"send\" at a time");
    memset(s, 0, sizeof *s);
    s->fd = s->merged_fd = -1;
    if (!ti__ranks_ok(json_object_get(request, "ranks"), TI_RANKS_MAX))
        return ti_err_set(err, TI_ERR_INPUT, "\"ranks\" must be a list of [FIRST, LAST]");
    if (!is_from(json_object_get(request, "from")))
        return ti_err_set(err, TI_ERR_INPUT, "\"from\" must be a list of [RANK, BYTES, CRC32C]");
    if (credit && (!json_is_integer(credit) || json_integer_value(credit) < 0))
        return ti_err_set(err, TI_ERR_INPUT, "\"credit\" must be a number of bytes");
    if (merge && !ti_merge_ranks_ok(json_object_get(request, "ranks")))
        return ti_err_set(err, TI_ERR_INPUT,
                          "\"ranks\" to be merged must ascend, and be %d at most",
                          TI_MSG_MERGE_RANKS);
    st = ti__traces_folder(request, directory, run_id, &s->dir, s->run_id, err);
    if (st != TI_OK)
        return st;
    s->credit = credit ? json_integer_value(credit) : -1;
    s->from = json_incref(json_object_get(request, "from"));
    s->ranks = json_incref(json_object_get(request, "ranks"));
    s->rank = -1;
    s->active = true;
    if (merge)
        begin_merge(s);
    return TI_OK;
}

void ti_send_end(struct ti_send *s)
{
    if (!s->active)
        return;
    if (s->fd >= 0)
        close(s->fd);
    if (s->merged_fd >= 0)
        close(s->merged_fd);
    close(s->dir);
    free(s->there);
    free(s->not_merged);
    json_decref(s->merged);
    json_decref(s->ranks);
    json_decref(s->from);
    s->active = false;
}

static json_int_t merged_rank(const struct ti_send *s, size_t i)
{
    return json_integer_value(json_array_get(json_array_get(s->merged, i), 0));
}

/* Whether a rank is in the merged trace. */
static bool is_merged(const struct ti_send *s, int64_t rank)
{
    size_t i, n = json_array_size(s->merged);

    TI_FIRST(i, 0, n, merged_rank(s, i) < rank);
    return i < n && merged_rank(s, i) == rank;
}

/* Advance to the next rank; false when there is none. */
static bool next_rank(struct ti_send *s)
{
    const json_t *range = json_array_get(s->ranks, s->range);
    int64_t first, last;

    if (!range)
        return false;
    first = json_integer_value(json_array_get(range, 0));
    last = json_integer_value(json_array_get(range, 1));
    if (s->rank < first || s->rank > last)
        s->rank = first;
    else if (s->rank < last)
        s->rank++;
    else {
        s->range++;
        s->rank = -1;
        return next_rank(s);
    }
    return true;
}

/* Report that the current file cannot be sent.  If it is the merged trace, its ranks are sent as
 * files next. */
static void tell_failed(struct ti_send *s, struct ti_outbox *out, const char *why)
{
    if (s->sends_merged) {
        json_decref(s->merged);
        s->merged = NULL;
    }
    ti_outbox_json(
        out, TI_FRAME_MESSAGE,
        json_pack("{s:s, s:I, s:s}", "is", "sent", "rank", (json_int_t)s->rank, "error", why));
}

static void tell_sent(struct ti_send *s, struct ti_outbox *out)
{
    s->sent += s->sends_merged ? (int64_t)json_array_size(s->merged) : 1;
    ti_outbox_json(out, TI_FRAME_MESSAGE,
                   json_pack("{s:s, s:I, s:I, s:I}", "is", "sent", "rank", (json_int_t)s->rank,
                             "bytes", (json_int_t)s->at, "crc32c", (json_int_t)s->crc));
}

static void tell_sending(const struct ti_send *s, struct ti_outbox *out)
{
    ti_outbox_json(out, TI_FRAME_MESSAGE,
                   json_pack("{s:s, s:I, s:I, s:I, s:O*}", "is", "sending", "rank",
                             (json_int_t)s->rank, "from", (json_int_t)s->at, "bytes",
                             (json_int_t)s->size, "merged", s->sends_merged ? s->merged : NULL));
}

/* Look up the current rank in `from`.  Ranks usually come in the order of `from`. */
static void look_up_known(struct ti_send *s)
{
    size_t n = json_array_size(s->from);

    s->known = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = (s->hint + i) % n;
        const json_t *item = json_array_get(s->from, at);

        if (json_integer_value(json_array_get(item, 0)) != s->rank)
            continue;
        s->hint = at + 1;
        s->known = json_integer_value(json_array_get(item, 1));
        s->known_crc = (uint32_t)json_integer_value(json_array_get(item, 2));
        return;
    }
}

TI_ORDER_NUMBERS(by_rank, int64_t)

static ti_status open_file(struct ti_send *s, struct ti_err *err)
{
    if (s->there && !bsearch(&s->rank, s->there, s->nthere, sizeof *s->there, by_rank))
        return ti_err_set(err, TI_ERR_INPUT, TI_MSG_NO_TRACE);
    return ti__trace_open(s->dir, s->rank, s->run_id, &s->fd, &s->before, err);
}

void ti_send_merged(struct ti_send *s, json_t *result, struct ti_outbox *out)
{
    const char *error = json_string_value(json_object_get(result, "error"));

    if (!s->active || !s->merging)
        return;
    s->merging = false;
    if (result && !error && json_array_size(json_object_get(result, "merged")) == 0)
        return;
    if (result && !error) {
        s->merged = json_incref(json_object_get(result, "merged"));
        s->size = json_integer_value(json_object_get(result, "bytes"));
        s->rank = json_integer_value(json_array_get(json_array_get(s->merged, 0), 0));
        s->sends_merged = true;
        s->at = 0;
        s->crc = 0;
        s->fd = s->merged_fd;
        s->merged_fd = -1;
        fstat(s->fd, &s->before);
        tell_sending(s, out);
    } else {
        s->not_merged = strdup(error ? error : "the process that merged them died");
    }
}

static void begin_file(struct ti_send *s, struct ti_outbox *out)
{
    struct ti_err err;

    s->at = 0;
    s->crc = 0;
    if (open_file(s, &err) != TI_OK) {
        tell_failed(s, out, err.text);
        if (s->fd >= 0)
            close(s->fd);
        s->fd = -1;
        if (!s->there && ++s->missed % MISSED_MOST == 0)
            ti__traces_there(s->dir, &s->there, &s->nthere);
        return;
    }
    s->size = s->before.st_size;
    posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    look_up_known(s);
    if (s->known > s->size)
        s->known = 0;
    if (!s->known)
        tell_sending(s, out);
}

/* The known bytes were read: start to send after them if their CRC is right, else from the
 * beginning. */
static void compared(struct ti_send *s, struct ti_outbox *out)
{
    s->known = 0;
    if (s->crc != s->known_crc) {
        s->at = 0;
        s->crc = 0;
    }
    tell_sending(s, out);
}

/* Read a piece of the file, and send it unless it is known.  Bytes that were appended since the
 * file was opened are ignored. */
static void send_piece(struct ti_send *s, struct ti_outbox *out)
{
    static unsigned char buf[PIECE];
    int64_t until = s->known ? s->known : s->size;
    size_t want = until - s->at < PIECE ? (size_t)(until - s->at) : PIECE;
    ssize_t n;
    char why[128];

    if (!s->known)
        want = (size_t)ti_send_piece(s->credit, (int64_t)want);
    n = want ? pread(s->fd, buf, want, s->at) : 0;
    if (n < 0 && errno == EINTR)
        return;
    if (n > 0) {
        s->crc = ti_crc32c(s->crc, buf, (size_t)n);
        s->at += n;
        if (!s->known) {
            s->credit -= s->credit >= 0 ? n : 0;
            ti_outbox_frame(out, TI_FRAME_DATA, (uint32_t)s->rank, buf, (size_t)n);
        } else if (s->at == s->known) {
            compared(s, out);
        }
        return;
    }
    if (n < 0) {
        snprintf(why, sizeof why, "cannot read it: %s", strerror(errno));
        tell_failed(s, out, why);
    } else if (want) {
        tell_failed(s, out, "it became shorter while it was sent");
    } else if (ti__trace_changed(s->fd, &s->before)) {
        tell_failed(s, out, "it changed while it was sent");
    } else {
        tell_sent(s, out);
    }
    close(s->fd);
    s->fd = -1;
    if (s->sends_merged)
        s->rank = -1; /* begin again with the first rank */
    s->sends_merged = false;
}

/* Finishing a file needs no credit. */
bool ti_send_can(const struct ti_send *s)
{
    return s->active && !s->merging &&
           (s->credit != 0 || s->fd < 0 || s->known || s->at == s->size);
}

void ti_send_credit(struct ti_send *s, const json_t *request)
{
    int64_t more = json_integer_value(json_object_get(request, "credit"));

    if (s->active && s->credit >= 0 && more > 0)
        s->credit = more < INT64_MAX - s->credit ? s->credit + more : INT64_MAX;
}

void ti_send_more(struct ti_send *s, int pieces, struct ti_outbox *out)
{
    while (ti_send_can(s) && pieces && !ti_outbox_full(out) && !out->broken) {
        pieces--;
        if (s->fd >= 0) {
            send_piece(s, out);
        } else if (next_rank(s)) {
            if (!is_merged(s, s->rank))
                begin_file(s, out);
        } else {
            ti_outbox_json(out, TI_FRAME_MESSAGE,
                           json_pack("{s:s, s:I, s:I, s:s*}", "is", "send", "id", s->id, "sent",
                                     (json_int_t)s->sent, "not_merged", s->not_merged));
            ti_send_end(s);
        }
    }
}
