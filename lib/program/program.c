#include "program/program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/beside.h"

#define PHDRS_MAX   256
#define NEEDED_MAX  64
#define DYNAMIC_MAX (1 << 16)
#define STRINGS_MAX (16 << 20)
#define DEPTH_MAX   6
#define SEEN_MAX    256

#if __SIZEOF_POINTER__ == 8
#define OUR_CLASS ELFCLASS64
#else
#define OUR_CLASS ELFCLASS32
#endif

const char *const ti_mpi_kind_names[TI_MPI_KINDS] = {
    [TI_MPI_OPEN] = "openmpi", [TI_MPI_MPICH] = "mpich",     [TI_MPI_OTHER] = "other",
    [TI_MPI_NONE] = "none",    [TI_MPI_UNKNOWN] = "unknown", [TI_MPI_STATIC] = "static"};

/* --- finding ------------------------------------------------------------- */

static ti_status not_found(const char *given, struct ti_err *err)
{
    struct stat st;

    if (stat(given, &st) < 0) {
        if (strchr(given, '/'))
            return ti_err_errno(err, TI_ERR_INPUT, "cannot find the program '%s'", given);
        return ti_err_set(err, TI_ERR_INPUT, "cannot find the program '%s' on PATH", given);
    }
    if (S_ISDIR(st.st_mode))
        return ti_err_set(err, TI_ERR_INPUT, "the program '%s' is a directory", given);
    if (access(given, X_OK) < 0) {
        ti_err_set(err, TI_ERR_INPUT, "the program '%s' is not executable", given);
        ti_err_hint(err, "chmod +x %s", given);
        return TI_ERR_INPUT;
    }
    ti_err_set(err, TI_ERR_INPUT, "cannot find the program '%s' on PATH", given);
    ti_err_hint(err, "for the one in this directory, write ./%s", given);
    return TI_ERR_INPUT;
}

/* --- ELF ----------------------------------------------------------------- */

/* An ELF file of our class: its loadable segments and its dynamic section. */
struct elf {
    int fd;
    ElfW(Ehdr) head;
    ElfW(Phdr) segment[PHDRS_MAX];
    char *strings; /* the string table; a NUL was added */
    size_t strings_bytes;
    bool interpreted; /* names a loader */
    bool dynamic;
    int needed;
    const char *need[NEEDED_MAX];
    const char *path[2]; /* DT_RPATH, DT_RUNPATH */
};

static bool read_at(int fd, void *buf, size_t bytes, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, buf, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* File offset of the `bytes` bytes that are loaded at `addr`, in one segment. */
static bool file_offset(const struct elf *e, uint64_t addr, uint64_t bytes, uint64_t *out)
{
    for (int i = 0; i < e->head.e_phnum; i++) {
        const ElfW(Phdr) *ph = &e->segment[i];

        if (ph->p_type == PT_LOAD && addr >= ph->p_vaddr && addr - ph->p_vaddr <= ph->p_filesz &&
            bytes <= ph->p_filesz - (addr - ph->p_vaddr)) {
            *out = ph->p_offset + (addr - ph->p_vaddr);
            return true;
        }
    }
    return false;
}

static const char *string_at(const struct elf *e, uint64_t at)
{
    return at < e->strings_bytes ? e->strings + at : "";
}

static bool read_dynamic(struct elf *e, const ElfW(Phdr) * ph)
{
    size_t n = ph->p_filesz / sizeof(ElfW(Dyn));
    ElfW(Dyn) *dyn = NULL;
    uint64_t table = 0, bytes = 0, offset;
    bool ok = false;

    if (ph->p_filesz > DYNAMIC_MAX)
        return false;
    dyn = malloc(ph->p_filesz + 1);
    if (!dyn || !read_at(e->fd, dyn, ph->p_filesz, ph->p_offset))
        goto out;
    for (size_t i = 0; i < n && dyn[i].d_tag != DT_NULL; i++) {
        if (dyn[i].d_tag == DT_STRTAB)
            table = dyn[i].d_un.d_ptr;
        if (dyn[i].d_tag == DT_STRSZ)
            bytes = dyn[i].d_un.d_val;
    }
    if (!bytes || bytes > STRINGS_MAX || !file_offset(e, table, bytes, &offset))
        goto out;
    e->strings = malloc(bytes + 1);
    if (!e->strings || !read_at(e->fd, e->strings, bytes, offset))
        goto out;
    e->strings[bytes] = '\0';
    e->strings_bytes = bytes;
    for (size_t i = 0; i < n && dyn[i].d_tag != DT_NULL; i++) {
        const char *text = string_at(e, dyn[i].d_un.d_val);

        if (dyn[i].d_tag == DT_NEEDED && e->needed < NEEDED_MAX)
            e->need[e->needed++] = text;
        if (dyn[i].d_tag == DT_RPATH)
            e->path[0] = text;
        if (dyn[i].d_tag == DT_RUNPATH)
            e->path[1] = text;
    }
    ok = true;
out:
    free(dyn);
    return ok;
}

/* False if it is no ELF file of this machine, or malformed. */
static bool elf_read(int fd, struct elf *e)
{
    memset(e, 0, sizeof *e);
    e->fd = fd;
    if (!read_at(fd, &e->head, sizeof e->head, 0) ||
        memcmp(e->head.e_ident, ELFMAG, SELFMAG) != 0 || e->head.e_ident[EI_CLASS] != OUR_CLASS ||
        e->head.e_phentsize != sizeof *e->segment || e->head.e_phnum > PHDRS_MAX ||
        !read_at(fd, e->segment, e->head.e_phnum * sizeof *e->segment, e->head.e_phoff))
        return false;
    for (int i = 0; i < e->head.e_phnum; i++) {
        if (e->segment[i].p_type == PT_INTERP)
            e->interpreted = true;
        if (e->segment[i].p_type == PT_DYNAMIC && !e->dynamic)
            e->dynamic = read_dynamic(e, &e->segment[i]);
    }
    return true;
}

/* --- is it MPI? ---------------------------------------------------------- */

/* libmpi.so.40 is Open MPI; MPICH has libmpi.so.12 or, in Debian, libmpich.  Some derivatives have
 * these names, too: then the launcher that is found says whose it is. */
static enum ti_mpi_kind mpi_kind(const char *soname)
{
    static const struct {
        const char *begins;
        enum ti_mpi_kind kind;
    } known[] = {{"libmpich", TI_MPI_MPICH},     {"libmpifort", TI_MPI_MPICH},
                 {"libmpicxx.so", TI_MPI_MPICH}, {"libmpi_intel", TI_MPI_OTHER},
                 {"libmpi_mt.so", TI_MPI_OTHER}, {"libmvapich", TI_MPI_OTHER}};
    int major;

    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(soname, known[i].begins, strlen(known[i].begins)) == 0)
            return known[i].kind;
    if (sscanf(soname, "libmpi.so.%d", &major) == 1)
        return major == 12 ? TI_MPI_MPICH : TI_MPI_OPEN;
    if (strncmp(soname, "libmpi_", 7) == 0 || strncmp(soname, "libmpi.so", 9) == 0)
        return TI_MPI_OPEN;
    return TI_MPI_NONE;
}

static bool has_standard_abi(const char *soname)
{
    return strncmp(soname, "libmpi_abi.so", 13) == 0;
}

struct search {
    char *seen[SEEN_MAX];
    int nseen;
    char library[64];
};

static enum ti_mpi_kind look(int fd, const char *path, int depth, struct search *s);

/* Open `soname` in the directories of `list`, $ORIGIN being that of `from`. */
static int open_in(const char *list, const char *soname, const char *from, char *path)
{
    const char *slash = strrchr(from, '/');
    int here = slash ? (int)(slash - from) : 1;

    for (const char *end; list && *list; list = *end ? end + 1 : end) {
        int len, fd;

        end = list + strcspn(list, ":");
        len = (int)(end - list);
        if (strncmp(list, "$ORIGIN", 7) == 0)
            snprintf(path, PATH_MAX, "%.*s%.*s/%s", here, slash ? from : ".", len - 7, list + 7,
                     soname);
        else if (strncmp(list, "${ORIGIN}", 9) == 0)
            snprintf(path, PATH_MAX, "%.*s%.*s/%s", here, slash ? from : ".", len - 9, list + 9,
                     soname);
        else
            snprintf(path, PATH_MAX, "%.*s/%s", len, list, soname);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

static int open_library(const struct elf *e, const char *soname, const char *from, char *path)
{
    static const char usual[] =
#ifdef __x86_64__
        "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
#elif defined __aarch64__
        "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
#endif
        "/usr/local/lib:/lib64:/usr/lib64:/lib:/usr/lib";
    int fd;

    if (strchr(soname, '/')) {
        snprintf(path, PATH_MAX, "%s", soname);
        return open(path, O_RDONLY | O_CLOEXEC);
    }
    fd = open_in(e->path[0], soname, from, path);
    if (fd < 0)
        fd = open_in(getenv("LD_LIBRARY_PATH"), soname, from, path);
    if (fd < 0)
        fd = open_in(e->path[1], soname, from, path);
    if (fd < 0)
        fd = open_in(usual, soname, from, path);
    return fd;
}

/* Whether `soname` is met for the first time. */
static bool is_new(struct search *s, const char *soname)
{
    for (int i = 0; i < s->nseen; i++)
        if (strcmp(s->seen[i], soname) == 0)
            return false;
    if (s->nseen == SEEN_MAX || !(s->seen[s->nseen] = strdup(soname)))
        return false;
    s->nseen++;
    return true;
}

/* Whose library `soname`, of the standard ABI, is.  If it is not found here, Open MPI's. */
static enum ti_mpi_kind behind_abi(const struct elf *e, const char *soname, const char *path)
{
    enum ti_mpi_kind kind = TI_MPI_OPEN;
    char file[PATH_MAX];
    int fd = open_library(e, soname, path, file);
    struct elf lib;

    if (fd < 0)
        return kind;
    if (elf_read(fd, &lib)) {
        kind = TI_MPI_MPICH;
        for (int i = 0; i < lib.needed; i++)
            if (strncmp(lib.need[i], "libopen", 7) == 0) /* libopen_mpi, libopen-pal */
                kind = TI_MPI_OPEN;
        free(lib.strings);
    }
    close(fd);
    return kind;
}

/* Search the needed libraries, depth first; those that are not found are skipped. */
static enum ti_mpi_kind look_needed(const struct elf *e, const char *path, int depth,
                                    struct search *s)
{
    for (int i = 0; i < e->needed; i++) {
        enum ti_mpi_kind kind = mpi_kind(e->need[i]);

        if (kind != TI_MPI_NONE) {
            snprintf(s->library, sizeof s->library, "%s", e->need[i]);
            return has_standard_abi(e->need[i]) ? behind_abi(e, e->need[i], path) : kind;
        }
    }
    for (int i = 0; depth < DEPTH_MAX && i < e->needed; i++) {
        char lib[PATH_MAX];
        enum ti_mpi_kind kind = TI_MPI_NONE;
        int fd = is_new(s, e->need[i]) ? open_library(e, e->need[i], path, lib) : -1;

        if (fd < 0)
            continue;
        kind = look(fd, lib, depth + 1, s);
        close(fd);
        if (kind == TI_MPI_OPEN || kind == TI_MPI_MPICH || kind == TI_MPI_OTHER)
            return kind;
    }
    return TI_MPI_NONE;
}

static enum ti_mpi_kind look(int fd, const char *path, int depth, struct search *s)
{
    enum ti_mpi_kind kind = TI_MPI_UNKNOWN;
    struct elf *e = malloc(sizeof *e);

    if (e && elf_read(fd, e)) {
        if (e->dynamic)
            kind = look_needed(e, path, depth, s);
        if (depth == 0 && !e->interpreted)
            kind = TI_MPI_STATIC;
    }
    if (e)
        free(e->strings);
    free(e);
    return kind;
}

/* --- OpenMP -------------------------------------------------------------- */

/* OpenMP runtimes of gcc, clang, Intel, NVIDIA, Cray and Arm. */
static bool is_openmp(const char *library)
{
    static const char *const names[] = {"libgomp.so",  "libomp.so",    "libiomp5.so",
                                        "libnvomp.so", "libcraymp.so", "libarmomp.so"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(library, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool needs_openmp(int fd)
{
    struct elf e;
    bool found = false;

    if (!elf_read(fd, &e))
        return false;
    for (int i = 0; !found && i < e.needed; i++)
        found = is_openmp(e.need[i]);
    free(e.strings);
    return found;
}

/* --- was it compiled with ti-mpicc? -------------------------------------- */

/* Whether tiara_blocks is among the symbols that it defines or needs. */
static bool names_blocks(const struct elf *e)
{
    static const char name[] = "\0tiara_blocks"; /* with the NUL before it: a whole name */

    return e->strings && memmem(e->strings, e->strings_bytes + 1, name, sizeof name);
}

static bool counts_blocks(int fd, const char *path)
{
    struct elf *e = malloc(2 * sizeof *e), *lib = e + 1;
    bool found = false;
    char file[PATH_MAX];

    if (!e)
        return false;
    if (!elf_read(fd, e))
        e->needed = 0;
    found = names_blocks(e);
    for (int i = 0; !found && i < e->needed; i++) {
        int f = open_library(e, e->need[i], path, file);

        if (f < 0)
            continue;
        found = elf_read(f, lib) && names_blocks(lib);
        free(lib->strings);
        close(f);
    }
    free(e->strings);
    free(e);
    return found;
}

static void inspect(struct ti_program *p)
{
    struct search s = {.nseen = 0};
    int fd = open(p->path, O_RDONLY | O_CLOEXEC);
    char magic[SELFMAG];
    struct stat st;

    p->mpi = TI_MPI_UNKNOWN;
    if (fd < 0)
        return; /* executable, but not readable */
    p->is_elf = read_at(fd, magic, SELFMAG, 0) && memcmp(magic, ELFMAG, SELFMAG) == 0;
    p->mpi = look(fd, p->path, 0, &s);
    p->openmp = needs_openmp(fd);
    p->blocks = counts_blocks(fd, p->path);
    if (p->is_elf && fstat(fd, &st) == 0)
        p->setid = (st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
                   (st.st_mode & S_ISGID && st.st_gid != getegid());
    snprintf(p->library, sizeof p->library, "%s", s.library);
    p->standard_abi = has_standard_abi(s.library);
    for (int i = 0; i < s.nseen; i++)
        free(s.seen[i]);
    close(fd);
}

ti_status ti_program_find(const char *given, struct ti_program *p, struct ti_err *err)
{
    char path[PATH_MAX];
    const char *slash;

    memset(p, 0, sizeof *p);
    if (!*given)
        return ti_err_set(err, TI_ERR_USAGE, "the program's name is empty");
    if (strlen(given) >= PATH_MAX - 1)
        return ti_err_set(err, TI_ERR_USAGE, "the program's name is too long");
    if (!ti_find_on_path(given, path))
        return not_found(given, err);
    p->given = strdup(given);
    p->path = strdup(path);
    if (!p->given || !p->path)
        return ti_err_errno(err, TI_ERR_IO, "cannot look at '%s'", given);
    slash = strrchr(p->path, '/');
    p->name = slash ? slash + 1 : p->path;
    inspect(p);
    if (p->mpi == TI_MPI_STATIC) {
        ti_err_set(err, TI_ERR_INPUT, "'%s' is statically linked, so it cannot be traced", given);
        ti_err_hint(err,
                    "the tracing library is preloaded, which needs a dynamically linked program");
        return TI_ERR_INPUT;
    }
    if (p->mpi == TI_MPI_OTHER) {
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s' is linked with '%s', which is not Open MPI's or MPICH's", given,
                   p->library);
        ti_err_hint(err, "build it with the mpicc or mpifort of Open MPI or MPICH");
        return TI_ERR_INPUT;
    }
    return TI_OK;
}

ti_status ti_program_elsewhere(const char *given, struct ti_program *p, struct ti_err *err)
{
    const char *slash = strrchr(given, '/');

    memset(p, 0, sizeof *p);
    if (!*given || (slash && !slash[1]))
        return ti_err_set(err, TI_ERR_USAGE, "'%s' is no program's name", given);
    p->given = strdup(given);
    if (!p->given)
        return ti_err_errno(err, TI_ERR_IO, "cannot look at '%s'", given);
    slash = strrchr(p->given, '/');
    p->name = slash ? slash + 1 : p->given;
    p->mpi = TI_MPI_UNKNOWN;
    return TI_OK;
}

bool ti_mpich_version(const char *text, char *number, size_t bytes)
{
    const char *p = strstr(text, "HYDRA build details");

    p = p ? strstr(p, "Version:") : NULL;
    if (!p)
        return false;
    p += 8 + strspn(p + 8, " ");
    snprintf(number, bytes, "%.*s", (int)strcspn(p, " \n"), p);
    return *number != '\0';
}

void ti_program_free(struct ti_program *p)
{
    free(p->given);
    free(p->path);
    memset(p, 0, sizeof *p);
}
