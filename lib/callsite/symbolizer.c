#include "callsite/symbolizer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/json.h"
#include "common/names.h"

#define NAME_BYTES    512
#define PATH_BYTES    4096
#define PROGRAMS_MOST 64 /* paths of programs, as an application may consist of several */
#define WARNINGS_MOST 10

struct ti_symbolizer {
    const char *folders;
    struct ti_names programs; /* paths of programs */

    struct ti_names module_names; /* "name [build-id]"; their numbers are indices in `module` */
    struct ti_debug **module;     /* NULL: not found */
    size_t modules_cap;

    struct ti_names site_names; /* texts of call sites; their numbers are indices in `site` */
    struct ti_site_line *site;  /* zeros: not known */
    size_t sites_cap;

    bool named; /* of some call site */
    int warnings;
};

/* The parts of the text of a call site. */
struct parts {
    char name[NAME_BYTES]; /* of the module's file, without folders */
    char build_id[64];     /* hexadecimal digits; may be empty */
    uint64_t offset;       /* return address */
};

/* A search for the file of a module. */
struct search {
    const struct parts *parts;
    struct ti_debug *best;
    char path[PATH_BYTES];  /* of `best` */
    char other[PATH_BYTES]; /* a file of another build; may be empty */
};

/* ------------------------------------------------------------------ parse -- */

static bool is_hex(const char *text, size_t n)
{
    return n > 0 && strspn(text, "0123456789abcdef") >= n;
}

/* Parse "name+0xoffset [build-id]"; false if the text is another, such as "file:line" of
 * ti-convert.  The name and the build-id become parts of paths, so that neither may hold '/'. */
static bool parse(const char *site, struct parts *p)
{
    size_t n = strlen(site);
    const char *bracket = strstr(site, " ["), *end = bracket ? bracket : site + n, *plus = NULL;

    p->build_id[0] = '\0';
    if (bracket) {
        size_t digits = strlen(bracket + 2) - 1;

        if (site[n - 1] != ']' || digits >= sizeof p->build_id || digits < 4 ||
            !is_hex(bracket + 2, digits))
            return false;
        snprintf(p->build_id, sizeof p->build_id, "%.*s", (int)digits, bracket + 2);
    }
    for (const char *q = site; q < end; q++)
        if (strncmp(q, "+0x", 3) == 0)
            plus = q;
    if (!plus || plus == site || (size_t)(plus - site) >= sizeof p->name || end - plus > 19 ||
        !is_hex(plus + 3, (size_t)(end - plus - 3)))
        return false;
    snprintf(p->name, sizeof p->name, "%.*s", (int)(plus - site), site);
    p->offset = strtoull(plus + 3, NULL, 16);
    return !strchr(p->name, '/') && strcmp(p->name, ".") != 0 && strcmp(p->name, "..") != 0;
}

/* ------------------------------------------------------------------- find -- */

/* Whether a better file is of no use. */
static bool is_done(const struct search *s)
{
    return s->best && ti_debug_detail(s->best) == TI_DEBUG_LINES;
}

static void try_path(struct search *s, const char *path)
{
    bool other = false;
    struct ti_debug *d;

    if (is_done(s))
        return;
    d = ti_debug_open(path, s->parts->build_id, &other);
    if (other && !s->other[0])
        snprintf(s->other, sizeof s->other, "%s", path);
    if (d && (!s->best || ti_debug_detail(d) > ti_debug_detail(s->best))) {
        ti_debug_close(s->best);
        s->best = d;
        snprintf(s->path, sizeof s->path, "%s", path);
    } else {
        ti_debug_close(d);
    }
}

/* Try a file of the folder of `length` characters. */
static void try_file(struct search *s, const char *folder, size_t length, const char *name,
                     const char *suffix)
{
    char path[PATH_BYTES];

    if (snprintf(path, sizeof path, "%.*s%s%s%s", (int)length, folder, length ? "/" : "", name,
                 suffix) < (int)sizeof path)
        try_path(s, path);
}

static void try_build_id(struct search *s, const char *folder, size_t length)
{
    char name[128];

    if (s->parts->build_id[0]) {
        snprintf(name, sizeof name, ".build-id/%.2s/%s.debug", s->parts->build_id,
                 s->parts->build_id + 2);
        try_file(s, folder, length, name, "");
    }
}

static void try_folders(struct search *s, const char *folders)
{
    while (folders && *folders) {
        size_t n = strcspn(folders, ":");

        if (n) {
            try_build_id(s, folders, n);
            try_file(s, folders, n, s->parts->name, "");
            try_file(s, folders, n, s->parts->name, ".debug");
        }
        folders += n + (folders[n] == ':');
    }
}

static void try_program(struct search *s, const char *program)
{
    const char *slash = strrchr(program, '/');

    if (slash)
        try_file(s, program, (size_t)(slash - program), s->parts->name, "");
    else
        try_file(s, "", 0, s->parts->name, "");
}

/* Libraries of the system are where this program has its C library from. */
static void try_system(struct search *s)
{
    static const char debug[] = "/usr/lib/debug";
    Dl_info libc;
    const char *slash;

    try_build_id(s, debug, strlen(debug));
    if (dladdr((void *)(uintptr_t)getenv, &libc) && (slash = strrchr(libc.dli_fname, '/')))
        try_file(s, libc.dli_fname, (size_t)(slash - libc.dli_fname), s->parts->name, "");
}

static void warn(struct ti_symbolizer *z, const struct search *s)
{
    bool unsure = s->best && !s->parts->build_id[0];

    if ((!unsure && (s->best || !s->other[0])) || ++z->warnings > WARNINGS_MOST)
        return;
    if (unsure) {
        ti_warn("'%s' has no build-id: if it was compiled since it was traced, source lines are "
                "wrong",
                s->path);
        ti_hint("link it with -Wl,--build-id");
    } else {
        ti_warn("'%s' was compiled anew since it was traced: its call sites have no source lines",
                s->other);
        ti_hint("--debug-dir DIR names a folder with the traced build");
    }
}

static struct ti_debug *find_module(struct ti_symbolizer *z, const struct parts *p)
{
    struct search s = {.parts = p};

    try_folders(&s, z->folders);
    for (size_t i = 0; i < z->programs.map.n; i++)
        try_program(&s, z->programs.text[i]);
    try_system(&s);
    warn(z, &s);
    return s.best;
}

static struct ti_debug *module_of(struct ti_symbolizer *z, const struct parts *p)
{
    char text[NAME_BYTES + 80];
    size_t known = z->module_names.map.n;
    int64_t i = -1;

    snprintf(text, sizeof text, "%s [%s]", p->name, p->build_id);
    if (TI_ROOM(z->module, &z->modules_cap, known + 1))
        i = ti_names_put(&z->module_names, text);
    if (i < 0)
        return NULL;
    if (i == (int64_t)known)
        z->module[i] = find_module(z, p);
    return z->module[i];
}

const struct ti_site_line *ti_symbolizer_find(struct ti_symbolizer *z, const char *site)
{
    struct parts p;
    struct ti_debug *d;
    int64_t known, i = -1;

    if (!z || !site)
        return NULL;
    known = (int64_t)z->site_names.map.n;
    if (TI_ROOM(z->site, &z->sites_cap, (size_t)known + 1))
        i = ti_names_put(&z->site_names, site);
    if (i < 0)
        return NULL;
    if (i == known && parse(site, &p) && (d = module_of(z, &p)))
        z->named |= ti_debug_find(d, p.offset, &z->site[i]);
    return z->site[i].function || z->site[i].file ? &z->site[i] : NULL;
}

/* ------------------------------------------------------------------- life -- */

struct ti_symbolizer *ti_symbolizer_open(const char *folders)
{
    struct ti_symbolizer *z = calloc(1, sizeof *z);

    if (z)
        z->folders = folders;
    return z;
}

void ti_symbolizer_add_rank(struct ti_symbolizer *z, const struct ti_reader *r)
{
    const char *command = ti_reader_info(r, "command");
    char path[PATH_BYTES];

    if (!z || !command || z->programs.map.n == PROGRAMS_MOST)
        return;
    snprintf(path, sizeof path, "%.*s", (int)strcspn(command, " "), command);
    ti_names_put(&z->programs, path); /* else its lines are not found */
}

void ti_symbolizer_advise(const struct ti_symbolizer *z)
{
    const char *module;

    if (!z || z->named || z->warnings || !z->module_names.map.n)
        return;
    module = z->module_names.text[0];
    ti_warn("no symbols of '%.*s' were found: call sites have no source lines",
            (int)(strrchr(module, '[') - module) - 1, module);
    ti_hint(ti_debug_available ? "--debug-dir DIR names a folder with the traced program, or with "
                                 "its debug information"
                               : "Tiara was built without libdw (elfutils), which reads symbols");
}

void ti_symbolizer_close(struct ti_symbolizer *z)
{
    if (!z)
        return;
    for (size_t i = 0; i < z->module_names.map.n; i++)
        ti_debug_close(z->module[i]);
    ti_names_free(&z->programs);
    ti_names_free(&z->module_names);
    ti_names_free(&z->site_names);
    free(z->module);
    free(z->site);
    free(z);
}

/* ------------------------------------------------------------------ print -- */

const char *ti_function_text(const struct ti_site_line *line, char *text, size_t bytes)
{
    if (line->function && line->offset)
        snprintf(text, bytes, "%s+0x%llx", line->function, (unsigned long long)line->offset);
    else
        snprintf(text, bytes, "%s", line->function ? line->function : "?");
    return text;
}

const char *ti_site_line_text(const struct ti_site_line *line, char *text, size_t bytes)
{
    const char *slash;
    char function[512];

    text[0] = '\0';
    if (!line)
        return text;
    ti_function_text(line, function, sizeof function);
    slash = line->file ? strrchr(line->file, '/') : NULL;
    if (line->file)
        snprintf(text, bytes, "%s %s:%d", function, slash ? slash + 1 : line->file, line->line);
    else
        snprintf(text, bytes, "%s", function);
    return text;
}

const char *ti_site_text(struct ti_symbolizer *z, const char *site, char *text, size_t bytes)
{
    const struct ti_site_line *line = ti_symbolizer_find(z, site);

    if (line)
        return ti_site_line_text(line, text, bytes);
    snprintf(text, bytes, "%.*s", site ? (int)strcspn(site, " ") : 0, site ? site : "");
    return text;
}

void ti_site_line_json(const struct ti_site_line *line, json_t *out)
{
    json_object_set_new(out, "function", ti_json_text(line ? line->function : NULL));
    json_object_set_new(out, "file", ti_json_text(line ? line->file : NULL));
    json_object_set_new(out, "line", line && line->file ? json_integer(line->line) : json_null());
}
