#include "remote/hostclass.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define FILE_MAX      (1 << 20)
#define SECTIONS_MAX  1024
#define PATTERNS_MAX  4096
#define PATTERN_BYTES 256

/* The settings after a "Host" or "Match all", up to the next; or before the first of a file. */
struct section {
    int first, n; /* patterns; n 0: it always applies */
    bool by_name; /* a setting depends on the host's name */
    bool control; /* ControlPath depends on it */
};

struct ti__hostclass {
    struct section section[SECTIONS_MAX];
    int sections;
    char *pattern[PATTERNS_MAX];
    int patterns;
};

/* --- reading --------------------------------------------------------------- */

static struct section *begin_section(struct ti__hostclass *a)
{
    struct section *s;

    if (a->sections == SECTIONS_MAX)
        return NULL;
    s = &a->section[a->sections++];
    *s = (struct section){.first = a->patterns};
    return s;
}

static bool add_patterns(struct ti__hostclass *a, struct section *s, char *list)
{
    char *rest = NULL;

    for (char *p = strtok_r(list, " \t", &rest); p; p = strtok_r(NULL, " \t", &rest)) {
        if (a->patterns == PATTERNS_MAX || strlen(p) >= PATTERN_BYTES || p[strcspn(p, "\"'\\#,")])
            return false;
        a->pattern[a->patterns] = strdup(p);
        if (!a->pattern[a->patterns])
            return false;
        a->patterns++;
        s->n++;
    }
    return s->n > 0;
}

/* False: not supported. */
static bool parse_line(struct ti__hostclass *a, char *line)
{
    struct section *s = &a->section[a->sections - 1];
    char *word = line + strspn(line, " \t\r\n\f"), *value;
    size_t n = strcspn(word, " \t\r\n\f=");
    bool depends;

    if (!*word || *word == '#')
        return true;
    value = word + n;
    if (*value)
        *value++ = '\0';
    value += strspn(value, " \t=");
    value[strcspn(value, "\r\n\f")] = '\0';
    if (word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")])
        return false; /* quoted, or not a keyword */
    if (strcasecmp(word, "host") == 0)
        return (s = begin_section(a)) != NULL && add_patterns(a, s, value);
    if (strcasecmp(word, "match") == 0) {
        for (n = strlen(value); n && strchr(" \t", value[n - 1]);)
            value[--n] = '\0';
        return strcasecmp(value, "all") == 0 && begin_section(a) != NULL;
    }
    depends = strchr(value, '%') || strcasecmp(word, "hostname") == 0 ||
              strncasecmp(word, "canonical", 9) == 0;
    if (depends && strcasecmp(word, "controlpath") == 0)
        s->control = true;
    else if (depends)
        s->by_name = true;
    return true;
}

static bool read_config(struct ti__hostclass *a, const char *path)
{
    FILE *f = fopen(path, "re");
    struct stat sb;
    char *line = NULL;
    size_t room = 0;
    bool ok = f && fstat(fileno(f), &sb) == 0 && S_ISREG(sb.st_mode) && sb.st_size <= FILE_MAX &&
              begin_section(a) != NULL;

    while (ok && getline(&line, &room, f) >= 0)
        ok = parse_line(a, line);
    free(line);
    if (f)
        fclose(f);
    return ok;
}

struct ti__hostclass *ti__hostclass_new(const char *said, size_t bytes)
{
    static const char begins[] = "debug1: Reading configuration data ";
    struct ti__hostclass *a = calloc(1, sizeof *a);
    const char *end = said + bytes;
    bool ok = a != NULL;
    int files = 0;

    for (const char *line = said, *next; ok && line < end; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((stop ? stop : end) - line);
        char path[PATH_MAX];

        next = stop ? stop + 1 : end;
        while (n && line[n - 1] == '\r')
            n--;
        if (n < sizeof begins || memcmp(line, begins, sizeof begins - 1) != 0)
            continue;
        n -= sizeof begins - 1;
        ok = stop && n < sizeof path;
        if (!ok)
            break;
        memcpy(path, line + sizeof begins - 1, n);
        path[n] = '\0';
        ok = read_config(a, path);
        files++;
    }
    for (int i = 0; ok && i < a->sections; i++)
        ok = a->section[i].n > 0 || !a->section[i].by_name;
    if (ok && files)
        return a;
    ti__hostclass_free(a);
    return NULL;
}

void ti__hostclass_free(struct ti__hostclass *a)
{
    for (int i = 0; a && i < a->patterns; i++)
        free(a->pattern[i]);
    free(a);
}

/* --- hosts ------------------------------------------------------------------ */

static bool matches(const char *text, const char *pattern)
{
    const char *star = NULL, *from = NULL;

    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (*text && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
        } else if (!*text && !*pattern) {
            return true;
        } else if (!star || !*from) {
            return false;
        } else {
            pattern = star;
            text = ++from;
        }
    }
}

static bool applies(const struct ti__hostclass *a, const struct section *s, const char *host)
{
    bool any = s->n == 0;

    for (int i = s->first; i < s->first + s->n; i++) {
        const char *p = a->pattern[i];

        if (*p == '!' && matches(host, p + 1))
            return false;
        any = any || (*p != '!' && matches(host, p));
    }
    return any;
}

size_t ti__hostclass_bytes(const struct ti__hostclass *a)
{
    return (size_t)(a->sections + 7) / 8;
}

enum ti__share ti__hostclass_fingerprint(const struct ti__hostclass *a, const char *host,
                                         unsigned char *out)
{
    enum ti__share how = TI__SHARE_ALL;

    /* ssh lowercases names, and addresses can be written in several ways */
    if (!*host || host[strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_")] ||
        !host[strspn(host, "0123456789.")])
        return TI__SHARE_NONE;
    memset(out, 0, ti__hostclass_bytes(a));
    for (int i = 0; i < a->sections; i++) {
        const struct section *s = &a->section[i];

        if (!applies(a, s, host))
            continue;
        if (s->by_name)
            return TI__SHARE_NONE;
        if (s->control)
            how = TI__SHARE_KEYS;
        out[i / 8] |= (unsigned char)(1 << i % 8);
    }
    return how;
}
