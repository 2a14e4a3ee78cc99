/*
 * session/bootstrap.c: the command that becomes ti-node, given to real shells with a home of
 * their own, good and bad; many at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/folder.h"
#include "node/install.h"
#include "node/rundir.h"
#include "session/bootstrap.h"
#include "session/frame.h"

#define NODES_MAX 12

static struct ti_payload *payload;
static char scratch[PATH_MAX];

/* One node: a shell, and what came of it. */
struct node {
    pid_t pid;
    int in, out, err;
    struct ti_bootstrap b;
    struct ti_frame_reader reader;
    char hello[1024];
    int status; /* -1: not ended */
};

static void start(struct node *n, const char *shell, const char *home, const char *before)
{
    int in[2], out[2], err[2];
    char *command, *line;
    struct ti_err why;

    memset(n, 0, sizeof *n);
    n->b.payload = payload;
    n->status = -1;
    assert_int_equal(ti_bootstrap_command(payload, NULL, &command, &why), TI_OK);
    assert_true(asprintf(&line, "%s%s", before, command) > 0);
    assert_true(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
                pipe2(err, O_CLOEXEC) == 0);
    n->pid = fork();
    if (n->pid == 0) {
        signal(SIGPIPE, SIG_DFL); /* as sshd starts shells */
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        setenv("HOME", home, 1);
        execlp(shell, shell, "-c", line, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    n->in = in[1];
    n->out = out[0];
    n->err = err[0];
    free(command);
    free(line);
}

static void take_output(struct node *n)
{
    unsigned char buf[4096];
    ssize_t got = read(n->out, buf, sizeof buf);
    struct ti_frame f;
    struct ti_err why;
    size_t used;
    int there;

    if (got <= 0) {
        close(n->out);
        n->out = -1;
        return;
    }
    if (!n->reader.started)
        ti_bootstrap_output(&n->b, buf, (size_t)got);
    assert_int_equal(ti_frame_feed(&n->reader, buf, (size_t)got, &used, &f, &there, &why), TI_OK);
    if (!there)
        return;
    snprintf(n->hello, sizeof n->hello, "%.*s", (int)f.bytes, (const char *)f.payload);
    close(n->in); /* that is all we want of it */
    n->in = -1;
}

static void take_err_output(struct node *n)
{
    char buf[4096];
    ssize_t got = read(n->err, buf, sizeof buf);

    if (got > 0) {
        ti_bootstrap_err_output(&n->b, buf, (size_t)got);
        return;
    }
    close(n->err);
    n->err = -1;
}

static void give(struct node *n)
{
    const char *data;
    size_t bytes;

    while (n->in >= 0 && (data = ti_bootstrap_next(&n->b, &bytes)) != NULL)
        while (bytes) {
            ssize_t done = write(n->in, data, bytes);

            if (done < 0) {
                close(n->in);
                n->in = -1;
                return;
            }
            data += done;
            bytes -= (size_t)done;
        }
}

/* All of them to their ends. */
static void go(struct node *node, int n)
{
    for (;;) {
        struct pollfd fds[2 * NODES_MAX];
        nfds_t k = 0;

        for (int i = 0; i < n; i++) {
            fds[k++] = (struct pollfd){node[i].out, POLLIN, 0};
            fds[k++] = (struct pollfd){node[i].err, POLLIN, 0};
        }
        for (nfds_t i = 0; i < k; i++)
            if (fds[i].fd >= 0)
                goto open;
        break;
    open:
        assert_true(poll(fds, k, 60000) > 0);
        for (int i = 0; i < n; i++) {
            if (fds[2 * i].revents)
                take_output(&node[i]);
            if (fds[2 * i + 1].revents)
                take_err_output(&node[i]);
            give(&node[i]);
        }
    }
    for (int i = 0; i < n; i++) {
        if (node[i].in >= 0)
            close(node[i].in);
        assert_int_equal(waitpid(node[i].pid, &node[i].status, 0), node[i].pid);
        ti_frame_reader_free(&node[i].reader);
    }
}

static char *home_of(const char *name)
{
    static char path[2 * PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", scratch, name);
    mkdir(path, 0700);
    return path;
}

static bool is_there(const char *home, const char *name)
{
    char path[4 * PATH_MAX];

    snprintf(path, sizeof path, "%s/.cache/tiara/%s%s%s", home, ti_payload_hash(payload),
             *name ? "/" : "", name);
    return access(path, F_OK) == 0;
}

static void forget_the_other_place(void)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "/tmp/tiara-%d/%s", (int)getuid(), ti_payload_hash(payload));
    ti_tree_remove(AT_FDCWD, path);
}

/* --- tests --------------------------------------------------------------- */

/* Every shell leaves it alone: nothing in it means anything to csh or fish within quotes. */
static void test_quoting(void **state)
{
    static const char begin[] = "exec /bin/sh -c '";
    const char *tiara[] = {NULL, "/opt/tiara-1.0", "~/tiara"};
    struct ti_err err;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char *command;
        size_t n;

        assert_int_equal(ti_bootstrap_command(payload, tiara[i], &command, &err), TI_OK);
        n = strlen(command);
        assert_int_equal(strncmp(command, begin, sizeof begin - 1), 0);
        assert_int_equal(command[n - 1], '\'');
        assert_int_equal(strcspn(command + sizeof begin - 1, "'\\!\n"), n - sizeof begin);
        free(command);
    }
}

static void test_bad_folders(void **state)
{
    static const char *const folders[] = {"",       "tiara", "/a b",  "/a'b", "/a\"b",
                                          "/a$(b)", "/a`b`", "/a\\b", "~x/y", "/a!b",
                                          "/a;b",   "/a\nb", "/a&b"};
    struct ti_err err;

    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *command;

        assert_int_equal(ti_bootstrap_command(payload, folders[i], &command, &err), TI_ERR_INPUT);
    }
}

static void test_first_and_again(void **state)
{
    static const char *const files[] = {"ti-node", "ti-node-counter", "libminitrace.so"};
    char *home = home_of("again");
    struct node n;
    size_t program, others;

    (void)state;
    start(&n, "sh", home, "");
    go(&n, 1);
    assert_int_equal(n.status, 0);
    assert_non_null(strstr(n.hello, "\"shipped\":true"));
    assert_non_null(strstr(n.hello, ti_payload_hash(payload)));
    assert_non_null(ti_payload_part(payload, TI_PAYLOAD_NODE, &program));
    assert_non_null(ti_payload_part(payload, TI_PAYLOAD_OTHERS, &others));
    assert_int_equal(n.b.sent, program + others);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_true(is_there(home, files[i]));

    start(&n, "bash", home, "echo Welcome; echo TIARA-SEND; ");
    go(&n, 1);
    assert_int_equal(n.status, 0);
    assert_non_null(strstr(n.hello, "\"shipped\":false"));
    assert_int_equal(n.b.sent, 0);
}

/* Neither the files that are there run, nor those that a killed installation left. */
static void test_broken(void **state)
{
    char *home = home_of("broken"), line[6 * PATH_MAX];
    struct node n;

    (void)state;
    snprintf(line, sizeof line,
             "umask 077; d=%s/.cache/tiara; mkdir -p $d/%s $d/.new-x-1; echo x >$d/%s/ti-node; "
             "chmod 700 $d/%s/ti-node; ",
             home, ti_payload_hash(payload), ti_payload_hash(payload), ti_payload_hash(payload));
    start(&n, "sh", home, line);
    go(&n, 1);
    assert_int_equal(n.status, 0);
    assert_non_null(strstr(n.hello, "\"shipped\":true"));
    assert_non_null(strstr(n.hello, home));
}

static void test_many_with_one_home(void **state)
{
    static struct node node[NODES_MAX];
    char *home = home_of("shared"), path[3 * PATH_MAX];
    struct stat sb;

    (void)state;
    for (int i = 0; i < NODES_MAX; i++)
        start(&node[i], "sh", home, "");
    go(node, NODES_MAX);
    for (int i = 0; i < NODES_MAX; i++) {
        assert_int_equal(node[i].status, 0);
        assert_non_null(strstr(node[i].hello, home));
    }
    /* nothing but the one folder: its links are . , .. and that */
    snprintf(path, sizeof path, "%s/.cache/tiara", home);
    assert_int_equal(stat(path, &sb), 0);
    if (sb.st_nlink > 1) /* where the file system counts folders */
        assert_int_equal(sb.st_nlink, 3);
}

/* Folders that this node's shell has begun, in both places: ".new-NAME-PID". */
static int begun(const struct node *n, const char *home)
{
    char path[2][4 * PATH_MAX], pid[32];
    int found = 0;

    snprintf(path[0], sizeof path[0], "%s/.cache/tiara", home);
    snprintf(path[1], sizeof path[1], "/tmp/tiara-%d", (int)getuid());
    snprintf(pid, sizeof pid, "-%d", (int)n->pid);
    for (int i = 0; i < 2; i++) {
        DIR *dir = opendir(path[i]);
        struct dirent *d;

        while (dir && (d = readdir(dir)) != NULL)
            found +=
                strncmp(d->d_name, ".new-", 5) == 0 && strcmp(strrchr(d->d_name, '-'), pid) == 0;
        if (dir)
            closedir(dir);
    }
    return found;
}

/* The node gets so many bytes of this part, and no more. */
static void give_some(struct node *n, enum ti_payload_part part, size_t most)
{
    const void *data;
    size_t bytes;

    while (n->b.part < part) {
        take_output(n);
        assert_true(n->out >= 0);
        if (n->b.part < part)
            give(n);
    }
    data = ti_bootstrap_next(&n->b, &bytes);
    assert_true(data && bytes > most);
    assert_int_equal(write(n->in, data, most), most);
}

/* Whether a shell that has ended asked for ti-node once more, for its other place. */
static bool asks_again(int out)
{
    char text[4096] = "";
    ssize_t n = read(out, text, sizeof text - 1);

    assert_true(n >= 0);
    return strstr(text, "TIARA-SEND") && strstr(text, " 1\n");
}

/* The input ends early: alone, or with all of the connection, as when that is cut; or the shell is
 * told to end.  Nothing is left, in the home or in /tmp. */
static void test_cut_off(void **state)
{
    static const struct {
        int part; /* of it these bytes come yet */
        size_t bytes;
        bool all; /* else the input alone ends */
        int signal;
    } cuts[] = {{1, 0, true, 0},         {1, 0, false, 0},         {1, 1000, true, 0},
                {1, 1000, false, 0},     {2, 1000, true, 0},       {2, 1000, false, 0},
                {1, 1000, true, SIGHUP}, {1, 1000, false, SIGTERM}};

    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        char *home = home_of("cut");
        struct node n;

        forget_the_other_place();
        start(&n, "sh", home, "");
        give_some(&n, cuts[i].part, cuts[i].bytes);
        assert_int_equal(begun(&n, home), 1);
        if (cuts[i].signal)
            kill(n.pid, cuts[i].signal);
        if (cuts[i].all) {
            close(n.out);
            close(n.err);
        }
        close(n.in);
        assert_int_equal(waitpid(n.pid, &n.status, 0), n.pid);
        if (!cuts[i].all) {
            assert_false(asks_again(n.out));
            close(n.out);
            close(n.err);
        }
        ti_frame_reader_free(&n.reader);
        assert_int_not_equal(n.status, 0);
        if (begun(&n, home))
            fail_msg("cut %zu left something", i);
        assert_false(is_there(home, ""));
    }
}

/* Nobody reads when it asks for Tiara, and its input stays open: it gets SIGPIPE, or an error where
 * that is ignored. */
static void test_nobody_reads(void **state)
{
    static const char *const before[] = {"read x; ", "trap \"\" PIPE; read x; "};

    (void)state;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        char *home = home_of("pipe");
        struct node n;
        pid_t ended = 0;

        forget_the_other_place();
        start(&n, "sh", home, before[i]);
        close(n.out);
        close(n.err);
        assert_int_equal(write(n.in, "\n", 1), 1);
        for (int wait = 0; !ended && wait < 6000; wait++) {
            ended = waitpid(n.pid, &n.status, WNOHANG);
            if (!ended)
                nanosleep(&(struct timespec){0, 10000000L}, NULL);
        }
        close(n.in);
        if (!ended) {
            waitpid(n.pid, &n.status, 0);
            fail_msg("case %zu waits for Tiara, though nobody heard that it asked", i);
        }
        assert_true(WIFEXITED(n.status));
        assert_int_equal(WEXITSTATUS(n.status), 94);
        assert_int_equal(begun(&n, home), 0);
        assert_false(is_there(home, ""));
    }
}

/* A home that is no directory: the other place. */
static void test_no_home(void **state)
{
    char path[PATH_MAX];
    struct node n;

    (void)state;
    snprintf(path, sizeof path, "/tmp/tiara-%d/", (int)getuid());
    start(&n, "sh", "/dev/null", "");
    go(&n, 1);
    assert_int_equal(n.status, 0);
    assert_non_null(strstr(n.hello, path));
}

static void test_no_place(void **state)
{
    struct ti_channel_result r = {.end = TI_CHANNEL_EXITED, .status = 92};
    struct ti_err err;
    struct node n;

    (void)state;
    /* nowhere may files be created of more than 0 bytes */
    forget_the_other_place();
    start(&n, "sh", home_of("full"),
          "ulimit -f 0; trap \"\" XFSZ; id() { echo none; }; PATH=/nowhere:$PATH; cp() { return 1; "
          "}; ");
    go(&n, 1);
    assert_true(WIFEXITED(n.status) && WEXITSTATUS(n.status) == 92);
    assert_int_equal(ti_bootstrap_why(&n.b, "n12", "", &r, &err), TI_ERR_REMOTE);
    assert_non_null(strstr(err.text, "node 'n12': neither "));
    assert_non_null(strstr(err.hint, "tiara ="));
}

/* Homes that take nothing, or execute nothing, or have too little room; as root, for mounts. */
static void test_bad_homes(void **state)
{
    static const char *const options[] = {"size=64m,noexec", "size=64m,ro", "size=300k",
                                          "size=3m" /* for ti-node, but not for the rest */};
    char command[3 * PATH_MAX], path[PATH_MAX];
    struct node n;

    (void)state;
    snprintf(path, sizeof path, "/tmp/tiara-%d/", (int)getuid());
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char *home = home_of("bad");

        snprintf(command, sizeof command, "mount -t tmpfs -o %s none %s 2>/dev/null", options[i],
                 home);
        if (system(command) != 0) {
            print_message("no mounts here\n");
            skip();
        }
        forget_the_other_place();
        start(&n, "sh", home, "");
        go(&n, 1);
        snprintf(command, sizeof command, "[ -z \"$(ls -A %s/.cache/tiara 2>/dev/null)\" ]", home);
        assert_int_equal(system(command), 0);
        snprintf(command, sizeof command, "umount %s", home);
        assert_int_equal(system(command), 0);
        assert_int_equal(n.status, 0);
        assert_non_null(strstr(n.hello, path));
        assert_non_null(strstr(n.hello, "\"shipped\":true"));
    }
}

/* The shells; csh and fish have rules of their own. */
static void test_shells(void **state)
{
    static const char *const shells[] = {"dash", "bash", "zsh", "ksh",
                                         "mksh", "tcsh", "csh", "fish"};
    char command[64];
    struct node n;

    (void)state;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        snprintf(command, sizeof command, "command -v %s >/dev/null", shells[i]);
        if (system(command) != 0)
            continue;
        start(&n, shells[i], home_of("again"), "");
        go(&n, 1);
        assert_int_equal(n.status, 0);
        assert_non_null(strstr(n.hello, ti_payload_hash(payload)));
    }
}

/* The last three and those of this week stay, and what is nobody's. */
static void test_clean(void **state)
{
    static const struct {
        const char *name;
        int days;
        bool stays;
    } folders[] = {{"00000000000000000000000000000001", 30, true}, /* the one in use */
                   {"00000000000000000000000000000002", 20, true},
                   {"00000000000000000000000000000003", 3, true},
                   {"00000000000000000000000000000004", 21, false},
                   {"00000000000000000000000000000005", 22, false},
                   {".new-n1-7", 2, false},
                   {".new-n1-8", 0, true},
                   {"notes", 99, true},
                   {"0000000000000000000000000000000g", 99, true}};
    char *base = home_of("clean"), path[3 * PATH_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct timespec t[2] = {{time(NULL) - folders[i].days * 86400, 0}};

        t[1] = t[0];
        snprintf(path, sizeof path, "%s/%s", base, folders[i].name);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
    }
    ti_install_clean(base, folders[0].name);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", base, folders[i].name);
        assert_int_equal(access(path, F_OK) == 0, folders[i].stays);
    }
}

static void test_why(void **state)
{
    struct ti_channel_result r = {.end = TI_CHANNEL_EXITED, .status = 127};
    struct ti_bootstrap b = {.payload = payload};
    static const char said[] = "motd\nti-node: first\nhint: of the first\nti-node: this node is "
                               "mips\nhint: do that\n";
    struct ti_err err;

    (void)state;
    ti_bootstrap_why(&b, "n1", "no shell for you\n", &r, &err);
    assert_string_equal(err.text, "node 'n1': ti-node did not start, status 127: no shell for you");
    ti_bootstrap_err_output(&b, said, strlen(said));
    ti_bootstrap_why(&b, "n1", "", &r, &err);
    assert_string_equal(err.text, "node 'n1': this node is mips");
    assert_string_equal(err.hint, "do that");
    r.end = TI_CHANNEL_NO_AUTH;
    snprintf(r.err.text, sizeof r.err.text, "none of our keys");
    ti_bootstrap_why(&b, "n1", "", &r, &err);
    assert_string_equal(err.text, "none of our keys");
}

static int prepare(void **state)
{
    const char *build = getenv("TI_BUILD");
    static struct ti_paths paths;
    struct ti_err err;

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    snprintf(paths.node, sizeof paths.node, "%s/ti-node", build ? build : "build");
    snprintf(paths.counter, sizeof paths.counter, "%s/ti-node-counter", build ? build : "build");
    snprintf(paths.library, sizeof paths.library, "%s/libminitrace.so", build ? build : "build");
    snprintf(paths.valgrind, sizeof paths.valgrind, "%s/libexec/valgrind", build ? build : "build");
    snprintf(scratch, sizeof scratch, "/tmp/t-bootstrap-XXXXXX");
    if (!mkdtemp(scratch))
        return 1;
    if (ti_payload_new(&paths, &payload, &err) != TI_OK ||
        ti_payload_wait(payload, &err) != TI_OK) {
        print_error("%s\n", err.text);
        return 1;
    }
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    ti_tree_remove(AT_FDCWD, scratch);
    forget_the_other_place();
    ti_payload_free(payload);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_bad_folders),
        cmocka_unit_test(test_first_and_again),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_many_with_one_home),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_nobody_reads),
        cmocka_unit_test(test_no_place),
        cmocka_unit_test(test_no_home),
        cmocka_unit_test(test_bad_homes),
        cmocka_unit_test(test_shells),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_why),
    };

    return cmocka_run_group_tests(tests, prepare, clean_up);
}
