/* lib/program/container.h: the commands of Podman and Apptainer; cli/acquire-container runs
 * Podman's.
 */
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

#include "program/container.h"

static char folder[] = "/tmp/t-container-XXXXXX";
static const struct ti_paths paths = {.library = "/opt/lib/libminitrace.so",
                                      .counter = "/opt/libexec/tiara/ti-node-counter"};

static void make_file(const char *name, mode_t mode)
{
    char path[64];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    chmod(path, mode);
}

/* Programs that are found, and never run. */
static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) < 0)
        return 1;
    setenv("PATH", folder, 1);
    make_file("podman", 0755);
    make_file("singularity", 0755);
    make_file("image.sif", 0644);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink("podman");
    unlink("singularity");
    unlink("image.sif");
    return chdir("/") || rmdir(folder);
}

static int find(const struct ti_args *words, const char *word)
{
    for (int i = 0; i < words->n; i++)
        if (strcmp(words->v[i], word) == 0)
            return i;
    return -1;
}

static void make(const char *image, const char *run, struct ti_args *env, struct ti_args *out)
{
    const struct ti_container c = {.image = image, .paths = &paths, .folder = {run, "/x/run/tmp"}};
    struct ti_err err;

    *env = *out = (struct ti_args){.n = 0};
    ti_args_add(env, "TOKEN=secret", "LD_PRELOAD=/.tiara/lib/libminitrace.so", "TIARA_RUN_ID=1");
    assert_int_equal(ti_container_words(&c, env, out, &err), TI_OK);
    assert_int_equal(env->n, 2);
    assert_string_equal(env->v[0], "TOKEN=secret");
    assert_string_equal(out->v[out->n - 1], image);
    assert_true(find(out, "--env=LD_PRELOAD=/.tiara/lib/libminitrace.so") > 0);
}

static void podman_gets_names_of_variables_and_folders_once(void **state)
{
    struct ti_args env, words;

    (void)state;
    make("debian:12", "/x/run", &env, &words);
    assert_string_equal(words.v[0], "podman");
    assert_true(find(&words, "--env=TOKEN") > 0);
    assert_int_equal(find(&words, "--env=TOKEN=secret"), -1);
    assert_true(find(&words, "--volume=/opt/lib:/.tiara/lib:ro") > 0);
    assert_true(find(&words, "--volume=/opt/libexec/tiara:/.tiara/bin:ro") > 0);
    assert_true(find(&words, "--volume=/x/run:/x/run:rw") > 0);
    /* they are in folders that are shared */
    assert_int_equal(find(&words, "--volume=/x/run/tmp:/x/run/tmp:rw"), -1);
    for (int i = 0; i < words.n; i++)
        assert_null(strstr(words.v[i], "t-container-XXXXXX:"));
    ti_args_free(&env);
    ti_args_free(&words);
    make("debian:12", "/x/ru", &env, &words); /* no folder above /x/run/tmp */
    assert_true(find(&words, "--volume=/x/run/tmp:/x/run/tmp:rw") > 0);
    ti_args_free(&env);
    ti_args_free(&words);
}

static void apptainer_passes_the_environment_on(void **state)
{
    struct ti_args env, words;

    (void)state;
    make("./image.sif", "/x/run", &env, &words);
    assert_string_equal(words.v[0], "singularity");
    assert_string_equal(words.v[1], "exec");
    assert_int_equal(find(&words, "--env=TOKEN"), -1);
    assert_true(find(&words, "--bind=/opt/lib:/.tiara/lib:ro") > 0);
    assert_true(find(&words, "--bind=/x/run:/x/run:rw") > 0);
    assert_int_equal(find(&words, "--bind=/tmp:/tmp:rw"), -1);
    ti_args_free(&env);
    ti_args_free(&words);
}

static void errors_say_what_is_missing(void **state)
{
    struct ti_container c = {.image = "debian:12", .paths = &paths, .folder = {"/x/a,b"}};
    struct ti_args none = {.n = 0}, words = {.n = 0};
    const char *engine;
    struct ti_err err;

    (void)state;
    assert_int_equal(ti_container_words(&c, &none, &words, &err), TI_ERR_INPUT);
    assert_string_equal(err.text, "cannot share '/x/a,b' with a container");
    ti_args_free(&words);
    assert_int_equal(ti_container_engine("../none.sif", &engine, &err), TI_ERR_INPUT);
    assert_string_equal(err.text, "cannot open the image '../none.sif': No such file or directory");
    unlink("podman");
    assert_int_equal(ti_container_engine("debian:12", &engine, &err), TI_ERR_INPUT);
    assert_string_equal(err.text, "cannot run the image 'debian:12': cannot find 'podman' on PATH");
    make_file("podman", 0755);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(podman_gets_names_of_variables_and_folders_once),
        cmocka_unit_test(apptainer_passes_the_environment_on),
        cmocka_unit_test(errors_say_what_is_missing),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
