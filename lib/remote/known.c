#include "remote/known.h"

#include <libssh2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/map.h"
#include "remote/conf.h"
#include "remote/internal.h"

enum mark { PLAIN, AUTHORITY, REVOKED };

struct entry {
    enum mark mark;
    char *names, *type, *key;   /* base64 */
    LIBSSH2_KNOWNHOSTS *hashed; /* with this one name, if it is hashed */
    long line;
};

struct file {
    struct file *next;
    char *path;
    struct entry *entries;
    size_t count, room;
};

struct ti__known {
    struct file *files;
    LIBSSH2_SESSION *session; /* not connected; libssh2 needs one for hashing */
};

/* --- reading -------------------------------------------------------------------- */

static void add_entry(struct ti__known *k, struct file *f, char *line, long number)
{
    struct entry e = {.line = number};
    char *rest = NULL, *word = strtok_r(line, " \t\r\n", &rest);

    if (!word || *word == '#')
        return;
    if (*word == '@') {
        e.mark = strcmp(word, "@revoked") == 0 ? REVOKED : AUTHORITY;
        if (e.mark == AUTHORITY && strcmp(word, "@cert-authority") != 0)
            return;
        word = strtok_r(NULL, " \t\r\n", &rest);
    }
    e.names = word;
    e.type = strtok_r(NULL, " \t\r\n", &rest);
    e.key = strtok_r(NULL, " \t\r\n", &rest);
    if (!e.names || !e.type || !e.key)
        return;
    f->entries = ti_grow(f->entries, &f->room, f->count + 1, sizeof *f->entries);
    if (e.names[0] == '|' && (e.hashed = libssh2_knownhost_init(k->session)) != NULL) {
        char text[512]; /* the key does not matter, but must look like one */
        int n = snprintf(text, sizeof text, "%s ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAA\n", e.names);

        if (n < 0 || (size_t)n >= sizeof text ||
            libssh2_knownhost_readline(e.hashed, text, (size_t)n, LIBSSH2_KNOWNHOST_FILE_OPENSSH) !=
                0) {
            libssh2_knownhost_free(e.hashed);
            return;
        }
    }
    e.names = strdup(e.names);
    e.type = strdup(e.type);
    e.key = strdup(e.key);
    f->entries[f->count++] = e;
}

static struct file *file_at(struct ti__known *k, const char *path)
{
    struct file *f;
    char *line = NULL;
    size_t room = 0;
    FILE *in;

    for (f = k->files; f; f = f->next)
        if (strcmp(f->path, path) == 0)
            return f;
    f = calloc(1, sizeof *f);
    if (!f || !(f->path = strdup(path))) {
        free(f);
        return NULL;
    }
    f->next = k->files;
    k->files = f;
    in = fopen(path, "re");
    for (long n = 1; in && getline(&line, &room, in) >= 0; n++)
        add_entry(k, f, line, n);
    free(line);
    if (in)
        fclose(in);
    return f;
}

struct ti__known *ti__known_new(void)
{
    struct ti__known *k = calloc(1, sizeof *k);

    if (k && !(k->session = libssh2_session_init())) {
        free(k);
        return NULL;
    }
    return k;
}

void ti__known_free(struct ti__known *k)
{
    if (!k)
        return;
    while (k->files) {
        struct file *f = k->files;

        k->files = f->next;
        for (size_t i = 0; i < f->count; i++) {
            if (f->entries[i].hashed)
                libssh2_knownhost_free(f->entries[i].hashed);
            free(f->entries[i].names);
            free(f->entries[i].type);
            free(f->entries[i].key);
        }
        free(f->entries);
        free(f->path);
        free(f);
    }
    libssh2_session_free(k->session);
    free(k);
}

/* --- names ----------------------------------------------------------------------- */

/* Globs with '*' and '?', case-insensitive. */
static bool glob_matches(const char *pattern, size_t bytes, const char *name)
{
    for (; bytes && *pattern != '*'; pattern++, bytes--, name++)
        if (!*name || (*pattern != '?' && strncasecmp(pattern, name, 1) != 0))
            return false;
    if (!bytes)
        return !*name;
    for (;; name++) {
        if (glob_matches(pattern + 1, bytes - 1, name))
            return true;
        if (!*name)
            return false;
    }
}

static bool in_patterns(const char *list, const char *name)
{
    bool found = false;

    while (*list) {
        size_t n = strcspn(list, ",");
        bool no = *list == '!';

        if (n > (size_t)no && glob_matches(list + no, n - no, name)) {
            if (no)
                return false;
            found = true;
        }
        list += n + (list[n] == ',');
    }
    return found;
}

static bool is_named(const struct entry *e, const char *name)
{
    struct libssh2_knownhost *found;

    if (e->hashed) {
        int rc = libssh2_knownhost_check(
            e->hashed, name, "x", 1, LIBSSH2_KNOWNHOST_TYPE_PLAIN | LIBSSH2_KNOWNHOST_KEYENC_RAW,
            &found);

        /* CHECK_FAILURE is no match */
        return rc == LIBSSH2_KNOWNHOST_CHECK_MATCH || rc == LIBSSH2_KNOWNHOST_CHECK_MISMATCH;
    }
    return e->names[0] != '|' && in_patterns(e->names, name);
}

/* --- asking ----------------------------------------------------------------------- */

char *ti__base64(const unsigned char *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((n + 2) / 3 * 4 + 1), *out = text;

    for (size_t i = 0; text && i < n; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? p[i + 2] : 0);

        *out++ = digits[v >> 18 & 63];
        *out++ = digits[v >> 12 & 63];
        *out++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
        *out++ = i + 2 < n ? digits[v & 63] : '=';
    }
    if (text)
        *out = '\0';
    return text;
}

/* Calls `f` for each entry of `name` in the files of `conf`, until it returns true. */
static bool each_entry(struct ti__known *k, const struct ti__conf *conf, const char *name,
                       bool (*f)(const struct file *file, const struct entry *e, void *arg),
                       void *arg)
{
    char *paths = conf->known ? strdup(conf->known) : NULL, *rest = NULL;
    bool done = false;

    for (char *p = paths ? strtok_r(paths, " ", &rest) : NULL; p && !done;
         p = strtok_r(NULL, " ", &rest)) {
        const struct file *file = file_at(k, p);

        for (size_t i = 0; file && i < file->count && !done; i++)
            done = is_named(&file->entries[i], name) && f(file, &file->entries[i], arg);
    }
    free(paths);
    return done;
}

static bool is_plain(const struct file *file, const struct entry *e, void *arg)
{
    (void)file;
    (void)arg;
    return e->mark == PLAIN;
}

/* The name to look up, as OpenSSH does: [HOST]:PORT for another port than 22, or HOST if that is
 * not known. */
static void name_of(struct ti__known *k, const struct ti__conf *conf, char *name, size_t bytes)
{
    if (conf->alias) {
        snprintf(name, bytes, "%s", conf->alias);
        return;
    }
    snprintf(name, bytes, conf->port == 22 ? "%s" : "[%s]:%d", conf->host, conf->port);
    if (conf->port != 22 && !each_entry(k, conf, name, is_plain, NULL))
        snprintf(name, bytes, "%s", conf->host);
}

struct question {
    const char *key, *type;
    enum ti__known_verdict verdict;
    char *where;
    size_t bytes;
};

static bool compare(const struct file *file, const struct entry *e, void *arg)
{
    struct question *q = arg;
    bool same = strcmp(e->key, q->key) == 0;

    if (e->mark == AUTHORITY || (e->mark == REVOKED && !same))
        return false;
    if (same && q->verdict != TI__KNOWN_SAME) {
        q->verdict = e->mark == REVOKED ? TI__KNOWN_REVOKED : TI__KNOWN_SAME;
        snprintf(q->where, q->bytes, "%s:%ld", file->path, e->line);
    } else if (same && e->mark == REVOKED) {
        q->verdict = TI__KNOWN_REVOKED;
        snprintf(q->where, q->bytes, "%s:%ld", file->path, e->line);
    } else if (q->verdict == TI__KNOWN_NOT) {
        q->verdict = TI__KNOWN_OTHER;
        snprintf(q->where, q->bytes, "%s:%ld", file->path, e->line);
    }
    return q->verdict == TI__KNOWN_REVOKED;
}

/* Only checks whether the key is revoked. */
static bool is_revoked(const struct file *file, const struct entry *e, void *arg)
{
    return e->mark == REVOKED && compare(file, e, arg);
}

enum ti__known_verdict ti__known_check(struct ti__known *k, const struct ti__conf *conf,
                                       const void *key, size_t bytes, char *where,
                                       size_t where_bytes)
{
    char name[512], *text = ti__base64(key, bytes);
    struct question q = {
        .key = text, .verdict = TI__KNOWN_NOT, .where = where, .bytes = where_bytes};

    if (!text)
        return TI__KNOWN_NOT;
    where[0] = '\0';
    /* A key that is revoked for [HOST]:PORT is bad even if HOST has it. */
    if (!conf->alias && conf->port != 22) {
        snprintf(name, sizeof name, "[%s]:%d", conf->host, conf->port);
        each_entry(k, conf, name, is_revoked, &q);
    }
    name_of(k, conf, name, sizeof name);
    if (q.verdict != TI__KNOWN_REVOKED)
        each_entry(k, conf, name, compare, &q);
    free(text);
    return q.verdict;
}

static bool of_type(const struct file *file, const struct entry *e, void *arg)
{
    (void)file;
    return e->mark == PLAIN && (!arg || strcmp(e->type, arg) == 0);
}

bool ti__known_has(struct ti__known *k, const struct ti__conf *conf, const char *type)
{
    char name[512];

    name_of(k, conf, name, sizeof name);
    return each_entry(k, conf, name, of_type, (void *)type);
}

static bool is_authority(const struct file *file, const struct entry *e, void *arg)
{
    (void)file;
    (void)arg;
    return e->mark == AUTHORITY;
}

bool ti__known_authority(struct ti__known *k, const struct ti__conf *conf)
{
    char name[512];

    name_of(k, conf, name, sizeof name);
    return each_entry(k, conf, name, is_authority, NULL);
}

/* --- export ------------------------------------------------------------------------- */

struct lines {
    FILE *out;
    const char *names;
};

static bool write_line(const struct file *file, const struct entry *e, void *arg)
{
    static const char *const marks[] = {
        [PLAIN] = "", [AUTHORITY] = "@cert-authority ", [REVOKED] = "@revoked "};
    struct lines *l = arg;

    (void)file;
    fprintf(l->out, "%s%s %s %s\n", marks[e->mark], l->names, e->type, e->key);
    return false;
}

static bool write_revoked(const struct file *file, const struct entry *e, void *arg)
{
    return e->mark == REVOKED && write_line(file, e, arg);
}

/* "[HOST]:PORT" unless it is the usual one, after a comma unless it is the first. */
static void add_name(char *names, size_t room, const char *host, int port)
{
    size_t n = strlen(names);

    if (n)
        n += (size_t)snprintf(names + n, room - n, ",");
    snprintf(names + n, room - n, port == 22 ? "%s" : "[%s]:%d", host, port);
}

/* The host's entries, with @revoked and @cert-authority, as known_hosts lines for another machine,
 * under the name in the target and the name that ssh -G gives it.  free() it; NULL: no memory. */
static char *known_lines(struct ti__known *k, const struct ti__conf *conf)
{
    char name[512], names[2048] = "", *text = NULL;
    struct lines l = {.names = names};
    struct ti__target t;
    size_t bytes;

    if (!ti__target(&t, conf->target) || strlen(conf->host) > 512 || strpbrk(t.host, "*?!,") ||
        strpbrk(conf->host, "*?!,")) /* these would be patterns */
        return strdup("");
    l.out = open_memstream(&text, &bytes);
    if (!l.out)
        return NULL;
    add_name(names, sizeof names, t.host, t.port ? atoi(t.port) : 22);
    if (strcmp(t.host, conf->host) != 0 || (!t.port && conf->port != 22))
        add_name(names, sizeof names, conf->host, conf->port);
    if (!conf->alias && conf->port != 22) { /* revoked for this port, though HOST is known */
        snprintf(name, sizeof name, "[%s]:%d", conf->host, conf->port);
        each_entry(k, conf, name, write_revoked, &l);
    }
    name_of(k, conf, name, sizeof name);
    each_entry(k, conf, name, write_line, &l);
    fclose(l.out);
    return text;
}

bool ti_remote_known(struct ti_remote *r, const char *host, char **lines, double *connect_s)
{
    const struct ti__conf *conf = ti__conf_of_keys(r, host, true);

    *lines = NULL;
    *connect_s = 0;
    if (!conf)
        return true;
    if (conf->state < TI__CONF_KNOWN) {
        ti__confs_start(r);
        return false;
    }
    *connect_s = conf->connect_s;
    if (!r->known)
        r->known = ti__known_new();
    if (conf->state == TI__CONF_BAD)
        *lines = strdup("");
    else if (r->known)
        *lines = known_lines(r->known, conf);
    return true;
}

void ti_remote_prefetch(struct ti_remote *r, const char *host)
{
    if (!r->config->via)
        ti__conf_of_keys(r, host, false);
}
