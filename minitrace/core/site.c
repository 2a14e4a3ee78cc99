/*
 * Call sites: the return address of the application's call, as module, offset and build-id, which
 * mean the same in every process and run.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "minitrace/core/state.h"

/* A cache of call sites.  When it is full, it is emptied, and sites met again get a new number:
 * this bounds memory and loses nothing.  But a loop over more sites than fit would write a site
 * with every event.  So after EMPTIED_MAX times the cache stays as it is, and sites not in it are
 * number 0, unknown. */
#define SLOTS       256 /* power of two */
#define EMPTIED_MAX 16

static struct {
    const void *address;
    uint32_t number;
} site[SLOTS];
static int sites;

struct search {
    uintptr_t address;
    char text[512];
};

static void build_id(const struct dl_phdr_info *info, char *out, size_t bytes)
{
    out[0] = '\0';
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        const char *p, *end;

        if (ph->p_type != PT_NOTE)
            continue;
        p = (const char *)(info->dlpi_addr + ph->p_vaddr);
        end = p + ph->p_memsz;
        while (end - p >= (long)sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const void *)p;
            const char *name = p + sizeof *note;
            const uint8_t *id = (const uint8_t *)name + ((note->n_namesz + 3) & ~3u);

            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4)) {
                for (size_t k = 0; k < note->n_descsz && 2 * k + 2 < bytes; k++)
                    snprintf(out + 2 * k, 3, "%02x", id[k]);
                return;
            }
            p = (const char *)id + ((note->n_descsz + 3) & ~3u);
        }
    }
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + ph->p_vaddr;
        const char *name = info->dlpi_name, *slash;
        char id[48];

        if (ph->p_type != PT_LOAD || s->address < start || s->address >= start + ph->p_memsz)
            continue;
        slash = strrchr(name, '/');
        build_id(info, id, sizeof id);
        snprintf(s->text, sizeof s->text, "%s+0x%lx%s%s%s",
                 slash     ? slash + 1
                 : name[0] ? name
                           : program_invocation_short_name,
                 (unsigned long)(s->address - info->dlpi_addr), id[0] ? " [" : "", id,
                 id[0] ? "]" : "");
        return 1;
    }
    return 0;
}

static unsigned slot_of(uintptr_t a)
{
    return (unsigned)((a ^ a >> 9) * 0x9e3779b1u >> 16) & (SLOTS - 1);
}

/* Not inlined: ti_site() would clear struct search for every event. */
static __attribute__((noinline)) uint32_t introduce(const void *address, unsigned slot)
{
    static int emptied;
    struct search s = {(uintptr_t)address, ""};
    int saved = errno;

    if (sites == SLOTS * 3 / 4 && emptied == EMPTIED_MAX)
        return 0;
    if (dl_iterate_phdr(look, &s) == 0)
        snprintf(s.text, sizeof s.text, "unknown module");
    if (sites == SLOTS * 3 / 4) {
        memset(site, 0, sizeof site);
        sites = 0;
        emptied++;
        slot = slot_of(s.address);
    }
    sites++;
    site[slot].address = address;
    site[slot].number = ti_writer_string(ti_state.writer, TI_STRING_SITE, s.text);
    errno = saved;
    return site[slot].number;
}

uint32_t ti_site(const void *address)
{
    unsigned slot = slot_of((uintptr_t)address);

    if (!address) /* an event of the library's own */
        return 0;
    for (; site[slot].address; slot = (slot + 1) & (SLOTS - 1))
        if (site[slot].address == address)
            return site[slot].number;
    return introduce(address, slot);
}
