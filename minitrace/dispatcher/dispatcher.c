/* Decides where the stubs lead: finds the MPI library, loads its back end, and fills the table. */
#include "minitrace/dispatcher/dispatcher.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TI_VERSION
#define TI_VERSION "0.1.0"
#endif

/* In .data instead of .bss: on one page with the slots of MPI's C functions. */
#define BESIDE_SLOTS __attribute__((section(".data")))

/* dispatcher_stubs.S */
#define SLOTS (TI_LEAVE_KINDS + 2 * TI_NAMES)
extern uintptr_t ti_dispatch_slot[SLOTS] __attribute__((visibility("hidden")));
extern const char ti_dispatch_stubs_begin[],
    ti_dispatch_stubs_end[] __attribute__((visibility("hidden")));
extern const char ti_dispatch_second_half[][16] __attribute__((visibility("hidden")));
void ti_dispatch_calibration_0(void) __attribute__((visibility("hidden")));
void ti_dispatch_calibration_1(void) __attribute__((visibility("hidden")));
void ti_dispatch_calibration_2(void) __attribute__((visibility("hidden")));
void ti_dispatch_calibration_3(void) __attribute__((visibility("hidden")));
void *ti_dispatch_resolve(size_t slot, const void *caller);

/* dlsym() is replaced too, in dispatcher_stubs.S */
typedef void *dlsym_function(void *handle, const char *name);
dlsym_function *ti_dispatch_system_dlsym __attribute__((visibility("hidden"))) BESIDE_SLOTS;
dlsym_function *ti_dispatch_find_dlsym(void);
void *ti_dispatch_dlsym(void *handle, const char *name);

#define NAME_BYTES 64 /* longer than any name with a P */

/* All names, in the order of their numbers, each with its NUL. */
static const char names[] =
#define NAME(mpi, pmpi) #mpi "\0"
#include "minitrace/mpi_names.inc"
#undef NAME
    ;

static enum {
    UNDECIDED,
    DECIDING,
    TRACING,  /* the back end is loaded */
    DISABLED, /* calls go where they would without the library */
} mode BESIDE_SLOTS;
/* bit k % 8 of byte k / 8 is set if the k-th name is resolved; atomic */
static uint8_t resolved[(TI_NAMES + 7) / 8] BESIDE_SLOTS;
/* TIARA_MODE=whole: only Init, Finalize and Abort have shims */
static bool whole_mode BESIDE_SLOTS;
/* two MPI libraries: the target of a call depends on the caller */
static bool ambiguous BESIDE_SLOTS;
static struct ti_mpi_backend *backend BESIDE_SLOTS;
/* read the counter before each shim; NULL: not needed; atomic */
static void (*reading)(void) BESIDE_SLOTS;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* handle for dlsym(): the MPI library and its dependencies */
static void *mpi BESIDE_SLOTS;

/* Working directory at start, with a '/', if the library was loaded by a relative name.  It is the
 * last page of .data, because loaders write to that page where it is shared with .bss. */
static char started_in[PATH_MAX] __attribute__((section(".data.sparse"), aligned(PATH_MAX)));

/* ---------------------------------------------------------------- dlsym -- */

dlsym_function *ti_dispatch_find_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    dlsym_function *found = NULL;

    for (size_t i = 0; i < sizeof versions / sizeof *versions && !found; i++)
        found = (dlsym_function *)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    ti_dispatch_system_dlsym = found;
    return found;
}

static void *look_up(void *handle, const char *name)
{
    dlsym_function *system = ti_dispatch_system_dlsym;

    return (system ? system : ti_dispatch_find_dlsym())(handle, name);
}

/* ------------------------------------------------------------- speaking -- */

/* Whether this process prints messages: rank 0, or every process if no launcher says its rank. */
static bool speaks(void)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const char *rank = getenv(ranks[i]);

        if (rank)
            return strcmp(rank, "0") == 0;
    }
    return true;
}

static void write_line(const char *fmt, va_list ap)
{
    char line[PATH_MAX + 256] = "tiara: ";
    size_t n = strlen(line);

    vsnprintf(line + n, sizeof line - n - 1, fmt, ap);
    n = strlen(line);
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, n) < 0)
        return; /* there is nowhere to report this */
}

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
    va_list ap;

    if (!speaks())
        return;
    va_start(ap, fmt);
    write_line(fmt, ap);
    va_end(ap);
}

/* ------------------------------------------------------ the MPI library -- */

enum kind { OPENMPI, MPICH, STANDARD_ABI, KINDS };

static const char *const kind_names[KINDS] = {"Open MPI", "MPICH", "the standard ABI"};

static const struct {
    const char *soname, *backend;
    enum kind kind;
} libraries[] = {
    {"libmpi.so.40", "libminitrace-openmpi.so", OPENMPI},
    {"libmpich.so.12", "libminitrace-mpich.so", MPICH},       /* Debian's name */
    {"libmpi.so.12", "libminitrace-mpich.so", MPICH},         /* any library with MPICH's ABI */
    {"libmpi_abi.so.1", "libminitrace-abi.so", STANDARD_ABI}, /* that of MPI-5 */
};

struct found {
    const char *backend[KINDS];
    const char *path; /* of the last library found */
};

/* The object's DT_SONAME, or else the last part of its file name. */
static const char *soname_of(const struct dl_phdr_info *info)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    const ElfW(Dyn) *dynamic = NULL;
    const char *strings = NULL;
    size_t soname = 0;

    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_SONAME)
            soname = dynamic->d_un.d_val;
        if (dynamic->d_tag == DT_STRTAB) /* the loader relocates the address in most cases */
            strings = (const char *)(dynamic->d_un.d_ptr < info->dlpi_addr
                                         ? info->dlpi_addr + dynamic->d_un.d_ptr
                                         : dynamic->d_un.d_ptr);
    }
    if (soname && strings)
        return strings + soname;
    return slash ? slash + 1 : info->dlpi_name;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct found *found = arg;
    const char *soname;

    (void)size;
    if (!info->dlpi_name[0] || !strstr(info->dlpi_name, "mpi"))
        return 0;
    soname = soname_of(info);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strcmp(soname, libraries[i].soname) == 0) {
            found->backend[libraries[i].kind] = libraries[i].backend;
            found->path = info->dlpi_name; /* valid while the library is loaded */
        }
    return 0;
}

/* -------------------------------------------------------------- backend -- */

/* Replace the last part of a file's name, in a buffer of PATH_MAX bytes; false if it does not fit.
 */
static bool replace_last(char *file, const char *name)
{
    char *slash = strrchr(file, '/'), *last = slash ? slash + 1 : file;
    size_t room = PATH_MAX - (size_t)(last - file);

    return snprintf(last, room, "%s", name) < (int)room;
}

/* The back end's file: in the dispatcher's folder or, if that is a symbolic link, in the folder of
 * its target. */
static bool find_backend(const char *name, char *path)
{
    char target[PATH_MAX];
    Dl_info self;

    if (!dladdr(ti_dispatch_stubs_begin, &self) ||
        snprintf(path, PATH_MAX, "%s%s", self.dli_fname[0] == '/' ? "" : started_in,
                 self.dli_fname) >= PATH_MAX ||
        !realpath(path, target))
        return false;
    if (replace_last(path, name) && access(path, F_OK) == 0)
        return true;
    strcpy(path, target);
    return replace_last(path, name) && access(path, F_OK) == 0;
}

static struct ti_mpi_backend *load(const char *name)
{
    char path[PATH_MAX];
    struct ti_mpi_backend *f;
    void *handle;

    if (!find_backend(name, path)) {
        say("nothing is recorded: the program's MPI library takes '%s', which is not beside "
            "libminitrace.so",
            name);
        return NULL;
    }
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        say("nothing is recorded: %s", dlerror());
        return NULL;
    }
    f = look_up(handle, "ti_mpi_backend");
    if (f && strcmp(f->version, TI_VERSION) == 0 && f->names == TI_NAMES)
        return f;
    say("nothing is recorded: '%s' and libminitrace.so are of different builds", path);
    return NULL;
}

/* ---------------------------------------------------------------- table -- */

/* The definition that the caller's object is linked with, if it is not in the global scope:
 * plug-ins and Python modules have scopes of their own. */
static void *find_for(const void *caller, const char *name)
{
    Dl_info info;
    void *object, *found;

    if (!caller || !dladdr(caller, &info))
        return NULL;
    object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!object)
        return NULL;
    found = look_up(object, name);
    dlclose(object);
    return found;
}

/* The definition that a call of `name` by `caller` reaches after the dispatcher. */
static void *find_next(const char *name, const void *caller)
{
    void *found = ambiguous ? find_for(caller, name) : NULL;

    if (!found)
        found = look_up(RTLD_NEXT, name);
    if (!found && mpi)
        found = look_up(mpi, name);
    return found ? found : find_for(caller, name);
}

/* The MPI library's own definition. */
static void *find_real(const char *name, const void *caller)
{
    void *found = mpi ? look_up(mpi, name) : NULL;

    return found ? found : find_next(name, caller);
}

static bool is_stub(const void *address)
{
    return (const char *)address >= ti_dispatch_stubs_begin &&
           (const char *)address < ti_dispatch_stubs_end;
}

/* Whether a tool in front of the dispatcher defines `name`.  `next` is the next definition. */
static bool is_taken(const char *name, const void *next)
{
    const void *first = look_up(RTLD_DEFAULT, name);
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;

    if (!first || first == next || is_stub(first))
        return false;
    /* a program loaded at a fixed address may have its own address for a library's function; its
     * symbol is undefined, so this is not a definition */
    return dladdr1(first, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
           symbol->st_shndx != SHN_UNDEF;
}

static size_t first_slot(size_t name)
{
    return TI_LEAVE_KINDS + 2 * name;
}

static bool is_calibration(size_t slot)
{
    return slot < TI_LEAVE_KINDS;
}

static size_t name_of(size_t slot)
{
    return (slot - TI_LEAVE_KINDS) / 2;
}

/* Slots have distances from the table. */
static void set_slot(size_t slot, void *target)
{
    __atomic_store_n(&ti_dispatch_slot[slot], (uintptr_t)target - (uintptr_t)ti_dispatch_slot,
                     __ATOMIC_RELEASE);
}

static void *target_of(size_t slot)
{
    return (void *)((uintptr_t)ti_dispatch_slot +
                    __atomic_load_n(&ti_dispatch_slot[slot], __ATOMIC_ACQUIRE));
}

static bool leads_to_second_half(size_t slot)
{
    return target_of(slot) == (const void *)ti_dispatch_second_half[slot];
}

/* Make a slot lead to the shim, through the stub's second half if the counter is to be read
 * first. */
static void lead_to_shim(size_t slot, void *shim)
{
    set_slot(slot, __atomic_load_n(&reading, __ATOMIC_RELAXED)
                       ? (void *)(uintptr_t)ti_dispatch_second_half[slot]
                       : shim);
}

/* NULL if the back end has none. */
static void *shim_of(size_t slot)
{
    void *shim;

    if (is_calibration(slot))
        return (void *)backend->calibration_shim[slot];
    shim = (void *)((intptr_t)backend->shim + backend->shim[name_of(slot)]);
    return shim == backend->no_shim ? NULL : shim;
}

static bool is_resolved(size_t slot)
{
    size_t k = name_of(slot);

    return is_calibration(slot) ||
           (__atomic_load_n(&resolved[k / 8], __ATOMIC_ACQUIRE) & 1u << k % 8) != 0;
}

static bool has_shim(size_t k)
{
    static const enum ti_name ends[] = {
        TI_N_MPI_Init,      TI_N_MPI_Init_thread,      TI_N_MPI_Finalize,      TI_N_MPI_Abort,
        TI_N_mpi_init_,     TI_N_mpi_init_thread_,     TI_N_mpi_finalize_,     TI_N_mpi_abort_,
        TI_N_mpi_init_f08_, TI_N_mpi_init_thread_f08_, TI_N_mpi_finalize_f08_, TI_N_mpi_abort_f08_,
    };

    if (!whole_mode)
        return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (k == ends[i])
            return true;
    return false;
}

/* Fill in slots and pointers of the k-th name, for a call by `caller` or NULL.  False if no such
 * function exists.  (MPICH's mpi_f08 has no profiling names.) */
static bool resolve_name(size_t k, const char *name, const void *caller)
{
    char twin[NAME_BYTES];
    void *next = find_next(name, caller), *real;
    size_t slot = first_slot(k);
    void *shim = has_shim(k) ? shim_of(slot) : NULL;
    bool taken;

    if (!next)
        return false;
    snprintf(twin, sizeof twin, "%c%s", name[0] == 'M' ? 'P' : 'p', name);
    real = find_real(twin, caller);
    if (!real)
        real = next;
    taken = is_taken(name, next);
    backend->target[k].real = real;
    backend->target[k].next = taken ? real : next;
    if (shim)
        lead_to_shim(slot, shim);
    else
        set_slot(slot, next);
    if (shim && taken)
        lead_to_shim(slot + 1, shim);
    else
        set_slot(slot + 1, real);
    __atomic_fetch_or(&resolved[k / 8], (uint8_t)(1u << k % 8), __ATOMIC_RELEASE);
    return true;
}

static void read_before_shims(void (*read)(void))
{
    pthread_mutex_lock(&lock);
    __atomic_store_n(&reading, read, __ATOMIC_RELEASE);
    for (size_t slot = 0; slot < SLOTS; slot++) {
        void *shim = is_resolved(slot) ? shim_of(slot) : NULL;

        if (shim && (target_of(slot) == shim || leads_to_second_half(slot)))
            lead_to_shim(slot, shim);
    }
    pthread_mutex_unlock(&lock);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name), e = strlen(ending);

    return n >= e && strcmp(name + n - e, ending) == 0;
}

/* Resolve all names whose library is loaded.  Fortran's functions come in groups, one library
 * each; a missing group is skipped, because looking up each of its functions takes time. */
static void resolve_all(void)
{
    static const struct {
        const char *ending, *one;
    } groups[] = {{"_c_f08ts_", "mpi_send_c_f08ts_"},
                  {"_c_f08_", "mpi_type_size_c_f08_"},
                  {"_f08ts_large_", "mpi_send_f08ts_large_"},
                  {"_f08_large_", "mpi_type_size_f08_large_"},
                  {"_f08ts_", "mpi_send_f08ts_"},
                  {"_f08_", "mpi_init_f08_"},
                  {"_", "mpi_init_"}};
    enum { GROUPS = sizeof groups / sizeof *groups };
    bool there[GROUPS];
    const char *name = names;

    for (int g = 0; g < GROUPS; g++)
        there[g] = look_up(RTLD_NEXT, groups[g].one) != NULL;
    for (size_t k = 0; k < TI_NAMES; k++, name += strlen(name) + 1) {
        int g = 0;

        if (name[0] == 'm') {
            while (!ends_with(name, groups[g].ending))
                g++;
            if (!there[g])
                continue;
        }
        resolve_name(k, name, NULL);
    }
}

/* ------------------------------------------------------------- deciding -- */

static void trace_with(struct ti_mpi_backend *f)
{
    static void (*const stub[TI_LEAVE_KINDS])(void) = {
        ti_dispatch_calibration_0, ti_dispatch_calibration_1, ti_dispatch_calibration_2,
        ti_dispatch_calibration_3};
    const char *wanted = getenv("TIARA_MODE");

    whole_mode = wanted && strcmp(wanted, "whole") == 0;
    backend = f;
    backend->mpi = mpi;
    backend->read_before_shims = read_before_shims;
    for (int way = 0; way < TI_LEAVE_KINDS; way++) {
        backend->calibration_stub[way] = stub[way];
        set_slot((size_t)way, (void *)backend->calibration_shim[way]);
    }
    resolve_all();
    backend->begin();
    mode = TRACING;
}

/* Find the MPI library.  If there is none that we know, stay undecided; or, if a stub is `called`,
 * disable tracing. */
static void decide(bool called)
{
    struct found found = {{NULL}, NULL};
    struct ti_mpi_backend *f = NULL;
    int kind = -1, other = -1;

    dl_iterate_phdr(look, &found);
    mode = DECIDING;
    for (int k = 0; k < KINDS; k++)
        if (found.backend[k]) {
            other = kind;
            kind = k;
        }
    if (other >= 0) {
        ambiguous = true;
        say("nothing is recorded: the program has two MPI libraries, %s and %s", kind_names[other],
            kind_names[kind]);
    } else if (kind >= 0) {
        mpi = dlopen(found.path, RTLD_LAZY | RTLD_NOLOAD);
        f = load(found.backend[kind]);
    } else if (called) {
        say("nothing is recorded: the program's MPI library is neither Open MPI nor MPICH, and "
            "does not have the standard ABI");
    } else {
        mode = UNDECIDED;
        return;
    }
    if (f)
        trace_with(f);
    else
        mode = DISABLED;
}

/* dlsym() of the application.  Languages other than C and Fortran load the MPI library themselves
 * and look up its functions.  If the result is a function of the MPI library, the stub is returned
 * instead. */
void *ti_dispatch_dlsym(void *handle, const char *name)
{
    void *found = look_up(handle, name), *first;

    if (!found || strncmp(name, "MPI_", 4) != 0)
        return found;
    pthread_mutex_lock(&lock);
    if (mode == UNDECIDED)
        decide(false);
    if (mode == TRACING && found == look_up(mpi, name)) {
        first = look_up(RTLD_DEFAULT, name);
        if (is_stub(first))
            found = first;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

__attribute__((constructor)) static void loaded(void)
{
    int saved = errno;
    Dl_info self;

    if (dladdr(ti_dispatch_stubs_begin, &self) && self.dli_fname[0] != '/' &&
        getcwd(started_in, sizeof started_in - 1))
        strcat(started_in, "/");
    pthread_mutex_lock(&lock);
    if (mode == UNDECIDED)
        decide(false);
    pthread_mutex_unlock(&lock);
    errno = saved;
}

/* The program calls a function that its MPI library lacks.  Without the stubs, the loader would
 * have ended the program. */
__attribute__((noreturn, format(printf, 1, 2))) static void end(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    write_line(fmt, ap);
    va_end(ap);
    _exit(127);
}

/* The target of a call whose stub is not resolved. */
static __attribute__((noinline)) void *resolve_slot(size_t slot, const void *caller)
{
    int saved = errno;
    char name[NAME_BYTES];
    const char *mpi_name = names;
    void *target;

    for (size_t k = 0; k < name_of(slot); k++)
        mpi_name += strlen(mpi_name) + 1;
    snprintf(name, sizeof name, "%s%s",
             slot == first_slot(name_of(slot)) ? ""
             : mpi_name[0] == 'M'              ? "P"
                                               : "p",
             mpi_name);
    pthread_mutex_lock(&lock);
    if (mode == UNDECIDED)
        decide(true);
    if (mode == TRACING && (is_resolved(slot) || resolve_name(name_of(slot), mpi_name, caller))) {
        target = leads_to_second_half(slot) ? shim_of(slot) : target_of(slot);
    } else {
        target = find_next(name, caller);
        if (target && mode == DISABLED && !ambiguous)
            set_slot(slot, target);
    }
    pthread_mutex_unlock(&lock);
    if (!target)
        end("the program calls '%s', which its MPI library does not have", name);
    dlerror(); /* clear our own failed look-ups, which the application must not see */
    errno = saved;
    return target;
}

/* Called by a stub's second half; returns the address to jump to.  The counter is read first,
 * before anything that differs between functions. */
void *ti_dispatch_resolve(size_t slot, const void *caller)
{
    void (*read)(void) = __atomic_load_n(&reading, __ATOMIC_ACQUIRE);

    if (read)
        read();
    if (read && is_resolved(slot) && leads_to_second_half(slot))
        return shim_of(slot);
    return resolve_slot(slot, caller);
}
