/*
 * Assembler text in statements.
 *
 * What gas does before it looks at instructions: comments, strings, `;`, labels,
 * `# LINE "FILE"`.  Statements point into the text, so that whoever writes it again
 * copies what lies between them.
 */
#ifndef TI_BLOCKS_TEXT_H
#define TI_BLOCKS_TEXT_H

#include "minitrace/blocks/blocks.h"

enum ti_stmt_kind {
    TI_STMT_LABEL,
    TI_STMT_INSN,  /* an instruction or a prefix, a macro's use, .rept and .if to their end */
    TI_STMT_DATA,  /* a directive that makes bytes */
    TI_STMT_FILL,  /* .align and the like */
    TI_STMT_OTHER, /* any other directive, and assignments */
};

struct ti_stmt {
    size_t at, len;         /* in the text, without blanks around it */
    uint32_t line;          /* as `# LINE` says */
    uint16_t file;          /* index into files */
    uint8_t kind;           /* enum ti_stmt_kind */
    unsigned code : 1;      /* may be in a code section */
    unsigned intel : 1;     /* syntax here */
    unsigned naked : 1;     /* registers without % here */
    unsigned jumped : 1;    /* a label that may be jumped to */
    unsigned taken : 1;     /* a label whose address is used other than by a jump */
    unsigned branch : 1;    /* an instruction whose operand is a place to go to */
    unsigned data_only : 1; /* data that is never code (.ascii) */
};

struct ti_text {
    const char *text; /* the caller's */
    size_t bytes;
    struct ti_stmt *stmts;
    size_t n;
    char **files;
    size_t nfiles;
};

/* Cut `bytes` of `text`, whose name is `file`.  Fails with TI_ERR_INPUT on what
 * cannot be handled at all (.code32, .include, LTO sections); release with
 * ti_text_free() in every case. */
ti_status ti_text_parse(struct ti_text *out, const char *text, size_t bytes, const char *file,
                        const struct ti_blocks_options *options, struct ti_err *err);
void ti_text_free(struct ti_text *t);

/* "FILE:LINE: " in front of a sentence about statement `i`; returns TI_ERR_INPUT. */
ti_status ti_text_error(const struct ti_text *t, size_t i, struct ti_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
