#include "fold/record.h"

#include <stdlib.h>
#include <string.h>

#include "event/event.h"

void ti_record_set(struct ti_record *record, size_t k, int64_t value)
{
    ((int64_t *)(uintptr_t)record->number)[k] = value;
}

static uint64_t hash_bytes(uint64_t hash, const struct ti_bytes *bytes)
{
    uint64_t word = 0;
    size_t at = 0;

    for (; bytes->n - at >= sizeof word; at += sizeof word) {
        memcpy(&word, bytes->data + at, sizeof word);
        hash = ti_hash_word(hash, word);
    }
    word = bytes->n;
    for (; at < bytes->n; at++)
        word = word << 8 | bytes->data[at];
    return ti_hash_word(hash, word);
}

uint64_t ti_record_hash(const struct ti_record *r)
{
    uint64_t hash = hash_bytes(TI_HASH_START, &r->pattern);

    for (size_t i = 1; i < r->nnumbers; i++)
        hash = ti_hash_word(hash, (uint64_t)r->number[i]);
    for (size_t i = 0; i < r->nblobs; i++)
        hash = hash_bytes(hash, &r->blob[i]);
    return hash;
}

void ti_record_free(struct ti_record *record)
{
    free(record->memory);
    *record = (struct ti_record){0};
}
