#include "trace/rankname.h"

char *ti_ranks_text(const int64_t *rank, int64_t n, char *buf, size_t buf_bytes)
{
    size_t used = 0;

    buf[0] = '\0';
    for (int64_t i = 0, last; i < n; i = last + 1) {
        char item[64];
        size_t len;

        for (last = i; last + 1 < n && rank[last + 1] == rank[last] + 1; last++)
            ;
        if (last == i)
            snprintf(item, sizeof item, "%s%" PRId64, i ? ", " : "", rank[i]);
        else
            snprintf(item, sizeof item, "%s%" PRId64 "-%" PRId64, i ? ", " : "", rank[i],
                     rank[last]);
        len = strlen(item);
        if (used + len + sizeof ", ..." > buf_bytes) {
            if (used + sizeof ", ..." <= buf_bytes)
                strcpy(buf + used, ", ...");
            break;
        }
        memcpy(buf + used, item, len + 1);
        used += len;
    }
    return buf;
}
