#include "trace/foreign.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_foreign(const char *name, const char *above)
{
    struct stat is, folder;

    return lstat(name, &is) == 0 && is.st_uid != geteuid() && is.st_uid != 0 &&
           stat(above, &folder) == 0 && (folder.st_mode & S_IWOTH);
}

const char *ti_foreign(const char *path)
{
    static char name[PATH_MAX];
    char above[PATH_MAX];
    size_t n = 0;

    while (path[n]) {
        memcpy(above, name, n);
        strcpy(above + n, n ? "" : path[0] == '/' ? "/" : ".");
        n += strspn(path + n, "/");
        if (!path[n])
            break;
        n += strcspn(path + n, "/");
        if (n >= sizeof name)
            break;
        memcpy(name, path, n);
        name[n] = '\0';
        if (is_foreign(name, above))
            return name;
    }
    return NULL;
}
