/* The part of cli.h without option tables: the version, and programs that only programs start. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"

#ifndef TI_VERSION
#define TI_VERSION "0.1.0"
#endif

const char *ti_version(void)
{
    return TI_VERSION;
}

int ti_cli_shown(const char *tool)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TI_OK;
    fprintf(stderr, "%s: cannot write to standard output: %s\n", tool, strerror(errno));
    return TI_ERR_IO;
}

int ti_cli_version(const char *tool)
{
    printf("%s (Tiara) %s\n", tool, ti_version());
    return ti_cli_shown(tool);
}

int ti_cli_helper(const char *tool, const char *usage, int argc, char **argv)
{
    const char *arg = argc == 2 ? argv[1] : "";

    if (!strcmp(arg, "--version") || !strcmp(arg, "-V"))
        return ti_cli_version(tool);
    if (strcmp(arg, "--help") != 0 && strcmp(arg, "-h") != 0)
        return TI_CLI_END;
    printf("Usage: %s\n", usage);
    return ti_cli_shown(tool);
}
