/*
 * Run a program with a library preloaded and look at its memory while it runs.
 *
 *   peek OUT LIBRARY PROGRAM [ARG]...      LIBRARY "-": none
 *
 * Under mpirun, each rank.  Appends a line to OUT.RANK: the most seen, in KiB,
 * of the pages that are the rank's alone (private and written to) in the library
 * and its MPI back end, their .bss among them, and in the whole process.
 */
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct sample {
    long own, all; /* KiB */
};

/* Bytes from the start of a shared library in memory to the end of its .bss. */
static unsigned long bytes_in_memory(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    unsigned long end = 0;
    ElfW(Ehdr) elf;
    ElfW(Phdr) part;

    if (fd >= 0 && pread(fd, &elf, sizeof elf, 0) == sizeof elf)
        for (int i = 0; i < elf.e_phnum; i++)
            if (pread(fd, &part, sizeof part, (off_t)(elf.e_phoff + i * sizeof part)) ==
                    sizeof part &&
                part.p_type == PT_LOAD)
                end = part.p_vaddr + part.p_memsz;
    if (fd >= 0)
        close(fd);
    return end;
}

/* KiB of the rank's own pages in a range of addresses.  The kernel joins mappings, so that of a
 * .bss may have pages of others behind it; /proc/PID/pagemap tells about each page. */
static long own_pages(pid_t pid, unsigned long from, unsigned long bytes)
{
    const uint64_t present = UINT64_C(1) << 63, swapped = UINT64_C(1) << 62,
                   of_file = UINT64_C(1) << 61, unshared = UINT64_C(1) << 56;
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
    char path[64];
    long pages = 0;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    for (unsigned long at = from; fd >= 0 && at < from + bytes; at += page) {
        uint64_t flags;

        if (pread(fd, &flags, sizeof flags, (off_t)(at / page * sizeof flags)) != sizeof flags)
            break;
        pages +=
            (flags & swapped) || ((flags & present) && (flags & unshared) && !(flags & of_file));
    }
    if (fd >= 0)
        close(fd);
    return pages * (long)(page / 1024);
}

/* Of a process now; zeros if it is gone.  `stem` is what the names of the library and its MPI back
 * ends begin with. */
static struct sample look(pid_t pid, const char *stem)
{
    struct sample s = {0, 0};
    char path[64], line[4608], name[4096];
    unsigned long from, offset;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        long kib;

        name[0] = '\0';
        if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %4095s", &from, &offset, name) >= 2) {
            if (offset == 0 && strstr(name, stem))
                s.own += own_pages(pid, from, bytes_in_memory(name));
        } else if (sscanf(line, "Private_Dirty: %ld", &kib) == 1) {
            s.all += kib;
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
