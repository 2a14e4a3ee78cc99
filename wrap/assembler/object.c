#include "wrap/assembler/object.h"

#include <stdlib.h>
#include <string.h>

#include "common/order.h"
#include "common/write.h"

static const void *part(const struct ti_object *o, uint64_t at, uint64_t bytes)
{
    return at <= o->bytes && bytes <= o->bytes - at ? o->file + at : NULL;
}

/* The same for arrays of 8-byte words. */
static const void *words(const struct ti_object *o, uint64_t at, uint64_t bytes)
{
    return at % 8 == 0 ? part(o, at, bytes) : NULL;
}

TI_ORDER_BY(by_offset, struct ti_reloc, offset)

/* Read the map of statements.  A relocation names a section by its symbol, or a symbol in it. */
static void read_map(struct ti_object *o, const Elf64_Rela *rela, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = rela[i].r_offset / 8, sym = ELF64_R_SYM(rela[i].r_info);
        struct ti_code_range *p;
        uint64_t address;

        if (k / 3 >= o->nplaces || sym >= o->nsymbols)
            continue;
        p = &o->places[k / 3];
        address = o->symbols[sym].st_value + (uint64_t)rela[i].r_addend;
        if (o->symbols[sym].st_shndx >= o->nsections ||
            !o->sections[o->symbols[sym].st_shndx].bytes)
            continue;
        if (k % 3 && p->section != o->symbols[sym].st_shndx) {
            p->section = 0;
            o->torn = true;
            continue;
        }
        p->section = o->symbols[sym].st_shndx;
        *(k % 3 == 0 ? &p->from : k % 3 == 1 ? &p->at : &p->to) = address;
    }
}

/* The section headers of the file, and their number; NULL if it is not an ELF object for x86-64. */
static const Elf64_Shdr *section_headers(const struct ti_object *o, size_t *n)
{
    const Elf64_Ehdr *eh = part(o, 0, sizeof(*eh));
    const Elf64_Shdr *sh;

    if (!eh || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 || eh->e_ident[EI_CLASS] != ELFCLASS64 ||
        eh->e_machine != EM_X86_64 || eh->e_shentsize != sizeof(*sh))
        return NULL;
    sh = words(o, eh->e_shoff, sizeof(*sh));
    if (!sh)
        return NULL;
    *n = eh->e_shnum ? eh->e_shnum : sh->sh_size;
    return *n <= o->bytes && part(o, eh->e_shoff, *n * sizeof(*sh)) ? sh : NULL;
}

/* The header of the section that has the names of sections; NULL if it is not valid. */
static const Elf64_Shdr *name_section(const struct ti_object *o, const Elf64_Shdr *sh, size_t n)
{
    const Elf64_Ehdr *eh = part(o, 0, sizeof(*eh));
    const Elf64_Shdr *names = &sh[eh->e_shstrndx == SHN_XINDEX ? sh->sh_link : eh->e_shstrndx];

    return names < sh + n && part(o, names->sh_offset, names->sh_size) ? names : NULL;
}

/* Fill o->sections and o->numbers.  Sets *map to ELF's number of TI_OBJECT_MAP, 0 if there is
 * none.  False if there are more sections than a 16-bit number can name. */
static bool read_sections(struct ti_object *o, const Elf64_Shdr *sh, size_t n,
                          const Elf64_Shdr *names, size_t *map)
{
    size_t numbers = 0;

    o->sections = ti_blocks_zero(n, sizeof(*o->sections));
    o->nsections = n;
    o->numbers = ti_blocks_zero(n, sizeof(*o->numbers));
    *map = 0;
    for (size_t i = 1; i < n; i++) {
        struct ti_section *s;

        if (sh[i].sh_type == SHT_RELA)
            continue;
        o->numbers[i] = (uint16_t)++numbers;
        s = &o->sections[numbers];
        if (sh[i].sh_name < names->sh_size &&
            memchr(o->file + names->sh_offset + sh[i].sh_name, 0, names->sh_size - sh[i].sh_name))
            s->name = (const char *)o->file + names->sh_offset + sh[i].sh_name;
        if (sh[i].sh_type == SHT_PROGBITS && sh[i].sh_flags & SHF_EXECINSTR) {
            s->bytes = part(o, sh[i].sh_offset, sh[i].sh_size);
            s->size = sh[i].sh_size;
        }
        if (s->name && strcmp(s->name, TI_OBJECT_MAP) == 0)
            *map = i;
        if (sh[i].sh_type == SHT_SYMTAB_SHNDX)
            return false;
    }
    return true;
}

/* Fill o->symbols and o->names; the symbols get our section numbers.  False if the object is not
 * valid. */
static bool read_symbols(struct ti_object *o, const Elf64_Shdr *sh, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (sh[i].sh_type == SHT_SYMTAB && sh[i].sh_link < n) {
            const Elf64_Shdr *str = &sh[sh[i].sh_link];
            const void *symbols = words(o, sh[i].sh_offset, sh[i].sh_size);

            if (!symbols || o->symbols)
                return false;
            o->nsymbols = sh[i].sh_size / sizeof(Elf64_Sym);
            o->symbols = ti_blocks_grow(NULL, o->nsymbols + 1, sizeof(Elf64_Sym));
            memcpy(o->symbols, symbols, o->nsymbols * sizeof(Elf64_Sym));
            for (size_t k = 0; k < o->nsymbols; k++)
                if (o->symbols[k].st_shndx < n)
                    o->symbols[k].st_shndx = o->numbers[o->symbols[k].st_shndx];
            o->names = part(o, str->sh_offset, str->sh_size);
            o->names_bytes = o->names ? str->sh_size : 0;
        }
    return true;
}

/* Read the map, and fill the relocations of code sections.  False if the object is not valid. */
static bool read_relocations(struct ti_object *o, const Elf64_Shdr *sh, size_t n, size_t map)
{
    for (size_t i = 1; i < n; i++) {
        const Elf64_Rela *rela;
        struct ti_section *s;
        size_t k;

        if (sh[i].sh_type != SHT_RELA || sh[i].sh_info >= n)
            continue;
        rela = words(o, sh[i].sh_offset, sh[i].sh_size);
        k = sh[i].sh_size / sizeof(*rela);
        if (!rela)
            return false;
        if (map && sh[i].sh_info == map)
            read_map(o, rela, k);
        s = &o->sections[o->numbers[sh[i].sh_info]];
        if (!s->bytes)
            continue;
        s->relocs = ti_blocks_grow(s->relocs, k + 1, sizeof(*s->relocs));
        s->nrelocs = k;
        for (size_t j = 0; j < k; j++)
            s->relocs[j] = (struct ti_reloc){rela[j].r_offset, ELF64_R_TYPE(rela[j].r_info),
                                             ELF64_R_SYM(rela[j].r_info), rela[j].r_addend};
        qsort(s->relocs, k, sizeof(*s->relocs), by_offset);
    }
    return true;
}

static ti_status parse(struct ti_object *o, const char *path, struct ti_err *err)
{
    size_t n, map;
    const Elf64_Shdr *sh = section_headers(o, &n);
    const Elf64_Shdr *names = sh ? name_section(o, sh, n) : NULL;

    if (names && !read_sections(o, sh, n, names, &map))
        return ti_err_set(err, TI_ERR_INPUT, "more than %d sections", SHN_LORESERVE);
    if (names && read_symbols(o, sh, n) && read_relocations(o, sh, n, map))
        return TI_OK;
    return ti_err_set(err, TI_ERR_INPUT, "'%s' is not an ELF object for x86-64", path);
}

ti_status ti_object_read(struct ti_object *out, const char *path, size_t nplaces,
                         struct ti_err *err)
{
    *out = (struct ti_object){.nplaces = nplaces};
    out->places = ti_blocks_zero(nplaces + 1, sizeof(*out->places));
    out->file = (void *)ti_read_file(path, SIZE_MAX, &out->bytes);
    return out->file ? parse(out, path, err)
                     : ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
}

void ti_object_free(struct ti_object *o)
{
    for (size_t i = 0; i < o->nsections; i++)
        free(o->sections[i].relocs);
    free(o->sections);
    free(o->numbers);
    free(o->symbols);
    free(o->places);
    free(o->file);
    *o = (struct ti_object){0};
}

const struct ti_reloc *ti_object_reloc(const struct ti_section *s, uint64_t from, uint64_t to)
{
    size_t i;

    TI_FIRST(i, 0, s->nrelocs, s->relocs[i].offset < from);
    return i < s->nrelocs && s->relocs[i].offset < to ? &s->relocs[i] : NULL;
}

const char *ti_object_name(const struct ti_object *o, uint32_t symbol)
{
    uint32_t at;

    if (symbol >= o->nsymbols)
        return "";
    at = o->symbols[symbol].st_name;
    return at < o->names_bytes && memchr(o->names + at, 0, o->names_bytes - at) ? o->names + at : "";
}
