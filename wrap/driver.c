#include "wrap/driver.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/write.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* ---------------------------------------------------------------- words -- */

/*
 * Copy the next word at *p, up to the end of the line, into buf; false if there is none.  Words
 * are quoted by "..." with backslashes (commands), or by '...' (COLLECT_GCC_OPTIONS).  A word that
 * does not fit is cut.
 */
static bool next_word(const char **p, char *buf, size_t bytes)
{
    const char *s = *p;
    size_t n = 0;
    char quote = '\0';

    s += strspn(s, " \t\r");
    if (!*s || *s == '\n')
        return false;
    for (; *s && *s != '\n' && (quote || !strchr(" \t\r", *s)); s++) {
        char c = *s;

        if (quote ? c == quote : c == '"' || c == '\'') {
            quote = quote ? '\0' : c;
            continue;
        }
        if (c == '\\' && quote != '\'' && s[1] && s[1] != '\n')
            c = *++s;
        if (n < bytes - 1)
            buf[n++] = c;
    }
    buf[n] = '\0';
    *p = s;
    return true;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
    size_t n = strlen(text), m = strlen(with);

    return n >= m && strcmp(text + n - m, with) == 0;
}

/* ---------------------------------------------------------------- lines -- */

/* gcc's -flto and -fPIC; the last option wins. */
static void gcc_option(const char *word, struct ti_driver *d)
{
    if (strcmp(word, "-flto") == 0 || starts(word, "-flto="))
        d->lto = true;
    else if (strcmp(word, "-fno-lto") == 0)
        d->lto = false;
    else if (strcmp(word, "-fPIC") == 0 || strcmp(word, "-fpic") == 0)
        d->pic = true;
    else if (strcasecmp(word, "-fpie") == 0 || strcasecmp(word, "-fno-pic") == 0 ||
             strcasecmp(word, "-fno-pie") == 0)
        d->pic = false;
}

static void gcc_options(const char *p, struct ti_driver *d)
{
    char word[4096];

    while (next_word(&p, word, sizeof word))
        gcc_option(word, d);
}

static void assembler(const char *p, struct ti_driver *d)
{
    char word[4096];

    d->assembles = true;
    while (next_word(&p, word, sizeof word)) {
        if (strcmp(word, "--32") == 0)
            strcpy(d->target, "i386");
        else if (strcmp(word, "--x32") == 0)
            strcpy(d->target, "x32");
    }
}

static void linker(const char *p, struct ti_driver *d)
{
    char word[4096];

    d->link = TI_LINK_EXECUTABLE;
    while (next_word(&p, word, sizeof word)) {
        if (strcmp(word, "-shared") == 0 || strcmp(word, "-Bshareable") == 0 ||
            strcmp(word, "--shared") == 0)
            d->link = TI_LINK_SHARED;
        else if (strcmp(word, "-r") == 0 || strcmp(word, "--relocatable") == 0)
            d->link = TI_LINK_RELOCATABLE;
        else if (strcmp(word, "elf_i386") == 0)
            strcpy(d->target, "i386");
        else if (strcmp(word, "elf32_x86_64") == 0)
            strcpy(d->target, "x32");
        else if (strcmp(word, "-flto") == 0 || strstr(word, "LLVMgold"))
            d->lto = true;
        else if (word[0] != '-' && ends(word, ".o"))
            ti_args_add(&d->inputs, word);
    }
}

/* clang -cc1, which may assemble too. */
static void clang_compiler(const char *p, struct ti_driver *d)
{
    bool pic = false, pie = false;
    char word[4096];

    while (next_word(&p, word, sizeof word)) {
        if (strcmp(word, "-emit-obj") == 0 || strcmp(word, "-cc1as") == 0)
            d->assembles = true;
        if (strcmp(word, "-cc1as") == 0 || strcmp(word, "-E") == 0)
            return;
        if (starts(word, "-flto")) /* emits bitcode as an object */
            d->lto = d->assembles = true;
        else if (strcmp(word, "-pic-level") == 0)
            pic = true;
        else if (strcmp(word, "-pic-is-pie") == 0)
            pie = true;
        else if (strcmp(word, "-triple") == 0 && next_word(&p, word, sizeof word))
            snprintf(d->target, sizeof d->target, "%.63s", word);
    }
    d->compiles = true;
    d->pic = pic && !pie;
}

static void command(const char *line, struct ti_driver *d)
{
    const char *p = line, *name;
    char word[4096];

    if (!next_word(&p, word, sizeof word) || word[0] == '(') /* clang prints "(in-process)" */
        return;
    name = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
    if (strcmp(name, "as") == 0 || ends(name, "-as"))
        assembler(p, d);
    else if (strcmp(name, "collect2") == 0 || strcmp(name, "ld") == 0 || starts(name, "ld.") ||
             ends(name, "-ld"))
        linker(p, d);
    else if (d->compiler == TI_COMPILER_GCC)
        d->compiles = true; /* its options are in COLLECT_GCC_OPTIONS */
    else if (d->compiler == TI_COMPILER_CLANG)
        clang_compiler(p, d);
}

/* Append the line at `line` to d->first_line. */
static void add_line(struct ti_driver *d, const char *line)
{
    size_t n = strlen(d->first_line);

    snprintf(d->first_line + n, sizeof d->first_line - n, " %.*s", (int)strcspn(line, "\n"), line);
}

void ti_driver_parse(const char *text, struct ti_driver *d)
{
    static const char options[] = "COLLECT_GCC_OPTIONS=", target[] = "Target: ",
                      unfound[] = "unable to find the specified compiler";
    const char *said;

    memset(d, 0, sizeof *d);
    said = text + strcspn(text, LETTERS); /* some wrappers print a ruled line first */
    snprintf(d->first_line, sizeof d->first_line, "%.*s", (int)strcspn(said, "\n"), said);
    if (ends(d->first_line, unfound) && said[strlen(d->first_line)])
        add_line(d, said + strlen(d->first_line) + 1);
    for (const char *p = text, *end; p && *p; p = end ? end + 1 : NULL) {
        end = strchr(p, '\n');
        if (starts(p, "COLLECT_GCC="))
            d->compiler = TI_COMPILER_GCC;
        else if (starts(p, options))
            gcc_options(p + strlen(options), d);
        else if (starts(p, target))
            snprintf(d->target, sizeof d->target, "%.*s", (int)strcspn(p + strlen(target), "\r\n"),
                     p + strlen(target));
        else if (*p == ' ')
            command(p, d);
        else {
            const char *clang = strstr(p, "clang version "), *flang = strstr(p, "flang");

            if ((clang && (!end || clang < end)) || (flang && (!end || flang < end)))
                d->compiler = d->compiler ? d->compiler : TI_COMPILER_CLANG;
        }
    }
}

void ti_driver_free(struct ti_driver *d)
{
    ti_args_free(&d->inputs);
}

/* --------------------------------------------------------------- asking -- */

ti_status ti_driver_ask(const struct ti_args *argv, struct ti_driver *d, struct ti_err *err)
{
    struct ti_args question = {0};
    ti_status st = TI_OK;
    char *text = NULL;
    int status = -1;

    memset(d, 0, sizeof *d);
    ti_args_add(&question, argv->v[0], "-###");
    ti_args_add_all(&question, argv, 1);
    if (ti_args_ok(&question))
        status = ti_read_output(question.v, STDERR_FILENO, "LC_ALL", "C", &text);
    if (!text)
        st = ti_err_errno(err, TI_ERR_IO, "cannot ask '%s' what it would do", argv->v[0]);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        st = ti_err_set(err, TI_ERR_IO, "cannot run '%s'%s%s", argv->v[0], *text ? ": " : "", text);
    else
        ti_driver_parse(text, d), d->failed = status != 0;
    free(text);
    ti_args_free(&question);
    return st;
}

/* -------------------------------------------------------------- objects -- */

/* Whether an ELF file has a section of gcc's LTO. */
static bool is_lto_elf(const char *p, size_t bytes)
{
    Elf64_Ehdr eh;
    Elf64_Shdr names;
    uint64_t at;

    memcpy(&eh, p, sizeof eh);
    at = eh.e_shoff + (uint64_t)eh.e_shstrndx * sizeof names;
    if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
        at > bytes || bytes - at < sizeof names)
        return false;
    memcpy(&names, p + at, sizeof names);
    return names.sh_offset <= bytes && names.sh_size <= bytes - names.sh_offset &&
           memmem(p + names.sh_offset, names.sh_size, ".gnu.lto_.", strlen(".gnu.lto_."));
}

bool ti_object_is_lto(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    bool lto = false;
    char *p;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED) {
            lto = memcmp(p, "BC\xc0\xde", 4) == 0 || is_lto_elf(p, (size_t)st.st_size);
            munmap(p, (size_t)st.st_size);
        }
    }
    if (fd >= 0)
        close(fd);
    return lto;
}
