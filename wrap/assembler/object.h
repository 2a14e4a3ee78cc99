/*
 * Reads what the assembler made of the text: the bytes of each statement.
 *
 * The text that emit.h writes for this has a section TI_OBJECT_MAP of addresses, which gas leaves
 * as relocations: three for each statement of a code section.
 */
#ifndef TI_WRAP_ASSEMBLER_OBJECT_H
#define TI_WRAP_ASSEMBLER_OBJECT_H

#include <elf.h>

#include "wrap/assembler/text.h"

#define TI_OBJECT_MAP ".tiara.map"

/* Where a statement lies in `section` (0: in no code section): what was added before it starts at
 * `from`, the statement is at .. to. */
struct ti_code_range {
    uint32_t section;
    uint64_t from, at, to;
};

/* A relocation of a code section.  Sorted by offset. */
struct ti_reloc {
    uint64_t offset;
    uint32_t type;
    uint32_t symbol;
    int64_t addend;
};

struct ti_section {
    const uint8_t *bytes; /* NULL: not a code section */
    uint64_t size;
    struct ti_reloc *relocs;
    size_t nrelocs;
    const char *name;
};

struct ti_object {
    uint8_t *file;
    size_t bytes;
    /* Numbered from 1 in ELF's order, without sections of relocations, so that the numbers of two
     * objects agree.  Symbols have the same numbers. */
    struct ti_section *sections;
    size_t nsections;
    uint16_t *numbers; /* our section number, by ELF's */
    Elf64_Sym *symbols;
    size_t nsymbols;
    const char *names; /* of the symbols */
    size_t names_bytes;
    struct ti_code_range *places; /* by number in the map, see emit.h */
    size_t nplaces;
    bool torn; /* a statement begins in one section and ends in another */
};

/* Read the object file `path`, whose map has `nplaces` statements.  TI_ERR_IO; TI_ERR_INPUT if it
 * is not an ELF object for x86-64.  Release with ti_object_free() in every case. */
ti_status ti_object_read(struct ti_object *out, const char *path, size_t nplaces,
                         struct ti_err *err);
void ti_object_free(struct ti_object *o);

/* The first relocation of a code section in [from, to), or NULL. */
const struct ti_reloc *ti_object_reloc(const struct ti_section *s, uint64_t from, uint64_t to);

/* The name of a symbol, or "". */
const char *ti_object_name(const struct ti_object *o, uint32_t symbol);

#endif
