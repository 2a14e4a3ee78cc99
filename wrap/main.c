/*
 * ti-mpicc, ti-mpicxx, ti-mpifort and their variants: one program.  It calls the MPI wrapper
 * that it is named after, with what the `blocks` counter needs added:
 *
 *   assembling   -B DIR, where our `as` is; -Wa,--tiara-pic for code of shared objects;
 *                clang's integrated assembler is turned off
 *   executables  the counter itself, exported for shared objects
 *   shared       the counter's library, for programs that were linked without ti-mpicc
 *
 * Commands that neither assemble nor link, and questions to the wrapper itself, are passed on
 * unchanged.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/args.h"
#include "common/beside.h"
#include "common/cli.h"
#include "common/err.h"
#include "wrap/driver.h"

#define REMEDY "compile with -fno-lto (behind -flto, where a build system adds that)"

static const char help[] =
    "Compile and link MPI programs so that they count their own instructions, for the\n"
    "counter 'blocks' of ti-acquire.\n"
    "\n"
    "Usage: %s [OPTION]... as of the MPI compiler wrapper '%s', which it calls\n"
    "\n"
    "Examples:\n"
    "  make CC=ti-mpicc FC=ti-mpifort\n"
    "  cmake -DCMAKE_C_COMPILER=ti-mpicc -DCMAKE_Fortran_COMPILER=ti-mpifort ..\n"
    "  ti-acquire --np 64 -c blocks ./app\n"
    "\n"
    "Own options:\n"
    "  --tiara-help     this text\n"
    "  --tiara-version  version\n"
    "  --tiara-show     print the command instead of running it\n"
    "  --tiara-audit    count also what counting itself executes\n"
    "\n"
    "Environment: %s names another MPI wrapper.\n"
    "More: man ti-mpicc\n";

static const char *self = "ti-mpicc";

static int fail(const struct ti_err *err)
{
    fprintf(stderr, "%s: %s\n", self, err->text);
    if (err->hint[0])
        fprintf(stderr, "hint: %s\n", err->hint);
    return 1; /* the exit status of compilers */
}

/* ---------------------------------------------------------------- names -- */

/* ti-mpicc calls mpicc, or the wrapper that TIARA_MPICC names. */
struct names {
    char wrapper[PATH_MAX];
    char variable[64];
};

static ti_status find_names(const char *argv0, struct names *n, struct ti_err *err)
{
    const char *name = strrchr(argv0, '/') ? strrchr(argv0, '/') + 1 : argv0, *given;
    size_t len = 0;

    if (strncmp(name, "ti-", 3) != 0 || !name[3])
        return ti_err_set(err, TI_ERR_USAGE, "called as '%s', not as ti- and an MPI wrapper's name",
                          name);
    self = name;
    len = (size_t)snprintf(n->variable, sizeof n->variable, "TIARA_%.40s", name + 3);
    for (size_t i = 0; i < len; i++) {
        char c = n->variable[i];

        if (c >= 'a' && c <= 'z')
            n->variable[i] = (char)(c - 'a' + 'A');
        else if (c == '+')
            n->variable[i] = 'X';
        else if (c == '.' || c == '-')
            n->variable[i] = '_';
    }
    given = getenv(n->variable);
    snprintf(n->wrapper, sizeof n->wrapper, "%s", given && *given ? given : name + 3);
    return TI_OK;
}

/* Where our parts are: beside this program in the build tree, or in the folders of `make install`
 * relative to it. */
struct parts {
    char assembler[PATH_MAX]; /* a folder, with the final slash that -B needs */
    char archive[PATH_MAX];
    char library[PATH_MAX];
    char folder[PATH_MAX]; /* the library's folder */
};

static ti_status find_parts(struct parts *p, struct ti_err *err)
{
    static const char *const tools[] = {"libexec/blocks", "../libexec/tiara/blocks",
                                        TI_LIBEXECDIR "/tiara/blocks", NULL};
    static const char *const libraries[] = {".", "../lib", TI_LIBDIR, NULL};
    char here[PATH_MAX];
    ti_status st = ti_beside_here(here, err);

    if (st)
        return st;
    if (!ti_beside_find(tools, "as", p->assembler) ||
        !ti_beside_find(libraries, "libtiara-blocks.a", p->archive) ||
        !ti_beside_find(libraries, "libtiara-blocks.so", p->library)) {
        ti_err_set(err, TI_ERR_IO, "cannot find its assembler and libraries from '%s'", here);
        ti_err_hint(err, "is Tiara built, or installed completely?");
        return TI_ERR_IO;
    }
    strrchr(p->assembler, '/')[1] = '\0';
    snprintf(p->folder, sizeof p->folder, "%.*s", (int)(strrchr(p->library, '/') - p->library),
             p->library);
    return TI_OK;
}

/* ----------------------------------------------------------------- plan -- */

static ti_status check(const struct ti_driver *d, const char *wrapper, struct ti_err *err)
{
    if (d->compiler == TI_COMPILER_UNKNOWN) {
        if (d->failed)
            ti_err_set(err, TI_ERR_INPUT,
                       "cannot tell which compiler is behind '%s': '%s -###' failed: %s", wrapper,
                       wrapper, d->first_line);
        else
            ti_err_set(err, TI_ERR_INPUT, "the compiler behind '%s' is neither gcc nor clang: %s",
                       wrapper, d->first_line);
        ti_err_hint(err, "gcc or clang must be on PATH; OMPI_CC, OMPI_CXX, OMPI_FC (Open MPI) or "
                         "MPICH_CC, ... (MPICH) choose one");
        return TI_ERR_INPUT;
    }
    if (strncmp(d->target, "x86_64", 6) != 0 || strstr(d->target, "x32")) {
        ti_err_set(err, TI_ERR_INPUT, "'%s' compiles for %s; blocks can be counted on x86-64 only",
                   wrapper, d->target[0] ? d->target : "an unknown machine");
        ti_err_hint(err, "compile with '%s', and count with papi or valgrind", wrapper);
        return TI_ERR_INPUT;
    }
    if (d->lto && (d->assembles || d->link)) {
        ti_err_set(err, TI_ERR_INPUT, "code that is made when linking (-flto) cannot be counted");
        ti_err_hint(err, REMEDY);
        return TI_ERR_INPUT;
    }
    for (int i = 0; i < d->inputs.n; i++)
        if (ti_object_is_lto(d->inputs.v[i])) {
            ti_err_set(err, TI_ERR_INPUT, "'%s' was compiled with -flto, and would not be counted",
                       d->inputs.v[i]);
            ti_err_hint(err, REMEDY);
            return TI_ERR_INPUT;
        }
    return TI_OK;
}

/* clang's output does not mention -fPIC if it only assembles. */
static bool asked_for_pic(char *const *argv)
{
    bool pic = false;

    for (; *argv; argv++)
        if (strcmp(*argv, "-fPIC") == 0 || strcmp(*argv, "-fpic") == 0)
            pic = true;
        else if (strcasecmp(*argv, "-fpie") == 0 || strcasecmp(*argv, "-fno-pic") == 0 ||
                 strcasecmp(*argv, "-fno-pie") == 0)
            pic = false;
    return pic;
}

/* Build the command: the user's words, with ours in front and behind, so that the user's cannot
 * override ours. */
static void plan(const struct ti_driver *d, const struct parts *p, const struct ti_args *user,
                 bool audit, struct ti_args *out)
{
    bool clang = d->compiler == TI_COMPILER_CLANG;

    ti_args_add(out, user->v[0]);
    if (d->assembles)
        ti_args_add(out, "-B", p->assembler);
    ti_args_add_all(out, user, 1);
    if (d->assembles) {
        if (clang)
            ti_args_add(out, "-fno-integrated-as");
        if (d->pic || (clang && !d->compiles && asked_for_pic(user->v)))
            ti_args_add(out, "-Wa,--tiara-pic");
        if (audit)
            ti_args_add(out, "-Wa,--tiara-audit");
    }
    if (d->link == TI_LINK_EXECUTABLE) {
        ti_args_add(out, "-Xlinker", p->archive);
        ti_args_add(out, "-Xlinker", "--export-dynamic-symbol=tiara_blocks");
        ti_args_add(out, "-Xlinker", "--export-dynamic-symbol=tiara_blocks_own");
    } else if (d->link == TI_LINK_SHARED) {
        ti_args_add(out, "-Xlinker", p->library);
        ti_args_add(out, "-Xlinker", "-rpath");
        ti_args_add(out, "-Xlinker", p->folder);
    }
    if (d->link)
        ti_args_add(out, "-fno-lto"); /* for objects with both, use the ordinary code */
}

/* ----------------------------------------------------------------- main -- */

static int run(const struct ti_args *a)
{
    struct ti_err err;

    if (!ti_args_ok(a)) {
        ti_err_set(&err, TI_ERR_IO, "out of memory");
        return fail(&err);
    }
    execvp(a->v[0], a->v);
    ti_err_errno(&err, TI_ERR_IO, "cannot run '%s'", a->v[0]);
    return fail(&err);
}

static int show(const struct ti_args *a)
{
    char *text = ti_args_ok(a) ? ti_args_shell(a) : NULL;

    if (text)
        puts(text);
    free(text);
    return text ? 0 : 1;
}

/* The wrapper's own options that print its command; ours is printed too. */
static bool shows(const char *word)
{
    return strcmp(word, "-show") == 0 || strcmp(word, "--show") == 0 ||
           strcmp(word, "-showme") == 0 || strcmp(word, "--showme") == 0;
}

int main(int argc, char **argv)
{
    static struct ti_args user, asked, final; /* live until the program ends or becomes another
                                               * one */
    static struct ti_driver d;
    bool show_only = false, audit = false, shown = false;
    struct names names;
    struct parts parts;
    struct ti_err err;

    if (find_names(argv[0], &names, &err) != TI_OK)
        return fail(&err);
    ti_args_add(&user, names.wrapper);
    ti_args_add(&asked, names.wrapper);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--tiara-help") == 0) {
            printf(help, self, names.wrapper, names.variable);
            return 0;
        }
        if (strcmp(argv[i], "--tiara-version") == 0) {
            return ti_cli_version(self);
        }
        if (strcmp(argv[i], "--tiara-show") == 0) {
            show_only = true;
            continue;
        }
        if (strcmp(argv[i], "--tiara-audit") == 0) {
            audit = true;
            continue;
        }
        if (shows(argv[i]))
            shown = true;
        else
            ti_args_add(&asked, argv[i]);
        ti_args_add(&user, argv[i]);
    }
    if (getenv("TIARA_WRAPPING")) {
        ti_err_set(&err, TI_ERR_USAGE, "'%s' calls %s again", names.wrapper, self);
        ti_err_hint(&err, "%s, OMPI_CC, MPICH_CC and their like name what %s calls, not itself",
                    names.variable, self);
        return fail(&err);
    }
    setenv("TIARA_WRAPPING", self, 1);
    if (asked.n == 1)
        return show_only ? show(&user) : run(&user);
    if (ti_driver_ask(&asked, &d, &err) != TI_OK)
        return fail(&err);
    unsetenv("TIARA_WRAPPING");
    /* no output: the wrapper itself answered, for instance to -showme:link */
    if (d.compiler == TI_COMPILER_UNKNOWN ? !d.first_line[0] : !d.assembles && !d.link)
        return show_only ? show(&user) : run(&user);
    if (check(&d, names.wrapper, &err) != TI_OK || find_parts(&parts, &err) != TI_OK)
        return fail(&err);
    plan(&d, &parts, shown ? &user : &asked, audit, &final);
    return show_only ? show(&final) : run(&final);
}
