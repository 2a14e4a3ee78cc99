/*
 * The parts of a record (fold/record.h): what each of its numbers and blobs means.
 *
 * Records with equal patterns have the same parts.  So the parts of one record say what a number is
 * of all ranks of a group (merged/view.h).
 */
#ifndef TI_FOLD_PARTS_H
#define TI_FOLD_PARTS_H

#include <stddef.h>
#include <stdint.h>

struct ti_record;

/*
 * Kinds of parts: X(name, text, meaning).  A part is a number, a blob, or both: then the number is
 * the first value of a column, and the blob the rest (fold/column.h).
 *
 * `of` is the number of a pair of metadata, of a communicator in the order of the trace, of a
 * string (from 1), of a symbol or of a node (fold/shape.h).
 */
#define TI_PARTS(X)                                                                                \
    X(HASH, "hash", "number: of all events, in the totals")                                        \
    X(INFO, "metadata", "number or blob: value of pair `of`; a number in units of its last digit") \
    X(COMM_RANK, "rank in communicator", "number: our rank in communicator `of`")                  \
    X(COMM_SIZE, "size of communicator", "number: ranks of communicator `of`")                     \
    X(REMOTE_SIZE, "size of remote group", "number: ranks of the other group")                     \
    X(MEMBERS, "members", "both: world rank of each rank of communicator `of`")                    \
    X(REMOTE_MEMBERS, "remote members", "both: those of the other group")                          \
    X(SITE, "call site", "both: offset of call site `of` in its module, or -1; the rest as text")  \
    X(CALL, "name of call", "blob: text of string `of`")                                           \
    X(FILE, "name of file", "blob: text of string `of`")                                           \
    X(VECTORS, "number of vectors", "number: of different vectors")                                \
    X(LENGTHS, "lengths of vectors", "both")                                                       \
    X(MODELS, "models of vectors", "both: see fold/record_layout.h")                               \
    X(ELEMENTS, "elements of vectors", "both")                                                     \
    X(FIELD, "field", "number: field `which` of all calls of symbol `of`")                         \
    X(VECTOR, "vector", "number: of vector `which` of all calls of symbol `of`")                   \
    X(TRIPS, "trip counts", "both: of loop `of`, one for each pass")                               \
    X(VOLUMES, "volumes", "both: of call `of`, one for each time that it is reached by `arrival`") \
    X(EXTRAS, "extra values", "both: the same of extra column `which`")                            \
    X(FIELDS, "fields", "both: field `which` of call `of`, one for each pass")                     \
    X(VECTOR_NUMBERS, "numbers of vectors", "both: vector `which` of call `of`")

/* clang-format off */
#define TI_PART_ENUM(name, text, meaning) TI_PART_##name,
enum ti_part_kind { TI_PARTS(TI_PART_ENUM) TI_PART_COUNT };
/* clang-format on */

struct ti_record_part {
    uint8_t kind;  /* enum ti_part_kind */
    uint8_t which; /* a field (event/event.h), a vector, or an extra column */
    uint32_t of, arrival;
};

/* The parts of a record, as many as it has numbers and blobs. */
struct ti_record_parts {
    struct ti_record_part *number, *blob;
    size_t nnumbers, nblobs;
};

/* Find the parts of a folded record of a run of `nranks` ranks.  Returns NULL on success: release
 * *out by ti_record_parts_free().  Else what is wrong, as ti_folded_open(). */
const char *ti_record_find_parts(const struct ti_record *record, uint32_t nranks,
                                 struct ti_record_parts *out);
void ti_record_parts_free(struct ti_record_parts *p); /* *p is empty then */

/* The text of a kind, as above. */
const char *ti_part_text(uint8_t kind);

#endif
