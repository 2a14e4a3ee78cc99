/* How long nodes are waited for, and what is told of many.  They are simulated behind
 * session/conn.h, and so are the clocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "acquire/fleet/fleet_internal.h"

static double now = 100, listened = 1;
static int polls, abandoned;
static bool answers;

double __wrap_ti_now(void);

double __wrap_ti_now(void)
{
    return now;
}

double ti_conns_clock(const struct ti_conns *all)
{
    (void)all;
    return listened;
}

bool ti_conn_request(struct ti_conn *conn, json_t *request)
{
    (void)conn;
    json_decref(request);
    return true;
}

bool ti_conn_input(struct ti_conn *conn, uint32_t stream, const void *data, size_t bytes)
{
    (void)conn;
    (void)stream;
    (void)data;
    (void)bytes;
    return true;
}

uint32_t ti_conn_new_stream(struct ti_conn *conn)
{
    (void)conn;
    return 1;
}

/* The process is stopped for 1000 s the first time; what comes meanwhile is read the next time. */
void ti_fleet_poll(struct ti_fleet *f, int timeout_ms)
{
    json_t *answer = json_pack("{s:s, s:I}", "is", "facts", "id", (json_int_t)f->next_id);

    (void)timeout_ms;
    now += polls ? 0.25 : 1000;
    listened += polls ? 0.25 : 0.5;
    if (polls++ && answers)
        ti__fleet_message(f, 0, answer);
    json_decref(answer);
}

void ti_fleet_abandon(struct ti_fleet *f, int64_t node, enum ti_channel_end end, const char *fmt,
                      ...)
{
    (void)fmt;
    assert_int_equal(end, TI_CHANNEL_TIMED_OUT);
    abandoned++;
    ti__fleet_no_answers(f, node);
}

char *ti_fleet_name(const struct ti_fleet *f, int64_t node, char *buf, size_t bytes)
{
    (void)f;
    (void)node;
    (void)bytes;
    buf[0] = '\0';
    return buf;
}

static json_t *request_of(struct ti_fleet *f, int64_t node, void *arg)
{
    (void)f;
    (void)node;
    (void)arg;
    return json_pack("{s:s}", "do", "facts");
}

/* Ask one node, and wait 30 s for its answer; whether it came. */
static bool ask(void)
{
    struct ti_fleet_node_priv priv = {.conn = (struct ti_conn *)&priv};
    struct ti_fleet_node node = {.state = TI_NODE_READY, .priv = &priv};
    struct ti_sites *sites = ti_sites_new(TI_SITES_FILE, "one.conf");
    struct ti_fleet f = {.member = &node, .n = 1, .sites = sites};
    bool came;

    polls = abandoned = 0;
    ti_fleet_ask_all(&f, request_of, NULL, 30, "asking");
    came = node.answer != NULL;
    json_decref(node.answer);
    ti_sites_free(sites);
    return came;
}

static void time_in_which_we_are_stopped_does_not_count(void **state)
{
    (void)state;
    answers = true;
    assert_true(ask());
    assert_int_equal(abandoned, 0);
}

static void a_node_without_an_answer_is_abandoned(void **state)
{
    (void)state;
    answers = false;
    assert_false(ask());
    assert_int_equal(abandoned, 1);
    assert_in_range(polls, 100, 120);
}

/* Whether the node is one of the last *arg of all. */
static bool is_last(const struct ti_fleet *f, int64_t node, const void *arg)
{
    return node >= f->n - *(const int64_t *)arg;
}

static void many_nodes_are_told_by_site_and_by_time(void **state)
{
    static struct ti_fleet_node member[20];
    struct ti_sites *sites = ti_sites_new(TI_SITES_FILE, "five.conf");
    struct ti_fleet f = {.member = member, .n = 20, .sites = sites};
    char name[32], text[100], *slowest;

    (void)state;
    for (int s = 0; s < 5; s++) { /* of 2, 3, 4, 5 and 6 nodes */
        snprintf(name, sizeof name, "s%d", s);
        assert_non_null(ti_sites_add_site(sites, name));
        assert_non_null(ti_sites_add_cluster(sites, s, name));
        for (int i = 0; i < s + 2; i++) {
            snprintf(name, sizeof name, "s%d-%d", s, i);
            assert_non_null(ti_sites_add_node(sites, name));
        }
    }
    assert_string_equal(ti__fleet_waiting_text(&f, is_last, &(int64_t){0}, text, sizeof text), "");
    assert_string_equal(ti__fleet_waiting_text(&f, is_last, &(int64_t){8}, text, sizeof text),
                        "to come: s4 6, s3 2");
    assert_string_equal(ti__fleet_waiting_text(&f, is_last, &(int64_t){20}, text, sizeof text),
                        "to come: s4 6, s3 5, s2 4, 2 more sites");
    assert_string_equal(ti__fleet_waiting_text(&f, is_last, &(int64_t){20}, text, 12),
                        "to come: s4");

    member[3].ready_s = 1.25;
    member[7].ready_s = 30;
    member[19].ready_s = 2; /* the others were never ready */
    slowest = ti_fleet_slowest(&f, 2);
    assert_string_equal(slowest, "s2-2 30.0 s, s4-5 2.0 s");
    free(slowest);
    ti_sites_free(sites);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_in_which_we_are_stopped_does_not_count),
        cmocka_unit_test(a_node_without_an_answer_is_abandoned),
        cmocka_unit_test(many_nodes_are_told_by_site_and_by_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
