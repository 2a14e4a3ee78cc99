/* remote/conf: what `ssh -G` says, and what of it is shared by hosts that are alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remote/conf.h"
#include "remote/internal.h"
#include "remote/remote.h"

static char folder[] = "/tmp/t-conf-XXXXXX", config[64];

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(config, sizeof config, "%s/config", folder);
    return 0;
}

static int end(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static struct ti_remote *remote(void)
{
    static struct ti_remote_config c;
    struct ti_remote *r;
    struct ti_err err;

    c = (struct ti_remote_config){.ssh_config = config};
    assert_int_equal(ti_remote_new(&c, &r, &err), TI_OK);
    return r;
}

static void wait_for(struct ti_remote *r, const struct ti__conf *c)
{
    double until = ti__now() + 30;

    while (c->state == TI__CONF_WANTED || c->state == TI__CONF_ASKED) {
        assert_true(ti__now() < until);
        ti__confs_start(r);
        ti_remote_poll(r, 10);
    }
    assert_int_equal(c->state, TI__CONF_KNOWN);
}

/* The keys of a file were known from another file; then all of it is wanted, and is its own. */
static void from_keys_to_all(void **state)
{
    struct ti_remote *r;
    const struct ti__conf *a, *b, *c;

    (void)state;
    write_file(config, "Host *\n  ControlPath /tmp/none-%r@%h:%p\n  User bob\n"
                       "  IdentityFile /nowhere/one\n  IdentityFile /nowhere/two\n");
    r = remote();
    a = ti__conf_of_keys(r, "plaina", true);
    wait_for(r, a);
    b = ti__conf_of_keys(r, "plainb", true);
    c = ti__conf_of_keys(r, "plainc", true);
    wait_for(r, b);
    wait_for(r, c);
    assert_ptr_equal(b->like, a);
    assert_ptr_equal(ti__conf_of(r, "plainb"), b);
    wait_for(r, b);
    assert_null(b->like);
    assert_string_equal(b->control, "/tmp/none-bob@plainb:22");
    assert_string_equal(b->user, "bob");
    assert_int_equal(b->identity_count, a->identity_count);
    assert_string_equal(a->user, "bob");
    assert_string_equal(c->known, a->known);
    ti_remote_free(r);
}

/* None, that of all hosts, and that of one. */
static void connect_timeouts(void **state)
{
    struct ti_remote *r;
    const struct ti__conf *a, *b, *c, *d;
    struct ti_channel_options options = {.connect_s = 3, .answer_s = 4};

    (void)state;
    write_file(config, "Host *\n  User bob\n");
    r = remote();
    a = ti__conf_of(r, "plaina");
    wait_for(r, a);
    assert_float_equal(a->connect_s, 0, 0);
    assert_float_equal(ti__login_times(r, a, NULL).connect_s, 20, 0);
    ti_remote_free(r);
    write_file(config, "Host slow\n  ConnectTimeout 70\nHost never\n  ConnectTimeout 1000000\n"
                       "Host *\n  ConnectTimeout 7\n");
    r = remote();
    a = ti__conf_of(r, "plaina");
    wait_for(r, a);
    b = ti__conf_of(r, "plainb");
    wait_for(r, b);
    c = ti__conf_of(r, "slow");
    wait_for(r, c);
    d = ti__conf_of(r, "never");
    wait_for(r, d);
    assert_float_equal(d->connect_s, 86400, 0);
    assert_ptr_equal(b->like, a);
    assert_float_equal(b->connect_s, 7, 0);
    assert_float_equal(ti__login_times(r, b, NULL).connect_s, 20, 0); /* not shorter */
    assert_float_equal(ti__login_times(r, c, NULL).connect_s, 70, 0);
    assert_float_equal(ti__login_times(r, c, NULL).answer_s, 70, 0);
    assert_float_equal(ti__login_times(r, c, &options).connect_s, 3, 0);
    assert_float_equal(ti__login_times(r, c, &options).answer_s, 4, 0);
    ti_remote_free(r);
}

/* ssh names more files than are listened to: those that were not may tell hosts apart. */
static void more_files_than_are_known(void **state)
{
    struct ti_remote *r;
    const struct ti__conf *a, *b;
    char text[256], path[128];

    (void)state;
    snprintf(text, sizeof text, "Host *\n  Include %s/d/*\n  User bob\n", folder);
    write_file(config, text);
    snprintf(path, sizeof path, "%s/d", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 1200; i++) {
        snprintf(path, sizeof path, "%s/d/%04d-a-name-that-is-long-so-that-much-is-said", folder,
                 i);
        write_file(path, i < 1199 ? "# nothing\n" : "Host special*\n  User evil\n  Port 2222\n");
    }
    r = remote();
    a = ti__conf_of(r, "plaina");
    wait_for(r, a);
    b = ti__conf_of(r, "special1");
    wait_for(r, b);
    assert_null(b->like);
    assert_string_equal(b->user, "evil");
    assert_int_equal(b->port, 2222);
    ti_remote_free(r);
}

/* One that could not be asked of tells nothing of others. */
static void nothing_from_failures(void **state)
{
    struct ti_remote *r;
    const struct ti__conf *a, *b;
    double until = ti__now() + 30;
    char text[256], path[96];

    (void)state;
    snprintf(path, sizeof path, "%s/late", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(text, sizeof text, "Include %s\nHost *\n  User bob\n", path);
    write_file(config, text);
    r = remote();
    r->connect_s = 0.5;
    a = ti__conf_of(r, "plaina");
    while (a->state != TI__CONF_BAD) {
        assert_true(ti__now() < until);
        ti__confs_start(r);
        ti_remote_poll(r, 10);
    }
    assert_int_equal(unlink(path), 0);
    write_file(path, "Host special*\n  User evil\n");
    r->connect_s = 20;
    a = ti__conf_of(r, "plainb");
    wait_for(r, a);
    assert_string_equal(a->user, "bob");
    b = ti__conf_of(r, "special3");
    wait_for(r, b);
    assert_string_equal(b->user, "evil");
    ti_remote_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_keys_to_all),
        cmocka_unit_test(connect_timeouts),
        cmocka_unit_test(more_files_than_are_known),
        cmocka_unit_test(nothing_from_failures),
    };

    if (access("/usr/bin/ssh", X_OK) != 0) {
        puts("there is no ssh");
        return 77;
    }
    return cmocka_run_group_tests(tests, begin, end);
}
