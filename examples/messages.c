/* messages TRACE: for each rank, its events, its volume, and the bytes that it sends.  A program of
 * libtiara: cc messages.c $(pkg-config --cflags --libs tiara) */
#include <inttypes.h>
#include <stdio.h>
#include <tiara.h>

int main(int argc, char **argv)
{
    struct tiara_error err = {.text = "usage: messages TRACE"};
    struct tiara_trace *t = NULL;

    if (argc != 2 || tiara_open(argv[1], &t, &err))
        return fprintf(stderr, "messages: %s\n", err.text), 2;
    for (int64_t rank = 0; rank < tiara_ranks(t); rank++) {
        uint64_t events = 0, volume = 0, bytes = 0;
        const struct tiara_event *ev;
        struct tiara_rank *r;
        int more;

        if (tiara_rank_open(t, rank, 0, &r, &err))
            return fprintf(stderr, "messages: %s\n", err.text), 3;
        while ((more = tiara_next(r, &ev, &err)) > 0) {
            events++;
            volume += ev->volume;
            if (tiara_op_sends(ev->op) && ev->value[TIARA_PEER] != TIARA_NULL)
                bytes += (uint64_t)ev->value[TIARA_BYTES];
        }
        if (more < 0)
            return fprintf(stderr, "messages: %s\n", err.text), 3;
        printf("rank %" PRId64 ": %" PRIu64 " events, volume %" PRIu64 ", %" PRIu64 " bytes\n",
               rank, events, volume, bytes);
        tiara_rank_close(r);
    }
    tiara_close(t);
    return 0;
}
