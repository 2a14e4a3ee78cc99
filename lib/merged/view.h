/*
 * View of a merged trace: groups of ranks, and each of their numbers as a function of the rank,
 * without going through the ranks or their events.
 *
 * Use it to find out how a trace depends on the rank, or to make another one of it: what a view
 * gives, a builder takes (merged/builder.h).  To print one rank, fold/shape.h is enough.
 *
 *   group    the ranks with equal patterns: the same metadata keys, communicators, call sites,
 *            symbols and nest of loops, but for numbers and texts.  Ranks that did other calls, or
 *            the same in other loops, are in other groups
 *   shape    that nest, with symbols and columns, as the lowest rank of the group has it:
 *            ti_reader_folded(ti_view_reader()), for the functions of fold/shape.h
 *   part     one number or one blob of all members, and its meaning (fold/parts.h): a field of a
 *            symbol, the first trip count of a loop (later ones are differences to it), ...
 *            Numbers come first: part k is number k of each record, or blob
 *            k - ti_view_numbers()
 *   formula  how a part depends on the rank
 *
 * A column is two parts: its first value and the blob with the rest.  An empty blob is a constant
 * column.  If the blobs of all members are the same, only the first values need to be compared.
 *
 * Nothing in the file is trusted; errors name file, byte and cause.  Memory: the record of the
 * lowest rank twice, the section of the group, and some 20 bytes for each part.  One thread at a
 * time for all views of a merged trace.
 */
#ifndef TI_MERGED_VIEW_H
#define TI_MERGED_VIEW_H

#include "common/ranges.h"
#include "fold/parts.h"
#include "fold/shape.h"
#include "merged/layout.h"
#include "merged/merged.h"
#include "trace/reader.h"

struct ti_view;

/* Number of groups, in the order of their lowest ranks; and the group of a rank, -1 if it is
 * missing. */
uint32_t ti_merged_groups(const struct ti_merged *m);
int64_t ti_merged_group_of(const struct ti_merged *m, int64_t rank);

/* Open the view of a group, below ti_merged_groups().  The merged trace must outlive it.
 * TI_ERR_INPUT: it is damaged; TI_ERR_IO. */
ti_status ti_view_open(struct ti_merged *m, uint32_t group, struct ti_view **out,
                       struct ti_err *err);
void ti_view_close(struct ti_view *v); /* NULL is fine */

/* The members. */
const struct ti_ranges *ti_view_ranks(const struct ti_view *v);

/* A reader of the lowest rank, for metadata, strings, communicators and the shape.  It belongs to
 * the view, and is at the end.  If the group is one of copies of rank files, ti_reader_folded() is
 * NULL, and the view has no parts. */
struct ti_reader *ti_view_reader(const struct ti_view *v);

/* Number of parts: numbers, and all. */
size_t ti_view_numbers(const struct ti_view *v);
size_t ti_view_parts(const struct ti_view *v);

/* The meaning of part `k`. */
struct ti_record_part ti_view_part(const struct ti_view *v, size_t k);

/* The part that has a meaning; *part is as ti_view_part() gives it.  `blob`: of the blobs.  -1:
 * there is none. */
int64_t ti_view_find(const struct ti_view *v, const struct ti_record_part *part, bool blob);

/*
 * How the values of a part depend on the rank.  The value of a number is itself.  The value of a
 * blob is a name: members with equal values have equal blobs; -1: a blob that no other rank has.
 *
 *   kind                 value
 *   TI_COLUMN_CONSTANT   a
 *   TI_COLUMN_LINEAR     a + b * rank
 *   TI_COLUMN_XOR        (rank ^ a) - rank
 *   TI_COLUMN_TABLE      T[rank / q % p], or T[rank / q] if p is 0
 *   TI_COLUMN_SERIES     T[i] of member i
 *   TI_COLUMN_PAGED      a list
 *   TI_COLUMN_PRIVATE    -1; blobs only
 *
 * ti_view_values() gives the value of each member, for every kind; the T of a table is not shown.
 * Arithmetic is modulo 2^64.  The kind is the one
 * that takes the fewest bytes: values of a few ranks may follow several functions.
 */
struct ti_formula {
    enum ti_column_kind kind;
    int64_t a, b;
    uint64_t q, p;
};
struct ti_formula ti_view_formula(const struct ti_view *v, size_t k);

/* The formula in words into buf, such as "7 + 2 * rank"; cut if it does not fit.  Returns buf. */
char *ti_formula_text(const struct ti_formula *f, char *buf, size_t room);

/* The values of parts `first` to first + n - 1 of all members: that of part k and member i goes to
 * value[(k - first) * members + i].  Each page of the group is read once, so ask for many parts at
 * a time where they are lists.  TI_ERR_INPUT, TI_ERR_IO. */
ti_status ti_view_values(struct ti_view *v, size_t first, size_t n, int64_t *value,
                         struct ti_err *err);

/* The record of a member (ti_merged_record()), to change it (ti_record_set()) or to open it
 * (ti_reader_open_record()).  Release it with ti_record_free(). */
ti_status ti_view_record(struct ti_view *v, int64_t rank, struct ti_record *out,
                         struct ti_err *err);

#endif
