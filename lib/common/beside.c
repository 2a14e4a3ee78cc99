#include "common/beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ti_status ti_beside_here(char out[PATH_MAX], struct ti_err *err)
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);

    if (n < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot tell where Tiara is");
    out[n] = '\0';
    *strrchr(out, '/') = '\0';
    return TI_OK;
}

bool ti_beside_find(const char *const *folders, const char *name, char out[PATH_MAX])
{
    char here[PATH_MAX], path[3 * PATH_MAX];
    bool known = ti_beside_here(here, NULL) == TI_OK;

    for (; *folders; folders++) {
        bool absolute = **folders == '/';

        snprintf(path, sizeof path, "%s%s%s/%s", absolute ? "" : here, absolute ? "" : "/",
                 *folders, name);
        if ((absolute || known) && access(path, R_OK) == 0 && realpath(path, out))
            return true;
    }
    out[0] = '\0';
    return false;
}

bool ti_beside_helper(const char *name, char out[PATH_MAX])
{
    static const char *const folders[] = {".", "../libexec/tiara", TI_LIBEXECDIR "/tiara", NULL};

    return ti_beside_find(folders, name, out);
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool ti_find_on_path(const char *name, char *buf)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/')) {
        snprintf(buf, PATH_MAX, "%s", name);
        return is_program(buf);
    }
    if (!path)
        path = "/usr/bin:/bin";
    for (const char *end; *name; path = end + 1) {
        int len;

        end = strchrnul(path, ':');
        len = (int)(end - path);
        snprintf(buf, PATH_MAX, "%.*s%s%s", len, path, len ? "/" : "", name);
        if (is_program(buf))
            return true;
        if (!*end)
            break;
    }
    return false;
}
