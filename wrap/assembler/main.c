/*
 * The program `as`, see blocks.h.  It is called as GNU as.  It understands only the options for
 * input and output; all options are passed to the real assembler.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/write.h"
#include "wrap/assembler/emit.h"
#include "wrap/assembler/verify.h"

struct words {
    char **at;
    size_t n;
};

struct command {
    struct words all;   /* words for the real assembler, without inputs */
    struct words quiet; /* the same, without outputs and warnings */
    struct words inputs;
    char *assembler;
    bool pass_on; /* it is asked for information, not to assemble */
    struct ti_blocks_options options;
};

static char temporary[2][4096];

static void push(struct words *w, const char *word)
{
    w->at = ti_blocks_grow(w->at, w->n + 2, sizeof(*w->at));
    w->at[w->n] = strdup(word);
    if (!w->at[w->n++])
        ti_blocks_out_of_memory();
    w->at[w->n] = NULL;
}

/* --- the command line ------------------------------------------------------- */

static ti_status read_all(FILE *f, char **text, size_t *n)
{
    size_t cap = *n + (1 << 16);

    for (;;) {
        size_t got;

        *text = ti_blocks_grow(*text, cap, 1);
        got = fread(*text + *n, 1, cap - *n, f);
        *n += got;
        if (*n < cap)
            return ferror(f) ? TI_ERR_IO : TI_OK;
        cap *= 2;
    }
}

/* The words of `@FILE`: separated by blanks, with quotes and backslashes, as gcc writes them. */
static bool response(struct words *out, const char *path)
{
    FILE *f = fopen(path, "re");
    char *text = NULL, *p, *word;
    size_t n = 0;

    if (!f)
        return false;
    if (read_all(f, &text, &n)) {
        fclose(f);
        free(text);
        return false;
    }
    fclose(f);
    text = ti_blocks_grow(text, n + 1, 1);
    text[n] = 0;
    word = ti_blocks_zero(n + 1, 1);
    for (p = text; *p;) {
        size_t len = 0;
        char quote = 0;

        while (strchr(" \t\n\r\f\v", *p) && *p)
            p++;
        if (!*p)
            break;
        for (; *p && (quote || !strchr(" \t\n\r\f\v", *p)); p++) {
            if (*p == '\\' && p[1])
                word[len++] = *++p;
            else if (quote ? *p == quote : *p == '"' || *p == '\'')
                quote = quote ? 0 : *p;
            else
                word[len++] = *p;
        }
        word[len] = 0;
        push(out, word);
    }
    free(word);
    free(text);
    return true;
}

static bool begins(const char *s, const char *word)
{
    return strncmp(s, word, strlen(word)) == 0;
}

/* Whether the option takes the next word as its value. */
static bool has_value(const char *a)
{
    static const char *const with[] = {"-o", "-I", "-MD", "--MD", "--defsym", "--debug-prefix-map",
                                       "--listing-lhs-width", "--listing-lhs-width2",
                                       "--listing-rhs-width", "--listing-cont-lines",
                                       "--hash-size", NULL};

    for (size_t i = 0; with[i]; i++)
        if (strcmp(a, with[i]) == 0)
            return true;
    return false;
}

/* Whether the option makes an output or only prints. */
static bool is_output(const char *a)
{
    return strcmp(a, "-o") == 0 || begins(a, "-a") || begins(a, "-MD") || begins(a, "--MD") ||
           strcmp(a, "--fatal-warnings") == 0 || strcmp(a, "--statistics") == 0 ||
           strcmp(a, "-Z") == 0 || strcmp(a, "--warn") == 0 || begins(a, "--listing");
}

static ti_status parse(struct command *c, const struct words *args, struct ti_err *err)
{
    bool only_inputs = false;

    for (size_t i = 0; i < args->n; i++) {
        const char *a = args->at[i];

        if (only_inputs || a[0] != '-' || strcmp(a, "-") == 0) {
            push(&c->inputs, a);
        } else if (strcmp(a, "--") == 0) {
            only_inputs = true;
        } else if (strcmp(a, "--tiara-pic") == 0) {
            c->options.pic = true;
        } else if (strcmp(a, "--tiara-audit") == 0) {
            c->options.audit = true;
        } else if (strcmp(a, "--32") == 0 || strcmp(a, "--x32") == 0) {
            return ti_err_set(err, TI_ERR_USAGE, "code for %s cannot be counted, only for --64", a);
        } else {
            bool value = has_value(a) && i + 1 < args->n;

            c->pass_on |= strcmp(a, "--version") == 0 || strcmp(a, "--help") == 0 ||
                          strcmp(a, "--target-help") == 0 || strcmp(a, "--dump-config") == 0;
            c->options.intel |= begins(a, "-msyntax=intel");
            c->options.naked |= strcmp(a, "-mnaked-reg") == 0;
            push(&c->all, a);
            if (!is_output(a) || (begins(a, "-o") && !value))
                push(&c->quiet, a);
            if (value) {
                push(&c->all, args->at[++i]);
                if (!is_output(a))
                    push(&c->quiet, args->at[i]);
            }
        }
    }
    c->options.naked |= c->options.intel;
    push(&c->quiet, "--no-warn");
    return TI_OK;
}

/* TIARA_AS, or the first `as` on PATH that is not this program. */
static ti_status find_assembler(struct command *c, struct ti_err *err)
{
    const char *path = getenv("TIARA_AS");
    struct stat self, st;
    char name[4096];
    bool known = stat("/proc/self/exe", &self) == 0;

    if (path && *path) {
        c->assembler = strdup(path);
        return TI_OK;
    }
    path = getenv("PATH");
    for (path = path ? path : "/usr/bin:/bin"; *path;) {
        size_t n = strcspn(path, ":");

        snprintf(name, sizeof(name), "%.*s/as", n ? (int)n : 1, n ? path : ".");
        if (stat(name, &st) == 0 && S_ISREG(st.st_mode) && access(name, X_OK) == 0 &&
            !(known && st.st_dev == self.st_dev && st.st_ino == self.st_ino)) {
            c->assembler = strdup(name);
            return TI_OK;
        }
        path += n + (path[n] == ':');
    }
    return ti_err_set(err, TI_ERR_IO, "no assembler found on PATH (TIARA_AS can name it)");
}

static ti_status read_inputs(const struct command *c, char **text, size_t *n, struct ti_err *err)
{
    for (size_t i = 0; i < c->inputs.n || (i == 0 && !c->inputs.n); i++) {
        const char *name = c->inputs.n ? c->inputs.at[i] : "-";
        bool standard = strcmp(name, "-") == 0;
        FILE *f = standard ? stdin : fopen(name, "re");
        ti_status st;

        if (!f)
            return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", name);
        if (i > 0) {
            size_t more = strlen(name) + 32;

            *text = ti_blocks_grow(*text, *n + more, 1);
            *n += (size_t)snprintf(*text + *n, more, "\n# 1 \"%s\"\n", name);
        }
        st = read_all(f, text, n);
        if (!standard)
            fclose(f);
        if (st)
            return ti_err_errno(err, st, "cannot read '%s'", name);
    }
    return TI_OK;
}

/* --- the real assembler ------------------------------------------------------ */

/* Assemble `text` with `words` and `more` (NULL: none).  TI_ERR_INPUT if the assembler fails,
 * which has printed the reason then. */
static ti_status assemble(const struct command *c, const struct words *words, const char *output,
                          const char *more, const char *text, size_t n, struct ti_err *err)
{
    char **argv = ti_blocks_zero(words->n + 6, sizeof(*argv));
    size_t k = 0;
    int fd[2], status;
    pid_t pid;

    argv[k++] = c->assembler;
    for (size_t i = 0; i < words->n; i++)
        argv[k++] = words->at[i];
    if (more)
        argv[k++] = (char *)(uintptr_t)more;
    if (output) {
        argv[k++] = (char *)(uintptr_t) "-o";
        argv[k++] = (char *)(uintptr_t)output;
    }
    argv[k++] = (char *)(uintptr_t) "-";
    if (pipe2(fd, O_CLOEXEC) != 0) {
        free(argv);
        return ti_err_errno(err, TI_ERR_IO, "cannot make a pipe");
    }
    pid = fork();
    if (pid == 0) {
        dup2(fd[0], 0);
        signal(SIGPIPE, SIG_DFL);
        execv(c->assembler, argv);
        fprintf(stderr, "as: cannot run '%s': %s\n", c->assembler, strerror(errno));
        _exit(TI_ERR_IO);
    }
    close(fd[0]);
    free(argv);
    if (pid < 0) {
        close(fd[1]);
        return ti_err_errno(err, TI_ERR_IO, "cannot start '%s'", c->assembler);
    }
    ti_write_all(fd[1], text, n); /* an assembler that does not read it all says why */
    close(fd[1]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        ti_err_set(err, TI_ERR_INPUT, "'%s' failed", c->assembler);
        return TI_ERR_INPUT;
    }
    return TI_OK;
}

static void remove_temporary(void)
{
    for (int i = 0; i < 2; i++)
        if (temporary[i][0])
            unlink(temporary[i]);
}

static void killed(int sig)
{
    remove_temporary();
    signal(sig, SIG_DFL);
    raise(sig);
}

static ti_status make_temporary(struct ti_err *err)
{
    const char *dir = getenv("TMPDIR");

    atexit(remove_temporary);
    for (int i = 0; i < 2; i++) {
        int fd;

        snprintf(temporary[i], sizeof(temporary[i]), "%s/tiara-as-XXXXXX",
                 dir && *dir ? dir : "/tmp");
        fd = mkstemp(temporary[i]);
        if (fd < 0) {
            ti_err_errno(err, TI_ERR_IO, "cannot make '%s'", temporary[i]);
            temporary[i][0] = 0;
            return TI_ERR_IO;
        }
        close(fd);
    }
    signal(SIGINT, killed);
    signal(SIGTERM, killed);
    signal(SIGHUP, killed);
    return TI_OK;
}

/* --- what is done with a text --------------------------------------------------- */

/* Emit and assemble.  With `object`, the map is emitted too, and the object is read. */
static ti_status make(const struct command *c, const struct ti_text *t, const struct ti_flow *f,
                      const int64_t *own, int number, struct ti_object *object, struct ti_err *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    ti_status st;

    if (!out)
        ti_blocks_out_of_memory();
    st = ti_blocks_emit(out, t, f, &c->options, own, object != NULL, err);
    if (fclose(out) != 0)
        ti_blocks_out_of_memory();
    if (!st)
        st = assemble(c, object ? &c->quiet : &c->all, object ? temporary[number] : NULL, NULL,
                      text, n, err);
    free(text);
    if (!st && object)
        st = ti_object_read(object, temporary[number], t->n, err);
    return st;
}

static ti_status rewrite(const struct command *c, const struct ti_text *t, struct ti_err *err)
{
    struct ti_object was = {0}, now = {0};
    struct ti_flow f = {0};
    int64_t *own = NULL;
    ti_status st = make_temporary(err);

    if (!st)
        st = make(c, t, NULL, NULL, 0, &was, err);
    if (!st)
        st = ti_flow_decode(&f, t, &was, err);
    if (!st)
        st = ti_flow_plan(&f, t, &was, &c->options, err);
    if (!st)
        st = make(c, t, &f, NULL, 1, &now, err);
    if (!st) {
        own = ti_blocks_zero(f.nadds + 1, sizeof(*own));
        st = ti_verify(t, &f, &was, &now, own, err);
    }
    if (!st)
        st = make(c, t, &f, own, 0, NULL, err);
    if (!st && getenv("TIARA_AS_VERBOSE"))
        fprintf(stderr,
                "as: %s: %ld blocks, %ld instructions, %ld added, %ld keep flags, %ld save "
                "registers, %ld loops, %ld not counted\n",
                t->files[0], f.sum.blocks, f.sum.instructions, f.sum.added, f.sum.flag_safe,
                f.sum.spilled, f.sum.loops, f.sum.uncounted);
    free(own);
    ti_flow_free(&f);
    ti_object_free(&was);
    ti_object_free(&now);
    return st;
}

static ti_status run(struct command *c, struct ti_err *err)
{
    struct ti_text t = {0};
    char *text = NULL;
    size_t n = 0;
    ti_status st = read_inputs(c, &text, &n, err);

    if (!st && n >= 4 && (memcmp(text, "BC\xc0\xde", 4) == 0))
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' is LLVM bitcode: compile with -fno-lto",
                        c->inputs.n ? c->inputs.at[0] : "-");
    if (!st)
        st = ti_text_parse(&t, text, n, c->inputs.n ? c->inputs.at[0] : "-", &c->options, err);
    if (!st)
        st = rewrite(c, &t, err);
    ti_text_free(&t);
    free(text);
    return st;
}

int main(int argc, char **argv)
{
    static struct command c; /* static: its content lives as long as the program */
    static struct words args;
    struct ti_err err = {0};
    ti_status st = TI_OK;

    signal(SIGPIPE, SIG_IGN);
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '@' || !response(&args, argv[i] + 1))
            push(&args, argv[i]);
    st = parse(&c, &args, &err);
    if (!st)
        st = find_assembler(&c, &err);
    if (!st && c.pass_on) {
        argv[0] = c.assembler;
        execv(c.assembler, argv);
        st = ti_err_errno(&err, TI_ERR_IO, "cannot run '%s'", c.assembler);
    }
    if (!st)
        st = run(&c, &err);
    if (st)
        fprintf(stderr, "as: %s\n", err.text);
    if (st && err.hint[0])
        fprintf(stderr, "hint: %s\n", err.hint);
    return st;
}
