/*
 * Count what a program executes, one instruction at a time: the truth that the
 * counter `blocks` is compared with.
 *
 *   steps PROGRAM ARGUMENT...
 *
 * Prints on stderr, when the program ends, how many instructions were executed in
 * its .text, less those between _start and the symbol code_begin: what lies there
 * is the C library's start-up code and blocks-word.c.  A rep instruction counts once,
 * and so does one that the kernel starts again.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t from, to, start, begin, entry;

static void die(const char *what)
{
    fprintf(stderr, "steps: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void read_program(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct stat st;
    const uint8_t *file;
    const Elf64_Ehdr *eh;
    const Elf64_Shdr *sh;

    if (fd < 0 || fstat(fd, &st) != 0)
        die(path);
    file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        die(path);
    eh = (const Elf64_Ehdr *)file;
    sh = (const Elf64_Shdr *)(file + eh->e_shoff);
    entry = eh->e_entry;
    for (int i = 0; i < eh->e_shnum; i++) {
        const char *names = (const char *)file + sh[eh->e_shstrndx].sh_offset;

        if (strcmp(names + sh[i].sh_name, ".text") == 0) {
            from = sh[i].sh_addr;
            to = from + sh[i].sh_size;
        }
        if (sh[i].sh_type != SHT_SYMTAB)
            continue;
        for (uint64_t k = 0; k < sh[i].sh_size / sizeof(Elf64_Sym); k++) {
            const Elf64_Sym *s = (const Elf64_Sym *)(file + sh[i].sh_offset) + k;
            const char *name = (const char *)file + sh[sh[i].sh_link].sh_offset + s->st_name;

            if (strcmp(name, "_start") == 0)
                start = s->st_value;
            if (strcmp(name, "code_begin") == 0)
                begin = s->st_value;
        }
    }
    close(fd);
    if (!to || !begin || !start)
        die("no .text, _start or code_begin");
}

/* Where it was loaded: its entry, less what the file says. */
static uint64_t loaded_at(pid_t pid)
{
    char name[64];
    uint64_t av[2];
    FILE *f;

    snprintf(name, sizeof(name), "/proc/%d/auxv", (int)pid);
    f = fopen(name, "r");
    if (!f)
        die(name);
    while (fread(av, sizeof(av), 1, f) == 1)
        if (av[0] == AT_ENTRY) {
            fclose(f);
            return av[1] - entry;
        }
    die("no AT_ENTRY");
    return 0;
}

static bool is_repeated(pid_t pid, uint64_t at)
{
    long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)at, NULL);
    uint8_t b[8];
    int i = 0;
    bool rep = false;

    memcpy(b, &word, sizeof(b));
    for (; i < 4 && (b[i] == 0xf2 || b[i] == 0xf3 || b[i] == 0x66 || (b[i] & 0xf0) == 0x40); i++)
        rep |= b[i] == 0xf2 || b[i] == 0xf3;
    return rep && (b[i] >= 0xa4 && b[i] <= 0xaf && b[i] != 0xa8 && b[i] != 0xa9);
}

int main(int argc, char **argv)
{
    struct user_regs_struct regs;
    uint64_t base, last = 0, count = 0;
    int status;
    pid_t pid;
    long saved;

    if (argc < 2)
        return 2;
    read_program(argv[1]);
    pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[1], argv + 1);
        die(argv[1]);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        die("cannot trace");
    /* To the entry at full speed. */
    base = loaded_at(pid);
    from += base, to += base, start += base, begin += base, entry += base;
    saved = ptrace(PTRACE_PEEKTEXT, pid, (void *)entry, NULL);
    ptrace(PTRACE_POKETEXT, pid, (void *)entry, (void *)((saved & ~0xffL) | 0xcc));
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    waitpid(pid, &status, 0);
    ptrace(PTRACE_POKETEXT, pid, (void *)entry, (void *)saved);
    ptrace(PTRACE_GETREGS, pid, NULL, &regs);
    regs.rip = entry;
    ptrace(PTRACE_SETREGS, pid, NULL, &regs);
    for (;;) {
        int sig = 0;
        uint64_t at;

        ptrace(PTRACE_GETREGS, pid, NULL, &regs);
        at = regs.rip;
        if (at >= from && at < to && !(at >= start && at < begin))
            count += at != last || !is_repeated(pid, at);
        last = at;
        for (;;) {
            if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)sig) != 0)
                die("single step");
            if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
                goto ended;
            sig = WSTOPSIG(status);
            if (sig == SIGTRAP)
                break;
            /* A signal: what it interrupted has not been executed, its handler's
             * first instruction neither. */
            ptrace(PTRACE_GETREGS, pid, NULL, &regs);
            if (regs.rip == at && at >= from && at < to && !(at >= start && at < begin))
                count--;
            last = 0;
        }
    }
ended:
    fprintf(stderr, "steps %llu\n", (unsigned long long)count);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
