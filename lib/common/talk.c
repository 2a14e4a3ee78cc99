#include "common/talk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/clock.h"

#define SHOW_S 0.2 /* between two lines of a step */
#define TELL_S 1.0 /* a step tells no durations before it took so long */

static const char *talk_tool = "tiara";
static bool talk_quiet, line_open;

/* The step at work. */
static struct {
    enum { SHOW_NOTHING, SHOW_LINE, SHOW_JSON } how;
    struct ti_progress at; /* at.step is NULL: none */
    int64_t first;         /* what was done when it began */
    double start, shown;   /* by ti_now() */
} work;

void ti_talk_init(const char *tool, bool quiet, enum ti_progress_form form)
{
    bool line = form == TI_PROGRESS_LINE || (form == TI_PROGRESS_AUTO && !quiet);

    talk_tool = tool;
    talk_quiet = quiet;
    work.how = form == TI_PROGRESS_JSON        ? SHOW_JSON
               : line && isatty(STDERR_FILENO) ? SHOW_LINE
                                               : SHOW_NOTHING;
}

/* ---- messages ---- */

/* Texts may contain words of a trace or of another machine. */
static int put_to(FILE *out, const char *fmt, va_list ap)
{
    char *text = NULL;
    int n = vasprintf(&text, fmt, ap);

    if (n < 0)
        return -1;
    ti_strip_controls(text);
    if (fputs(text, out) == EOF)
        n = -1;
    free(text);
    return n;
}

static void put(const char *fmt, va_list ap)
{
    put_to(stderr, fmt, ap);
}

int ti_print(FILE *out, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = put_to(out, fmt, ap);
    va_end(ap);
    return n;
}

static void say(const char *prefix, const char *fmt, va_list ap)
{
    ti_progress_clear();
    fprintf(stderr, "%s: %s", talk_tool, prefix);
    put(fmt, ap);
    fputc('\n', stderr);
}

void ti_say(const char *fmt, ...)
{
    va_list ap;

    if (talk_quiet)
        return;
    va_start(ap, fmt);
    say("", fmt, ap);
    va_end(ap);
}

void ti_warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say("warning: ", fmt, ap);
    va_end(ap);
}

void ti_hint(const char *fmt, ...)
{
    va_list ap;

    ti_progress_clear();
    fputs("hint: ", stderr);
    va_start(ap, fmt);
    put(fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

/* ---- progress ---- */

/* One write, so that processes with the same stderr do not mix. */
static void write_out(const char *text, size_t n)
{
    ssize_t done;

    fflush(stderr);
    while (n > 0 && ((done = write(STDERR_FILENO, text, n)) > 0 || (done < 0 && errno == EINTR))) {
        text += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
}

static char *duration(double s, char buf[32])
{
    if (s < 100)
        snprintf(buf, 32, "%.0f s", s);
    else if (s < 6000)
        snprintf(buf, 32, "%.0f min", s / 60);
    else
        snprintf(buf, 32, "%.1f h", s / 3600);
    return buf;
}

static char *amount(const char *unit, int64_t n, char buf[32])
{
    return strcmp(unit, "bytes") ? ti_format_count((uint64_t)n, buf, 32)
                                 : ti_format_size(n, buf, 32);
}

/* Cut the line behind the last part that fits, so that it takes no second line of the terminal,
 * which would stay.  Parts end at ", ": a comma alone is within a number. */
static void fit(char *line)
{
    struct winsize w;
    size_t room = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
    size_t end = room - 1;

    if (strlen(line) < room)
        return;
    while (end > 0 && strncmp(line + end, ", ", 2) != 0)
        end--;
    line[end > 0 ? end : room - 1] = '\0';
}

static void draw(const struct ti_progress *p, double seconds, double left_s)
{
    char text[1024], a[32], b[32], line[1100];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", p->step);

    if (p->unit)
        n += (size_t)snprintf(text + n, sizeof text - n, ": %s", amount(p->unit, p->done, a));
    if (p->unit && p->of > 0)
        n += (size_t)snprintf(text + n, sizeof text - n, " of %s", amount(p->unit, p->of, b));
    if (p->unit && strcmp(p->unit, "bytes") != 0)
        n += (size_t)snprintf(text + n, sizeof text - n, " %s", p->unit);
    if (seconds >= TELL_S)
        n += (size_t)snprintf(text + n, sizeof text - n, ", %s", duration(seconds, a));
    if (left_s > 0)
        n += (size_t)snprintf(text + n, sizeof text - n, ", %s left", duration(left_s, a));
    if (p->note && p->note[0])
        snprintf(text + n, sizeof text - n, ", %s", p->note);
    ti_strip_controls(text);
    fit(text);
    write_out(line, (size_t)snprintf(line, sizeof line, "\r\033[K%s", text));
    line_open = true;
}

static void put_json(const struct ti_progress *p, double seconds, double left_s)
{
    char text[1024];
    size_t n = (size_t)snprintf(text, sizeof text, "{\"progress\":{\"tool\":\"%s\",\"step\":\"%s\"",
                                talk_tool, p->step);

    if (p->unit)
        n += (size_t)snprintf(text + n, sizeof text - n, ",\"done\":%" PRId64, p->done);
    if (p->unit && p->of > 0)
        n += (size_t)snprintf(text + n, sizeof text - n, ",\"of\":%" PRId64, p->of);
    if (p->unit)
        n += (size_t)snprintf(text + n, sizeof text - n, ",\"unit\":\"%s\"", p->unit);
    n += (size_t)snprintf(text + n, sizeof text - n, ",\"seconds\":%.3f", seconds);
    if (left_s >= 0)
        n += (size_t)snprintf(text + n, sizeof text - n, ",\"left_s\":%.3f", left_s);
    for (int i = 0; i < 2 && p->also[i].name; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, ",\"%s\":%.9g", p->also[i].name,
                              p->also[i].value);
    n += (size_t)snprintf(text + n, sizeof text - n, "}}\n");
    write_out(text, n);
}

/* Seconds until the end of the step; below 0: not known. */
static double left_of(const struct ti_progress *p, double seconds)
{
    double done = (double)(p->done - work.first);

    if (p->left_s != 0)
        return p->left_s;
    return seconds >= TELL_S && done > 0 && p->of >= p->done
               ? seconds / done * (double)(p->of - p->done)
               : -1;
}

static bool begins(const char *step)
{
    return !work.at.step || strcmp(work.at.step, step) != 0;
}

/* Note how far the step is.  Returns whether it has just begun. */
static bool note(const struct ti_progress *p, double now)
{
    bool first = begins(p->step);
    int64_t done = first || p->done > work.at.done ? p->done : work.at.done;

    if (first) {
        work.start = now;
        work.first = done;
    }
    work.at = *p;
    work.at.done = done;
    return first;
}

void ti_progress_show(const struct ti_progress *p)
{
    double now, seconds;

    if (!work.how)
        return;
    now = ti_now();
    if (note(p, now) || now >= work.shown + SHOW_S) {
        work.shown = now;
        seconds = now - work.start;
        if (work.how == SHOW_JSON)
            put_json(&work.at, seconds, left_of(&work.at, seconds));
        else
            draw(&work.at, seconds, left_of(&work.at, seconds));
    }
    work.at.note = NULL; /* the caller's */
}

void ti_progress(const char *step, const char *unit, int64_t done, int64_t of)
{
    ti_progress_show(&(struct ti_progress){.step = step, .unit = unit, .done = done, .of = of});
}

void ti_progress_end(bool complete)
{
    ti_progress_clear();
    if (work.at.step && complete && work.how == SHOW_JSON) {
        work.at.done = work.at.of > work.at.done ? work.at.of : work.at.done;
        work.at.of = work.at.done;
        put_json(&work.at, ti_now() - work.start, 0);
    }
    work.at.step = NULL;
}

bool ti_progress_on(void)
{
    return work.how != SHOW_NOTHING;
}

bool ti_progress_due(const char *step)
{
    return work.how && (begins(step) || ti_now() >= work.shown + SHOW_S);
}

void ti_progress_clear(void)
{
    if (line_open)
        write_out("\r\033[K", 4);
    line_open = false;
}

bool ti_progress_meets(int fd)
{
    struct stat own, other;

    if (work.how != SHOW_JSON)
        return work.how && isatty(fd);
    return fstat(STDERR_FILENO, &own) == 0 && fstat(fd, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* ---- width ---- */

int ti_width(int64_t given)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int64_t n;

    if (given >= 0)
        return (int)given;
    if (columns && ti_parse_int(columns, "COLUMNS", 0, 1 << 16, &n, NULL) == TI_OK)
        return (int)n;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
