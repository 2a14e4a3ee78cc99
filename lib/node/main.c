/* ti-node: at the node's end of a channel, and in front of every rank. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "node/install.h"
#include "node/serve.h"
#include "node/start.h"
#include "session/messages.h"

#define USAGE                                                                                      \
    "ti-node serve | run PROGRAM [ARGUMENT]... | run --dry-launch\n"                               \
    "ti-acquire and ti-gather start it; it is not for people"

static int usage(void)
{
    fputs("ti-node: which of 'serve', 'run PROGRAM [ARGUMENT]...' and 'run --dry-launch'?\n"
          "ti-acquire and ti-gather start it; it is not for people\n",
          stderr);
    return TI_ERR_USAGE;
}

static int fail(ti_status st, const struct ti_err *err)
{
    fprintf(stderr, "ti-node: %s\n", err->text);
    if (err->hint[0])
        fprintf(stderr, "hint: %s\n", err->hint);
    return (int)st;
}

static int serve(int shipped)
{
    char self[PATH_MAX], folder[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    struct ti_err err = {"", ""};
    ti_status st;

    if (n < 0)
        return fail(ti_err_errno(&err, TI_ERR_IO, "cannot tell where ti-node is"), &err);
    self[n] = '\0';
    strcpy(folder, self);
    *strrchr(folder, '/') = '\0';
    ti_install_use(folder);
    st = ti_serve(folder, self, shipped, &err);
    return err.text[0] ? fail(st, &err) : (int)st;
}

static int install(char **argv)
{
    struct ti_err err = {"", ""};
    ti_status st = ti_install(argv[0], argv[1], argv[2], &err);

    return st == TI_OK ? 0 : fail(st, &err);
}

int main(int argc, char **argv)
{
    int end;

    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        ti_cli_version("ti-node");
        printf("protocol: %d\n", TI_PROTOCOL);
        return ti_cli_shown("ti-node");
    }
    if (argc == 2 && (end = ti_cli_helper("ti-node", USAGE, argc, argv)) != TI_CLI_END)
        return end;
    if (argc >= 2 && strcmp(argv[1], "serve") == 0)
        return serve(argc == 3 && strcmp(argv[2], "--shipped") == 0);
    if (argc == 5 && strcmp(argv[1], "install") == 0)
        return install(argv + 2);
    if (argc == 3 && strcmp(argv[1], "run") == 0 && strcmp(argv[2], "--dry-launch") == 0)
        return ti_start(0, NULL, 1);
    if (argc >= 3 && strcmp(argv[1], "run") == 0)
        return ti_start(argc - 2, argv + 2, 0);
    return usage();
}
