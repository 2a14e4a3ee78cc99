/*
 * Run a program with a library preloaded and look at its memory while it runs.
 *
 *   peek OUT LIBRARY PROGRAM [ARG]...      LIBRARY "-": none
 *
 * Under mpirun, each rank.  Appends a line to OUT.RANK: the most seen, in KiB,
 * of the pages that are the rank's alone (private and written to) in the own
 * mappings of the library and its MPI back end, their .bss among them, and in the
 * whole process.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BSS_KIB 48 /* size -A libminitrace-openmpi.so */

struct sample {
    long own, all; /* KiB */
};

/* From /proc/PID/smaps; zeros if it is gone.  `stem` is what the names of the
 * library and its MPI back ends begin with. */
static struct sample look(pid_t pid, const char *stem)
{
    struct sample s = {0, 0};
    char path[64], line[4608], name[4096];
    unsigned long from, to, end = 0;
    bool ours = false, bss = false;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        long kib;

        name[0] = '\0';
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %4095s", &from, &to, name) >= 2) {
            /* what follows a mapping of a library without a name is its .bss */
            bss = ours && from == end && !name[0];
            ours = bss || strstr(name, stem) != NULL;
            end = to;
        } else if (sscanf(line, "Private_Dirty: %ld", &kib) == 1) {
            s.all += kib;
            /* the kernel may have joined it with a mapping of the library's own */
            s.own += bss && kib > BSS_KIB ? BSS_KIB : ours ? kib : 0;
        }
    }
    if (f)
        fclose(f);
    return s;
}

static void keep_most(struct sample *most, struct sample s)
{
    if (s.own > most->own)
        most->own = s.own;
    if (s.all > most->all)
        most->all = s.all;
}

int main(int argc, char **argv)
{
    static const struct timespec pause = {0, 100000000};
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *base;
    struct sample most = {0, 0};
    char path[4096], stem[256];
    int status;
    pid_t pid;
    FILE *f;

    if (argc < 4)
        return 2;
    base = strrchr(argv[2], '/') ? strrchr(argv[2], '/') + 1 : argv[2];
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(base, "."), base);
    pid = fork();
    if (pid == 0) {
        if (strcmp(argv[2], "-") != 0)
            setenv("LD_PRELOAD", argv[2], 1);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
        keep_most(&most, look(pid, strcmp(base, "-") == 0 ? "/no such library" : stem));
        nanosleep(&pause, NULL);
    }
    snprintf(path, sizeof path, "%s.%s", argv[1], rank ? rank : "0");
    f = fopen(path, "a");
    if (!f)
        return 1;
    fprintf(f, "%ld %ld\n", most.own, most.all);
    fclose(f);
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
