/* The part of cli.h without option tables: the version, and programs that only programs start. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"

/* The commit, and what is built in.  tools/write-built writes them; tests are linked without. */
extern const char ti_built_commit[] __attribute__((weak));
extern const char ti_built_in[] __attribute__((weak));

/* Functions of libraries, of which a program has those that it is linked with.  With their headers
 * they would not be weak, and every program would need every library. */
extern const char *jansson_version_str(void) __attribute__((weak));
extern const char *archive_version_string(void) __attribute__((weak));
extern const char *zlibVersion(void) __attribute__((weak));
extern const char *libssh2_version(int) __attribute__((weak));
extern const char *dwfl_version(void *) __attribute__((weak));
extern int nettle_version_major(void) __attribute__((weak));
extern int nettle_version_minor(void) __attribute__((weak));
extern void sg_version_get(int *, int *, int *) __attribute__((weak));
extern int MPI_Get_library_version(char *, int *) __attribute__((weak));

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

/* "libraries: jansson 2.14, zlib 1.2.13": those that this process uses. */
static void print_libraries(void)
{
    const char *between = "libraries: ";

#define SAY(...) (printf("%s", between), printf(__VA_ARGS__), between = ", ")
    if (sg_version_get) {
        int major, minor, patch;

        sg_version_get(&major, &minor, &patch);
        SAY("SimGrid %d.%d", major, minor);
    } else if (MPI_Get_library_version) {
        char text[8192]; /* the longest that any MPI library returns, and more */
        int length;

        if (MPI_Get_library_version(text, &length) == 0)
            SAY("%.*s", (int)strcspn(text, ",\n"), text);
    }
    if (jansson_version_str)
        SAY("jansson %s", jansson_version_str());
    if (archive_version_string)
        SAY("%s", archive_version_string());
    if (libssh2_version)
        SAY("libssh2 %s", libssh2_version(0));
    if (dwfl_version)
        SAY("libdw %s", dwfl_version(NULL));
    if (nettle_version_major && nettle_version_minor)
        SAY("nettle %d.%d", nettle_version_major(), nettle_version_minor());
    if (zlibVersion)
        SAY("zlib %s", zlibVersion());
#undef SAY
    if (*between == ',')
        putchar('\n');
}

int ti_cli_version(const char *tool)
{
    printf("%s (Tiara) %s", tool, ti_version());
    if (ti_built_commit)
        printf(", commit %s", ti_built_commit);
    putchar('\n');
    print_libraries();
    if (ti_built_in)
        printf("built in: %s\n", ti_built_in);
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
