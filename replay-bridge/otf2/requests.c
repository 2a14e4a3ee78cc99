/* Requests that are not complete yet. */
#include "replay-bridge/otf2/internal.h"

int64_t ti__otf2_request_find(const struct ti__otf2_rank *r, uint64_t id)
{
    for (size_t n = 0; n < r->nrequests; n++)
        if (r->request[n].live && r->request[n].id == id)
            return (int64_t)n;
    return -1;
}

ti_status ti__otf2_request_new(struct ti__otf2_rank *r, uint64_t id, size_t about, int64_t *number)
{
    size_t n = 0;

    if (ti__otf2_request_find(r, id) >= 0)
        return ti__otf2_wrong(r, "request %llu is made, but it is not complete yet",
                              (unsigned long long)id);
    while (n < r->nrequests && r->request[n].live)
        n++;
    if (n == r->nrequests) {
        r->request = ti_grow(r->request, &r->requests_cap, n + 1, sizeof *r->request);
        r->nrequests++;
    }
    r->request[n] = (struct ti__otf2_request){true, id, about};
    *number = (int64_t)n;
    return TI_OK;
}
