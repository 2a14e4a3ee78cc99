/*
 * Splits assembler text into statements.
 *
 * The splitter handles what gas does before it looks at instructions: comments, strings, `;`,
 * labels, `# LINE "FILE"`.  Statements point into the text; emit.h copies the text between them.
 */
#ifndef TI_WRAP_ASSEMBLER_TEXT_H
#define TI_WRAP_ASSEMBLER_TEXT_H

#include "wrap/assembler/blocks.h"

enum ti_stmt_kind {
    TI_STMT_LABEL,
    TI_STMT_INSN,  /* an instruction or prefix; a use of a macro; .rept or .if up to its end */
    TI_STMT_DATA,  /* a directive that makes data */
    TI_STMT_FILL,  /* .align and the like */
    TI_STMT_OTHER, /* other directives, and assignments */
};

struct ti_stmt {
    size_t at, len;         /* in the text, without blanks around it */
    uint32_t line;          /* from `# LINE` */
    uint16_t file;          /* index into files */
    uint8_t kind;           /* enum ti_stmt_kind */
    unsigned code : 1;      /* may be in a code section */
    unsigned intel : 1;     /* Intel syntax */
    unsigned naked : 1;     /* registers without % */
    unsigned jumped : 1;    /* a label that may be jumped to */
    unsigned taken : 1;     /* a label whose address is used other than by a jump */
    unsigned branch : 1;    /* an instruction whose operand is a jump target */
    unsigned data_only : 1; /* data that is never code (.ascii) */
};

struct ti_text {
    const char *text; /* owned by the caller */
    size_t bytes;
    struct ti_stmt *stmts;
    size_t n;
    char **files;
    size_t nfiles;
};

/* Split `bytes` of `text`; `file` is its name for messages.  TI_ERR_INPUT for text that cannot be
 * handled (.code32, .include, LTO sections).  Release with ti_text_free() in every case. */
ti_status ti_text_parse(struct ti_text *out, const char *text, size_t bytes, const char *file,
                        const struct ti_blocks_options *options, struct ti_err *err);
void ti_text_free(struct ti_text *t);

/* Set an error about statement `i`, with "FILE:LINE: " before the text.  Returns TI_ERR_INPUT. */
ti_status ti_text_error(const struct ti_text *t, size_t i, struct ti_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
