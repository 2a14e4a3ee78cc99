/* ti-node's timeouts, under a clock that the test turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/serve.h"
#include "node/serve_internal.h"
#include "session/frame.h"

static double now = 100;
static int input[2], output[2];
static int round_of_loop, left; /* processes; -1: one that does not end, -2: they start others */
static double silence;          /* seconds that pass in each round of the loop without input */

double __wrap_ti_now(void);
int __wrap_ti_launch_signal(const char *run_id, int sig, struct ti_pids *told);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);

double __wrap_ti_now(void)
{
    return now;
}

static void request(const char *text)
{
    unsigned char frame[1024];
    size_t bytes = strlen(text);

    ti_frame_header(TI_FRAME_MESSAGE, 0, text, (uint32_t)bytes, frame);
    memcpy(frame + TI_FRAME_HEADER, text, bytes);
    assert_int_equal(write(input[1], frame, TI_FRAME_HEADER + bytes), TI_FRAME_HEADER + bytes);
}

static const char beat[] = "{\"do\": \"beat\", \"id\": 1, \"every_ms\": 0, \"listen_ms\": 1000}";

/* One ends between two looks; or, by turns, one ends and one is started. */
int __wrap_ti_launch_signal(const char *run_id, int sig, struct ti_pids *told)
{
    static int looks;

    (void)run_id;
    (void)sig;
    (void)told;
    if (left == -2)
        return 2 + looks++ % 2;
    return left < 0 ? 1 : left ? left-- : 0;
}

/* The third time that the loop has looked for input, the process is stopped for 5 s, in which a
 * heartbeat comes.  The fifth time it is stopped again, and nothing comes. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    int got = __real_poll(fds, n, 0);

    (void)timeout_ms;
    if (n == 1)
        return got;
    now += silence;
    if (silence > 0)
        return got;
    round_of_loop++;
    if (round_of_loop == 3)
        request(beat);
    if (round_of_loop == 3 || round_of_loop == 5)
        now += 5;
    return got;
}

/* The answers of ti-node to the requests in its input until it ends; each byte that is no text is
 * a blank. */
static const char *serve(void)
{
    static char all[8192];
    size_t used = 0;
    ssize_t got;
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct ti_err err;

        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        for (int i = 0; i < 2; i++)
            close(output[i]);
        _exit(ti__serve_alone("/", "/ti-node", &err) != TI_OK);
    }
    for (int i = 0; i < 2; i++)
        close(i ? output[1] : input[1]);
    while ((got = read(output[0], all + used, sizeof all - 1 - used)) > 0)
        used += (size_t)got;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(input[0]);
    close(output[0]);
    for (size_t i = 0; i < used; i++)
        all[i] = all[i] >= ' ' ? all[i] : ' ';
    all[used] = '\0';
    return all;
}

static void input_that_waits_is_no_silence(void **state)
{
    const char *said;

    (void)state;
    assert_int_equal(pipe(input), 0);
    assert_int_equal(pipe(output), 0);
    request(beat);
    said = strstr(serve(), "\"is\":\"beat\"");
    assert_non_null(said);
    assert_non_null(strstr(said + 1, "\"is\":\"beat\""));
}

static void client_that_says_nothing_is_not_waited_for(void **state)
{
    (void)state;
    assert_int_equal(pipe(input), 0);
    assert_int_equal(pipe(output), 0);
    silence = 100;
    assert_non_null(strstr(serve(), "\"protocol\":")); /* its input does not end */
    silence = 0;
}

/* The answer to a request that ends the run, in which `n` processes are left. */
static const char *end_of(int n)
{
    static char text[256];
    struct ti__shared shared = {.run_id = "5eed5eed5eed5eed5eed5eed5eed5eed"};
    struct ti__serve s = {.shared = &shared, .end_id = -1};
    double begun = now;
    size_t bytes;

    left = n;
    for (ti__begin_end(&s, 1, 7); s.ending; now++) {
        ti__continue_ending(&s);
        assert_true(now < begun + 60);
    }
    bytes = ti_outbox_queued(&s.out) - TI_FRAME_HEADER;
    assert_true(bytes < sizeof text);
    memcpy(text, s.out.buf + TI_FRAME_HEADER, bytes);
    text[bytes] = '\0';
    ti_outbox_free(&s.out);
    return text;
}

static void processes_that_end_one_by_one_are_waited_for(void **state)
{
    (void)state;
    assert_string_equal(end_of(30), "{\"is\":\"end\",\"id\":7,\"found\":30,\"left\":0}");
    assert_string_equal(end_of(-1), "{\"is\":\"end\",\"id\":7,\"found\":1,\"left\":1}");
}

static void processes_that_start_others_are_not_waited_for(void **state)
{
    (void)state;
    assert_non_null(strstr(end_of(-2), "\"left\":"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_that_waits_is_no_silence),
        cmocka_unit_test(client_that_says_nothing_is_not_waited_for),
        cmocka_unit_test(processes_that_end_one_by_one_are_waited_for),
        cmocka_unit_test(processes_that_start_others_are_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
