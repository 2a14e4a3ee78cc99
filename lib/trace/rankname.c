#include "trace/rankname.h"

#include <unistd.h>

#include "common/hex.h"

enum { AT_RUN_ID = 24 }; /* in the header, see trace/trace.h */

int64_t ti_rank_of_own_name(const char *name)
{
    int64_t rank = ti_rank_of_name(name);
    char own[TI_RANK_NAME_BYTES];

    return rank >= 0 && strcmp(ti_rank_name(rank, own), name) == 0 ? rank : -1;
}

bool ti_rank_file_run(int fd, char id[TI_RUN_ID_TEXT])
{
    unsigned char header[TI_HEADER_BYTES];

    if (pread(fd, header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header, TI_MAGIC, TI_MAGIC_BYTES) != 0)
        return false;
    ti_hex(header + AT_RUN_ID, TI_RUN_ID_BYTES, id);
    return true;
}

bool ti_rank_file_ends(int fd, int64_t bytes)
{
    char mark[TI_MAGIC_BYTES];

    return bytes >= TI_HEADER_BYTES + TI_MAGIC_BYTES &&
           pread(fd, mark, sizeof mark, bytes - TI_MAGIC_BYTES) == (ssize_t)sizeof mark &&
           memcmp(mark, TI_MAGIC_END, sizeof mark) == 0;
}

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
