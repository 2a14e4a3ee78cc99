#include "trace/foreign.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool ti_is_foreign(const char *path)
{
    char name[PATH_MAX];
    struct stat is, above;
    size_t n = strlen(path);

    if (n >= sizeof name)
        return false;
    memcpy(name, path, n + 1);
    while (n > 1 && name[n - 1] == '/') /* lstat() would follow a link */
        name[--n] = '\0';
    if (lstat(name, &is) != 0 || is.st_uid == geteuid() || is.st_uid == 0)
        return false;
    while (n > 0 && name[n - 1] != '/')
        n--;
    name[n] = '\0';
    return stat(n ? name : ".", &above) == 0 && (above.st_mode & S_IWOTH);
}
