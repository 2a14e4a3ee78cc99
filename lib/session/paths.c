#include "session/paths.h"

#include <string.h>

#include "common/beside.h"

ti_status ti_paths_find(struct ti_paths *p, struct ti_err *err)
{
    /* in the build tree or a shipped folder; from bin; from libexec/tiara; as configured */
    static const char *const libraries[] = {".", "../lib", "../../lib", TI_LIBDIR, NULL};
    static const char *const tools[] = {"libexec/valgrind", "../libexec/tiara/valgrind", "valgrind",
                                        TI_LIBEXECDIR "/tiara/valgrind", NULL};
    static const char *const programs[] = {".", "../../bin", NULL};
    char here[PATH_MAX];
    ti_status st = ti_beside_here(here, err);

    if (st != TI_OK)
        return st;
    if (ti_beside_find(tools, "ticount-amd64-linux", p->valgrind))
        *strrchr(p->valgrind, '/') = '\0';
    ti_beside_find(programs, "ti-gather", p->gather);
    ti_beside_find(programs, "ti-replay", p->replay);
    ti_beside_helper("ti-node", p->node);
    ti_beside_helper("ti-node-counter", p->counter);
    ti_beside_helper("ti-rsh", p->rsh);
    if (!ti_beside_find(libraries, "libminitrace.so", p->library)) {
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
