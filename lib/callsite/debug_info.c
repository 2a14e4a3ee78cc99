#include "callsite/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const bool ti_debug_available = true;

/* Limits, since files may be damaged. */
#define FILE_MOST  (INT64_C(16) << 30) /* bytes of a file */
#define DEPTH_MOST 64                  /* of nested entries of debug information */
#define VISIT_MOST 10000000            /* entries to visit for one address */

struct ti_debug {
    int fd;
    Elf *elf;
    Dwarf *dwarf;     /* NULL: no debug information */
    Elf_Scn *symbols; /* the symbol table; NULL: there is none */
    enum ti_debug_detail detail;
};

/* ------------------------------------------------------------------- open -- */

static bool is_readable(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_size <= FILE_MOST;
}

/* Open a regular file; -1 if it is none.  Opening a device may have effects, so the file is looked
 * at before; and it may be replaced meanwhile, so it is opened without waiting and looked at again.
 */
static int open_regular(const char *path)
{
    struct stat st;
    int fd;

    if (stat(path, &st) != 0 || !is_readable(&st))
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !is_readable(&st))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The library cuts long build-ids (minitrace/core/site.c). */
static bool has_build_id(Elf *elf, const char *expected)
{
    const void *id = NULL;
    ssize_t n = dwelf_elf_gnu_build_id(elf, &id);
    char text[48] = "";

    for (ssize_t i = 0; i < n && 2 * i + 2 < (ssize_t)sizeof text; i++)
        snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)id)[i]);
    return strcmp(text, expected) == 0;
}

static void find_symbol_table(struct ti_debug *d)
{
    GElf_Shdr header;

    for (Elf_Scn *s = elf_nextscn(d->elf, NULL); s; s = elf_nextscn(d->elf, s)) {
        enum ti_debug_detail detail;

        if (!gelf_getshdr(s, &header))
            continue;
        detail = header.sh_type == SHT_SYMTAB   ? TI_DEBUG_SYMBOLS
                 : header.sh_type == SHT_DYNSYM ? TI_DEBUG_EXPORTED
                                                : TI_DEBUG_NOTHING;
        if (detail > d->detail) {
            d->detail = detail;
            d->symbols = s;
        }
    }
}

static void find_debug_information(struct ti_debug *d)
{
    Dwarf_Off next;
    size_t header;

    d->dwarf = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
    if (d->dwarf && dwarf_nextcu(d->dwarf, 0, &next, &header, NULL, NULL, NULL) == 0)
        d->detail = TI_DEBUG_LINES;
}

struct ti_debug *ti_debug_open(const char *path, const char *build_id, bool *other_build)
{
    struct ti_debug *d;
    bool same;
    int fd = open_regular(path);

    if (fd < 0)
        return NULL;
    d = calloc(1, sizeof *d);
    if (!d) {
        close(fd);
        return NULL;
    }
    d->fd = fd;
    elf_version(EV_CURRENT);
    d->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf_kind(d->elf) != ELF_K_ELF) {
        ti_debug_close(d);
        return NULL;
    }
    same = has_build_id(d->elf, build_id);
    if (!same) {
        *other_build = true;
        ti_debug_close(d);
        return NULL;
    }
    find_symbol_table(d);
    find_debug_information(d);
    return d;
}

void ti_debug_close(struct ti_debug *d)
{
    if (!d)
        return;
    dwarf_end(d->dwarf);
    elf_end(d->elf);
    close(d->fd);
    free(d);
}

enum ti_debug_detail ti_debug_detail(const struct ti_debug *d)
{
    return d->detail;
}

/* ------------------------------------------------------ debug information -- */

/* The compilation unit of an address.  The index of addresses may lack units: clang writes none. */
static bool find_unit(Dwarf *dwarf, Dwarf_Addr address, Dwarf_Die *unit)
{
    Dwarf_Off at = 0, next;
    size_t header;

    if (dwarf_addrdie(dwarf, address, unit))
        return true;
    for (; dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL) == 0; at = next)
        if (dwarf_offdie(dwarf, at + header, unit) && dwarf_haspc(unit, address) > 0)
            return true;
    return false;
}

/* A search for the innermost function at an address, through a unit's tree of entries. */
struct search {
    Dwarf_Addr address;
    bool everywhere; /* also in entries that do not contain the address themselves */
    int visited;
    bool found;
    Dwarf_Die function;
};

static void search_children(struct search *s, Dwarf_Die *parent, int depth);

static void search_entry(struct search *s, Dwarf_Die *entry, int depth)
{
    int tag = dwarf_tag(entry);
    bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;

    if (is_function || tag == DW_TAG_lexical_block) {
        if (dwarf_haspc(entry, s->address) > 0) {
            if (is_function)
                s->function = *entry;
            s->found = s->found || is_function;
            search_children(s, entry, depth + 1);
            return;
        }
    }
    /* A Fortran procedure that another one contains is its child, but has other addresses. */
    if (s->everywhere &&
        (tag == DW_TAG_subprogram || tag == DW_TAG_module || tag == DW_TAG_namespace ||
         tag == DW_TAG_class_type || tag == DW_TAG_structure_type))
        search_children(s, entry, depth + 1);
}

static void search_children(struct search *s, Dwarf_Die *parent, int depth)
{
    Dwarf_Die entry;

    if (depth == DEPTH_MOST || dwarf_child(parent, &entry) != 0)
        return;
    do
        search_entry(s, &entry, depth);
    while (++s->visited < VISIT_MOST && dwarf_siblingof(&entry, &entry) == 0);
}

static const char *function_at(Dwarf_Die *unit, Dwarf_Addr address)
{
    struct search s = {.address = address};
    Dwarf_Attribute name;

    search_children(&s, unit, 0);
    if (!s.found) {
        s.everywhere = true; /* which takes longer */
        search_children(&s, unit, 0);
    }
    return s.found && dwarf_attr_integrate(&s.function, DW_AT_name, &name) ? dwarf_formstring(&name)
                                                                           : NULL;
}

static void find_line(struct ti_debug *d, Dwarf_Addr address, struct ti_site_line *out)
{
    Dwarf_Die unit;
    Dwarf_Line *line;

    if (!d->dwarf || !find_unit(d->dwarf, address, &unit))
        return;
    out->function = function_at(&unit, address);
    line = dwarf_getsrc_die(&unit, address);
    if (line && dwarf_lineno(line, &out->line) == 0 && out->line > 0)
        out->file = dwarf_linesrc(line, NULL, NULL);
}

/* ---------------------------------------------------------------- symbols -- */

/* The function of a call's last byte, and the offset of the byte after it.  Symbols without a size
 * do not count: an address behind them may be of another function, whose symbol was stripped. */
static void find_symbol(struct ti_debug *d, uint64_t address, struct ti_site_line *out)
{
    GElf_Shdr header;
    Elf_Data *data = d->symbols ? elf_getdata(d->symbols, NULL) : NULL;
    GElf_Sym symbol;

    if (!data || !data->d_buf || !gelf_getshdr(d->symbols, &header))
        return;
    for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
        if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
            address < symbol.st_value || address - symbol.st_value >= symbol.st_size)
            continue;
        out->function = elf_strptr(d->elf, header.sh_link, symbol.st_name);
        out->offset = address + 1 - symbol.st_value;
        return;
    }
}

bool ti_debug_find(struct ti_debug *d, uint64_t address, struct ti_site_line *out)
{
    *out = (struct ti_site_line){0};
    if (address == 0)
        return false;
    /* The instruction after a call may be of another line, or of another function. */
    find_line(d, address - 1, out);
    if (!out->file || !out->function)
        find_symbol(d, address - 1, out);
    if (out->file)
        out->offset = 0;
    else
        out->line = 0;
    return out->function || out->file;
}
