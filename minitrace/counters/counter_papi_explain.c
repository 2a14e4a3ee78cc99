/* Why an event does not count: the message, and a hint on what to do. */
#include "minitrace/counters/counter_papi.h"

#ifdef PAPI_VER_CURRENT

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Why PAPI disabled one of its components; NULL if it did not. */
static const char *why_disabled(const char *component)
{
    const PAPI_component_info_t *info;

    for (int i = 0; i < ti__papi.PAPI_num_components(); i++) {
        info = ti__papi.PAPI_get_component_info(i);
        if (info && strcmp(info->name, component) == 0 && info->disabled)
            return info->disabled_reason;
    }
    return NULL;
}

/* Whether a line of the file contains `word`. */
static bool file_has(const char *path, const char *word)
{
    char line[4096];
    bool found = false;
    FILE *f = fopen(path, "re");

    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, word) != NULL;
    if (f)
        fclose(f);
    return found;
}

static int number_in(const char *path, int otherwise)
{
    int number = otherwise;
    FILE *f = fopen(path, "re");

    if (f) {
        if (fscanf(f, "%d", &number) != 1)
            number = otherwise;
        fclose(f);
    }
    return number;
}

const char *ti__papi_others(void)
{
    static char text[64];

    return ti_counter_names(text, sizeof text, "with ", " or ", true, ti__papi_plan.inherited,
                            &ti__counter_papi);
}

#define OR_ELSE "; or count %s"

/* A hint: the kernel lets this process count nothing. */
static void explain_denied(struct ti_err *err)
{
    int paranoid = number_in("/proc/sys/kernel/perf_event_paranoid", -100);

    if (paranoid > 2)
        ti_err_hint(err,
                    "kernel.perf_event_paranoid is %d, %s; counting one's "
                    "own instructions needs 2 or less: sysctl kernel.perf_event_paranoid=2, as "
                    "root" OR_ELSE,
                    paranoid,
                    geteuid() == 0 ? "where PAPI does not count, not even for root"
                                   : "which lets only root count",
                    ti__papi_others());
    else if (file_has("/proc/self/status", "Seccomp:\t2"))
        ti_err_hint(err,
                    "a seccomp filter, as containers have, forbids perf_event_open: start the "
                    "container with --cap-add PERFMON, or a profile that allows it" OR_ELSE,
                    ti__papi_others());
    else
        ti_err_hint(err,
                    "perf_event_open is forbidden to this process, though "
                    "kernel.perf_event_paranoid is %d: a security module, or a container's rules "
                    "(--cap-add PERFMON)" OR_ELSE,
                    paranoid, ti__papi_others());
}

/* A hint: why the kernel cannot count instructions.  Found out by asking it.  The kernel counts
 * events `perf::` without the processor's counters. */
static void explain_kernel(struct ti_err *err, const char *event)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_HW_INSTRUCTIONS,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .disabled = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, (unsigned long)0);
    int cause = errno;
    const char *disabled = why_disabled("perf_event");

    if (fd >= 0)
        close(fd);
    if (disabled && strstr(disabled, "paranoid") && (fd >= 0 || strncmp(event, "perf::", 6) == 0)) {
        explain_denied(err); /* PAPI does not try, though root may count */
    } else if (fd >= 0) {
        if (disabled)
            ti_err_hint(err,
                        "the kernel can count instructions here, PAPI cannot (%s); "
                        "a newer PAPI may know this processor",
                        disabled);
        else
            ti_err_hint(err, "papi_avail and papi_native_avail list this machine's events");
    } else if (cause == EACCES || cause == EPERM || cause == ENOSYS) {
        explain_denied(err);
    } else if (file_has("/proc/cpuinfo", " hypervisor")) {
        ti_err_hint(err,
                    "this virtual machine has no hardware counters: its host has to give it "
                    "some (a virtual PMU)" OR_ELSE,
                    ti__papi_others());
    } else {
        ti_err_hint(err, "the kernel offers no hardware counters here" OR_ELSE, ti__papi_others());
    }
}

void ti__papi_explain(struct ti_err *err, const char *event)
{
    if (ti__papi_is_software_defined(event))
        ti_err_hint(err, "a library of the application must have made it before MPI_Init, with "
                         "libsde; papi_native_avail --sde FILE lists what FILE makes");
    else
        explain_kernel(err, event);
}

/* List the events of the set that fit into it together, tried in turn: "A, B". */
static void list_fitting(int set, char *text, size_t bytes)
{
    struct ti__papi_failure f;
    size_t used = 0;
    int trial = PAPI_NULL;

    text[0] = '\0';
    if (ti__papi_create_set(ti__papi_plan.component[set], &trial, &f) == PAPI_OK)
        for (int e = 0; e < ti__papi_plan.nevents && used < bytes; e++)
            if (ti__papi_plan.event[e].set == set &&
                ti__papi.PAPI_add_named_event(trial, ti__papi_plan.event[e].name) == PAPI_OK)
                used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
                                         ti__papi_plan.event[e].name);
    if (trial != PAPI_NULL) {
        ti__papi.PAPI_cleanup_eventset(trial);
        ti__papi.PAPI_destroy_eventset(&trial);
    }
}

/* The processor has too few counters, or too few free ones. */
static ti_status refuse_conflict(struct ti_err *err, const struct ti__papi_failure *f)
{
    char fitting[256];

    list_fitting(ti__papi_plan.event[f->event < 0 ? 0 : f->event].set, fitting, sizeof fitting);
    if (!fitting[0]) {
        ti_err_set(err, TI_ERR_INPUT,
                   "PAPI event '%s' does not count here: the processor's counters are taken",
                   ti__papi_event_of(f));
        ti_err_hint(err, "by the application, a profiler%s" OR_ELSE,
                    number_in("/proc/sys/kernel/nmi_watchdog", 0) == 1
                        ? ", or the kernel's watchdog (sysctl kernel.nmi_watchdog=0, as root)"
                        : "",
                    ti__papi_others());
        return TI_ERR_INPUT;
    }
    ti_err_set(err, TI_ERR_INPUT,
               "the events do not fit into the processor's counters together; these do: %s",
               fitting);
    ti_err_hint(err, "count the others in another run: nothing is multiplexed, which would make "
                     "counts estimates");
    return TI_ERR_INPUT;
}

ti_status ti__papi_refuse(struct ti_err *err, const struct ti__papi_failure *f, int rc)
{
    if (rc == PAPI_ECNFLCT)
        return refuse_conflict(err, f);
    ti_err_set(err, TI_ERR_INPUT, "PAPI event '%s' does not count here: %s: %s",
               ti__papi_event_of(f), f->call, ti__papi.PAPI_strerror(rc));
    /* the kernel's own events need no hardware, so the name must be wrong */
    if (strcmp(f->call, "PAPI_event_name_to_code") == 0 &&
        strncmp(ti__papi_event_of(f), "perf::", 6) == 0 && !why_disabled("perf_event"))
        ti_err_hint(err, "is the name right? papi_native_avail lists this machine's events");
    else
        ti__papi_explain(err, ti__papi_event_of(f));
    return TI_ERR_INPUT;
}

ti_status ti__papi_refuse_sum(struct ti_err *err, const char *event, const char *why)
{
    ti_err_set(err, TI_ERR_INPUT, "PAPI does not count '%s' for all threads here: %s", event, why);
    ti_err_hint(err, "count %s, or the calling thread only", ti__papi_others());
    return TI_ERR_INPUT;
}

#endif
