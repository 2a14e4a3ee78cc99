/* ti-node's timeout for input, under a clock that the test turns. */
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
static int round_of_loop;

double __wrap_ti_now(void);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);

double __wrap_ti_now(void)
{
    return now;
}

static void write_beat(int id)
{
    unsigned char frame[256];
    char text[128];
    int bytes =
        snprintf(text, sizeof text,
                 "{\"do\": \"beat\", \"id\": %d, \"every_ms\": 0, \"listen_ms\": 1000}", id);

    ti_frame_header(TI_FRAME_MESSAGE, 0, text, (uint32_t)bytes, frame);
    memcpy(frame + TI_FRAME_HEADER, text, (size_t)bytes);
    assert_int_equal(write(input[1], frame, TI_FRAME_HEADER + (size_t)bytes),
                     TI_FRAME_HEADER + (size_t)bytes);
}

/* The third time that the loop has looked for input, the process is stopped for 5 s, in which a
 * heartbeat comes.  The fifth time it is stopped again, and nothing comes. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    int got = __real_poll(fds, n, 0);

    (void)timeout_ms;
    if (n == 1)
        return got;
    round_of_loop++;
    if (round_of_loop == 3)
        write_beat(2);
    if (round_of_loop == 3 || round_of_loop == 5)
        now += 5;
    return got;
}

/* Serve, and count the answers to heartbeats. */
static int serve(void)
{
    char all[4096];
    size_t used = 0;
    ssize_t got;
    int status, n = 0;
    pid_t pid;

    assert_int_equal(pipe(input), 0);
    assert_int_equal(pipe(output), 0);
    write_beat(1);
    pid = fork();
    if (pid == 0) {
        struct ti_err err;

        alarm(600);
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        close(output[0]);
        close(output[1]);
        _exit(ti__serve_alone("/", "/ti-node", &err) != TI_OK);
    }
    close(output[1]);
    while ((got = read(output[0], all + used, sizeof all - 1 - used)) > 0)
        used += (size_t)got;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    for (size_t i = 0; i + 6 <= used; i++)
        n += memcmp(all + i, "\"beat\"", 6) == 0;
    for (int i = 0; i < 2; i++)
        close(input[i]);
    close(output[0]);
    return n;
}

static void input_that_waits_is_no_silence(void **state)
{
    (void)state;
    assert_int_equal(serve(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_that_waits_is_no_silence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
