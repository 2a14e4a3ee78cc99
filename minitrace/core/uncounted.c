/*
 * Estimates the share of the program that the counter `blocks` does not see: libraries, and
 * objects that were not compiled with ti-mpicc.
 *
 * A timer of CPU time samples the thread that called MPI_Init, some 100 times a second.  The
 * signal handler stores the program counter, unless the thread is in a recorded MPI call.
 * At the end of recording, each place is looked up: its function is counted if its code adds
 * to tiara_blocks.  Places in Tiara's own libraries, where a call begins and ends, are none of the
 * program's and are left out.
 *
 * The application should not notice:
 *
 *   - The timer runs only while the thread computes, so it wakes no thread that sleeps in
 *     a system call.
 *   - From Linux 5.10 on, such a timer expires when the thread returns from the kernel, so
 *     no system call fails with EINTR.  On older kernels there is no timer.
 *   - The signal is one that is ignored without a handler, because the application may
 *     reset handlers.  Debuggers pass it on.
 *   - The handler calls nothing, and reads nothing of the application's.
 */
#include "common/order.h"
#include "minitrace/core/state.h"

#ifdef __x86_64__
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PERIOD_NS 9973000 /* not a round number, so that it does not stay in step with a loop */
#define PLACES    4096
#define PROBES    16

struct place {
    uint64_t pc;
    uint64_t samples; /* 0: the entry is free */
};

static struct {
    struct place *places;
    uint64_t lost;      /* samples that found no free entry */
    ptrdiff_t distance; /* of tiara_blocks, from the thread pointer */
    int timer, signal;  /* signal 0: no timer */
} sampler;

/* ------------------------------------------------------------- sampling -- */

static void on_tick(int number, siginfo_t *info, void *context)
{
    uint64_t pc = (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

    (void)number;
    if (info->si_code != SI_TIMER || !ti_flags.no_conflict || ti_state.stopped ||
        ti_state.inside.phase != TI_OUTSIDE)
        return;
    for (uint64_t i = 0; i < PROBES; i++) {
        struct place *p = &sampler.places[((pc * UINT64_C(0x9e3779b97f4a7c15) >> 32) + i) % PLACES];

        if (p->samples && p->pc != pc)
            continue;
        p->pc = pc;
        p->samples++;
        return;
    }
    sampler.lost++;
}

/* A signal without a handler whose default is to be ignored.  0 if there is none. */
static int free_signal(void)
{
    static const int ignored[] = {SIGURG, SIGWINCH};
    struct sigaction now;

    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (sigaction(ignored[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            return ignored[i];
    return 0;
}

/* Whether timers of CPU time expire on return from the kernel. */
static bool kernel_is_new(void)
{
    struct utsname name;
    int major = 0, minor = 0;

    return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 10));
}

static bool start_timer(void)
{
    struct sigaction act = {.sa_sigaction = on_tick,
                            .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID};
    struct itimerspec every = {{0, PERIOD_NS}, {0, PERIOD_NS}};

    sampler.signal = event.sigev_signo = free_signal();
    if (!sampler.signal)
        return false;
    sigfillset(&act.sa_mask);
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &sampler.timer) != 0)
        return false;
    if (sigaction(sampler.signal, &act, NULL) == 0 &&
        syscall(SYS_timer_settime, sampler.timer, 0, &every, NULL) == 0)
        return true;
    syscall(SYS_timer_delete, sampler.timer);
    return false;
}

static void stop_timer(void)
{
    struct sigaction now;

    syscall(SYS_timer_delete, sampler.timer);
    if (sigaction(sampler.signal, NULL, &now) == 0 && now.sa_sigaction == on_tick)
        sigaction(sampler.signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sampler.signal = 0;
}

void ti_uncounted_begin(void)
{
    const char *wanted = getenv("TIARA_SAMPLE");
    const char *self;
    int saved = errno;

    if (!ti_state.counter.backend->compiled || (wanted && strcmp(wanted, "0") == 0) ||
        !kernel_is_new())
        return;
    __asm__("movq %%fs:0, %0" : "=r"(self));
    sampler.distance = (const volatile char *)ti_state.counter.word - self;
    sampler.places = ti_map(PLACES * sizeof *sampler.places);
    if (!sampler.places || !start_timer())
        sampler.signal = 0;
    errno = saved;
}

/* --------------------------------------------------- which code counts -- */

/* A program counter, and the function it is in. */
struct look {
    uint64_t pc;
    char object[48];          /* base name of the program or library, in ASCII; "" if in none */
    const uint8_t *from, *to; /* bounds of the function */
    bool counts, ours, in_kernel; /* in_kernel: the instruction after a system call */
};

static int32_t int32_at(const uint8_t *p)
{
    int32_t value;

    memcpy(&value, p, sizeof value);
    return value;
}

/* The segment of the object that contains `bytes` bytes at `address` with these permissions. */
static const ElfW(Phdr) *
    segment_of(const struct dl_phdr_info *object, uint64_t address, uint64_t bytes, uint32_t flags)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        uint64_t offset = address - (object->dlpi_addr + p->p_vaddr);

        if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags && offset < p->p_memsz &&
            p->p_memsz - offset >= bytes)
            return p;
    }
    return NULL;
}

/*
 * Find the function of look->pc in the table for unwinding: .eh_frame_hdr has the start of
 * each function, ascending (Linux Standard Base, 10.6.2).  Only the encodings that linkers
 * write are read.  Without such a table, all code of the object counts as one function.  A
 * function without an entry counts as part of the one before it.
 */
static void find_function(const struct dl_phdr_info *object, const ElfW(Phdr) * code,
                          struct look *look)
{
    const uint8_t *header = NULL, *table, *begin, *end;
    int64_t n, at;

    begin = (const uint8_t *)(object->dlpi_addr + code->p_vaddr);
    end = begin + code->p_memsz;
    look->from = begin;
    look->to = end;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            header = (const uint8_t *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    if (!header || memcmp(header, "\x01\x1b\x03\x3b", 4) != 0)
        return;
    n = (uint32_t)int32_at(header + 8);
    table = header + 12;
    TI_FIRST(at, 0, n, (uint64_t)(header + int32_at(table + 8 * at)) <= look->pc);
    if (at > 0 && header + int32_at(table + 8 * (at - 1)) >= begin)
        look->from = header + int32_at(table + 8 * (at - 1));
    if (at < n && header + int32_at(table + 8 * at) < end)
        look->to = header + int32_at(table + 8 * at);
}

/*
 * Whether the function adds to tiara_blocks, in one of the forms that wrap/assembler/emit.c writes:
 *
 *     addq $N or %reg, %fs:DISTANCE           64 REX 81, 83 or 01, modrm, 25, DISTANCE
 *     movq GOT(%rip), %reg                    REX 8b modrm OFFSET, whose slot has DISTANCE,
 *                                             or, from the linker, REX c7 modrm DISTANCE,
 *       followed by addq ..., %fs:(%reg)      64 REX 81, 83 or 01
 */
static bool adds_to_word(const struct dl_phdr_info *object, const struct look *look)
{
    const uint8_t *from = look->from, *to = look->to, *at = from;

    while (at && at + 9 <= to && (at = memchr(at, 0x64, (size_t)(to - 9 - at + 1)))) {
        const uint8_t *fs = at++;

        if ((fs[1] & 0xf0) != 0x40 || (fs[2] != 0x81 && fs[2] != 0x83 && fs[2] != 0x01))
            continue;
        if ((fs[3] & 0xc7) == 0x04 && fs[4] == 0x25 && int32_at(fs + 5) == sampler.distance)
            return true;
        if (fs - from < 7 || (fs[-7] & 0xf8) != 0x48)
            continue;
        if (fs[-6] == 0xc7 && (fs[-5] & 0xf8) == 0xc0 && int32_at(fs - 4) == sampler.distance)
            return true;
        if (fs[-6] == 0x8b && (fs[-5] & 0xc7) == 0x05) {
            const uint8_t *slot = fs + int32_at(fs - 4);
            int64_t value;

            if (!segment_of(object, (uint64_t)slot, sizeof value, PF_R))
                continue;
            memcpy(&value, slot, sizeof value);
            if (value == sampler.distance)
                return true;
        }
    }
    return false;
}

/* Whether a library with this base name is of ours: the dispatcher finds its back ends by name. */
static bool is_ours(const char *object)
{
    static const char *const names[] = {"libminitrace", "libtiara-blocks"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(object, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static int look_at(struct dl_phdr_info *object, size_t bytes, void *arg)
{
    struct look *look = arg;
    const ElfW(Phdr) *code = segment_of(object, look->pc, 1, PF_R | PF_X);
    const char *slash = strrchr(object->dlpi_name, '/');

    (void)bytes;
    if (!code)
        return 0;
    snprintf(look->object, sizeof look->object, "%s",
             slash                  ? slash + 1
             : object->dlpi_name[0] ? object->dlpi_name
                                    : program_invocation_short_name);
    for (char *p = look->object; *p; p++)
        if (*p == ',' || *p <= ' ' || *p > '~')
            *p = '_';
    look->in_kernel = segment_of(object, look->pc - 2, 2, PF_R | PF_X) &&
                      memcmp((const void *)(look->pc - 2), "\x0f\x05", 2) == 0;
    look->ours = is_ours(look->object);
    find_function(object, code, look);
    look->counts = adds_to_word(object, look);
    return 1;
}

/* ------------------------------------------------------------------ end -- */

#define OBJECTS 8

struct object {
    char name[48];
    uint64_t samples;
};

/* The last entry collects the remaining objects. */
static void add_object(struct object list[OBJECTS], const char *name, uint64_t samples)
{
    int i = 0;

    while (i < OBJECTS - 1 && list[i].samples && strcmp(list[i].name, name) != 0)
        i++;
    snprintf(list[i].name, sizeof list[i].name, "%s", i < OBJECTS - 1 ? name : "others");
    list[i].samples += samples;
}

void ti_uncounted_end(struct ti_uncounted_text *text)
{
    struct object objects[OBJECTS] = {0};
    uint64_t samples = 0, uncounted = 0, unknown;
    size_t used = 0;
    int saved = errno;

    memset(text, 0, sizeof *text);
    if (!sampler.signal)
        return;
    stop_timer();
    samples = unknown = sampler.lost;
    for (const struct place *p = sampler.places; p < sampler.places + PLACES; p++) {
        struct look look = {.pc = p->pc};

        if (!p->samples)
            continue;
        dl_iterate_phdr(look_at, &look);
        if (look.in_kernel || look.ours)
            continue;
        samples += p->samples;
        if (!look.object[0]) { /* generated at run time, or unloaded */
            unknown += p->samples;
        } else if (!look.counts) {
            uncounted += p->samples;
            add_object(objects, look.object, p->samples);
        }
    }
    snprintf(text->samples, sizeof text->samples, "%llu", (unsigned long long)samples);
    snprintf(text->uncounted, sizeof text->uncounted, "%llu", (unsigned long long)uncounted);
    snprintf(text->unknown, sizeof text->unknown, "%llu", (unsigned long long)unknown);
    for (int i = 0; i < OBJECTS && objects[i].samples && used < sizeof text->objects; i++)
        used += (size_t)snprintf(text->objects + used, sizeof text->objects - used, "%s%s %llu",
                                 i ? ", " : "", objects[i].name,
                                 (unsigned long long)objects[i].samples);
    errno = saved;
}

#else
void ti_uncounted_begin(void)
{
}

void ti_uncounted_end(struct ti_uncounted_text *text)
{
    *text = (struct ti_uncounted_text){"", "", "", ""};
}
#endif
