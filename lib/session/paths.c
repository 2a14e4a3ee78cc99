#include "session/paths.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first path of `list`, relative to `here` or absolute, below which `probe` exists; canonical.
 */
static bool first_of(const char *here, const char *const *list, const char *probe, char *out)
{
    char path[2 * PATH_MAX], real[PATH_MAX];

    for (; *list; list++) {
        snprintf(path, sizeof path, "%s%s%s%s%s", **list == '/' ? "" : here,
                 **list == '/' ? "" : "/", *list, *probe ? "/" : "", probe);
        if (access(path, R_OK) < 0)
            continue;
        path[strlen(path) - strlen(probe) - (*probe ? 1 : 0)] = '\0';
        if (realpath(path, real)) {
            strcpy(out, real);
            return true;
        }
    }
    out[0] = '\0';
    return false;
}

/* Find one of the internal programs. */
static void helper(const char *here, const char *const *list, const char *name, char out[PATH_MAX])
{
    size_t n;

    if (!first_of(here, list, name, out))
        return;
    n = strlen(out);
    if (n + 1 + strlen(name) >= PATH_MAX)
        out[0] = '\0';
    else
        snprintf(out + n, PATH_MAX - n, "/%s", name);
}

ti_status ti_paths_find(struct ti_paths *p, struct ti_err *err)
{
    /* in the build tree or a shipped folder; from bin; from libexec/tiara; as configured */
    static const char *const libraries[] = {"libminitrace.so", "../lib/libminitrace.so",
                                            "../../lib/libminitrace.so",
                                            TI_LIBDIR "/libminitrace.so", NULL};
    static const char *const tools[] = {"libexec/valgrind", "../libexec/tiara/valgrind", "valgrind",
                                        TI_LIBEXECDIR "/tiara/valgrind", NULL};
    static const char *const gathers[] = {"ti-gather", "../../bin/ti-gather", NULL};
    static const char *const replays[] = {"ti-replay", "../../bin/ti-replay", NULL};
    static const char *const helpers[] = {".", "../libexec/tiara", TI_LIBEXECDIR "/tiara", NULL};
    char here[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
    char *slash;

    if (n < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot tell where Tiara is");
    here[n] = '\0';
    slash = strrchr(here, '/');
    if (slash)
        *slash = '\0';
    first_of(here, tools, "ticount-amd64-linux", p->valgrind);
    first_of(here, gathers, "", p->gather);
    first_of(here, replays, "", p->replay);
    helper(here, helpers, "ti-node", p->node);
    helper(here, helpers, "ti-node-counter", p->counter);
    helper(here, helpers, "ti-rsh", p->rsh);
    if (!first_of(here, libraries, "", p->library)) {
        ti_err_set(err, TI_ERR_IO, "cannot find 'libminitrace.so' in '%s' or in '%s'", here,
                   TI_LIBDIR);
        ti_err_hint(err, "is Tiara built, or installed completely?");
        return TI_ERR_IO;
    }
    if (strpbrk(p->library, ": ")) {
        ti_err_set(err, TI_ERR_IO, "cannot preload '%s'", p->library);
        ti_err_hint(err, "the loader takes no name with a colon or a blank in it: move Tiara");
        return TI_ERR_IO;
    }
    return TI_OK;
}
