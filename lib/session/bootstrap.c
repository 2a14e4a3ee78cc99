#include "session/bootstrap.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/frame.h"

#define PIECE (32 * 1024)

/* --- the command --------------------------------------------------------- */

/*
 * A script for sh, in single quotes for any login shell.  So it has no single quote, no backslash
 * (fish), no exclamation mark (csh) and no newline (csh).  @H, @N and @F stand for the hash, the
 * bytes of ti-node and the processor family.  If ti-node is there already, which is the usual case,
 * the script starts no other program.  A home that is not writable, or whose files cannot be
 * executed, is skipped.  An unfinished folder is removed when the input ends early ("install" then
 * ends with TI_ERR_REMOTE, 5) or the connection is cut: then writing fails with SIGPIPE (141).
 */
static const char fetch_text[] =
    "umask 077; h=@H n=@N c=\"${HOME:-/}/.cache/tiara\"; "
    "safe() { [ -d \"$1\" ] && [ -O \"$1\" ] && if [ -L \"$1\" ]; then return 1; fi; }; "
    "try() { safe \"$1\" && \"$1/$h/ti-node\" --version >/dev/null 2>&1 && "
    "exec \"$1/$h/ti-node\" serve; }; "
    "try \"$c\"; u=/tmp/tiara-$(id -u); try \"$u\"; "
    "m=$(uname -m); if [ \"$m\" = @F ]; then :; else "
    "echo \"ti-node: this node is $m, and Tiara here is for @F\" >&2; "
    "echo \"hint: install Tiara there, and say where: tiara = FOLDER in the cluster of the sites "
    "file\" >&2; exit 91; fi; "
    "w=; gone() { if [ \"$w\" ]; then rm -rf \"$w\"; fi; }; trap gone EXIT; "
    "trap \"exit 94\" HUP INT PIPE TERM; "
    "for b in \"$c\" \"$u\"; do "
    "mkdir -p \"$b\" 2>/dev/null; safe \"$b\" || continue; v=\"$b/.new-$(uname -n)-$$\"; "
    "mkdir \"$v\" 2>/dev/null || continue; w=$v; "
    "if cp /bin/true \"$w/true\" 2>/dev/null && \"$w/true\" 2>/dev/null; then "
    "rm -f \"$w/true\"; echo \"TIARA-SEND $h 1\" || exit 94; "
    "if echo x | head -c 1 >/dev/null 2>&1; then head -c $n; "
    "else dd bs=1 count=$n 2>/dev/null; fi | "
    "{ cat >\"$w/ti-node\" || { cat >/dev/null; false; }; } 2>/dev/null; full=$?; "
    "chmod 700 \"$w/ti-node\"; "
    "if [ $(wc -c <\"$w/ti-node\") -eq $n ]; then "
    "if \"$w/ti-node\" --version >/dev/null 2>&1; then "
    "\"$w/ti-node\" install \"$w\" \"$b\" $h; i=$?; "
    "[ $i = 0 ] && exec \"$b/$h/ti-node\" serve --shipped; [ $i = 5 ] || [ $i = 141 ] && exit 94; "
    "else echo \"ti-node: cannot be executed here: $(\"$w/ti-node\" --version 2>&1)\" >&2; fi; "
    "elif [ $full = 0 ]; then exit 94; "
    "else echo \"ti-node: cannot write $w: disk full, or over quota\" >&2; fi; fi; "
    "gone; w=; done; "
    "echo \"ti-node: neither $c nor $u takes programs and executes them\" "
    ">&2; "
    "echo \"hint: make room or mount one of them without noexec; or install Tiara there, and say "
    "where: tiara = FOLDER in the cluster of the sites file\" >&2; exit 92";

/* For an installed Tiara; @D stands for its folder. */
static const char installed_text[] =
    "d=\"@D\"; for t in \"$d/ti-node\" \"$d/libexec/tiara/ti-node\"; do "
    "[ -x \"$t\" ] && exec \"$t\" serve; done; "
    "echo \"ti-node: no ti-node in $d, which the sites file names (tiara)\" >&2; "
    "echo \"hint: install Tiara there, or leave tiara out: it is then sent\" >&2; exit 93";

static char *substitute(const char *text, char mark, const char *value, char *was)
{
    char *out = NULL;
    size_t bytes;
    FILE *f = open_memstream(&out, &bytes);

    for (const char *p = text; f && *p; p++) {
        if (p[0] == '@' && p[1] == mark) {
            fputs(value, f);
            p++;
        } else {
            fputc(*p, f);
        }
    }
    if (f)
        fclose(f);
    free(was);
    return out;
}

static const char folder_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789/._-+,:=@%~";

ti_status ti_bootstrap_check_folder(const char *tiara, struct ti_err *err)
{
    if (strlen(tiara) <= PATH_MAX / 2 && !tiara[strspn(tiara, folder_characters)] &&
        (tiara[0] == '/' || strncmp(tiara, "~/", 2) == 0))
        return TI_OK;
    return ti_err_set(err, TI_ERR_INPUT,
                      "'%s' (tiara) must be the absolute path of a folder on the nodes, of "
                      "letters, digits and /._-+,:=@%%~",
                      tiara);
}

ti_status ti_bootstrap_command(struct ti_payload *p, const char *tiara, char **command,
                               struct ti_err *err)
{
    char bytes[32], folder[PATH_MAX];
    char *text;

    if (tiara && ti_bootstrap_check_folder(tiara, err) != TI_OK)
        return TI_ERR_INPUT;
    if (tiara) {
        snprintf(folder, sizeof folder, "%s%s", tiara[0] == '~' ? "$HOME" : "",
                 tiara[0] == '~' ? tiara + 1 : tiara);
        text = substitute(installed_text, 'D', folder, NULL);
    } else if (ti_payload_wait(p, err) != TI_OK) {
        return TI_ERR_IO;
    } else {
        snprintf(bytes, sizeof bytes, "%zu", ti_payload_node_bytes(p));
        text = substitute(fetch_text, 'H', ti_payload_hash(p), NULL);
        text = text ? substitute(text, 'N', bytes, text) : NULL;
        text = text ? substitute(text, 'F', ti_payload_family(p), text) : NULL;
    }
    if (!text || asprintf(command, "exec /bin/sh -c '%s'", text) < 0) {
        free(text);
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot put the command for the nodes together");
    }
    free(text);
    return TI_OK;
}

/* --- one node ------------------------------------------------------------ */

/* Append to buf, and keep only the end if it is full. */
static void keep_end(char *buf, size_t room, const char *data, size_t bytes)
{
    size_t had = strlen(buf), keep;

    if (bytes > room - 1) {
        data += bytes - (room - 1);
        bytes = room - 1;
    }
    keep = had + bytes > room - 1 ? room - 1 - bytes : had;
    memmove(buf, buf + had - keep, keep);
    for (size_t i = 0; i < bytes; i++)
        buf[keep + i] = data[i] ? data[i] : '?';
    buf[keep + bytes] = '\0';
}

void ti_bootstrap_err_output(struct ti_bootstrap *b, const void *data, size_t bytes)
{
    keep_end(b->said, sizeof b->said, data, bytes);
    b->said_bytes += bytes;
}

bool ti_bootstrap_noisy(const struct ti_bootstrap *b, struct ti_err *err)
{
    if (b->said_bytes <= TI_FRAME_NOISE_MAX)
        return false;
    ti_err_set(err, TI_ERR_REMOTE, "%d MiB came on standard error, and no ti-node",
               TI_FRAME_NOISE_MAX >> 20);
    ti_err_hint(err, "do its login scripts print without end?");
    return true;
}

/* More requests for a part are an error: there are fewer places to try. */
#define ASKED_MOST 20

/* Watches for the lines with which the shell asks for a part.  It asks for the same part again when
 * it tries another place. */
void ti_bootstrap_output(struct ti_bootstrap *b, const void *data, size_t bytes)
{
    char wanted[64];
    const char *at;

    for (const char *p = data; bytes;) {
        size_t piece = bytes < 32 ? bytes : 32;

        keep_end(b->window, sizeof b->window, p, piece);
        p += piece;
        bytes -= piece;
        snprintf(wanted, sizeof wanted, "TIARA-SEND %s ", ti_payload_hash(b->payload));
        at = strstr(b->window, wanted);
        if (!at || !strchr(at, '\n'))
            continue;
        b->part = at[strlen(wanted)] == '2' ? TI_PAYLOAD_OTHERS : TI_PAYLOAD_NODE;
        b->at = 0;
        b->window[0] = '\0';
        if (++b->asked > ASKED_MOST) {
            ti_err_set(&b->err, TI_ERR_REMOTE, "it asks for our files again and again");
            b->part = TI_PAYLOAD_NONE;
            return;
        }
        if (ti_payload_need(b->payload, b->part, &b->err) != TI_OK)
            b->part = TI_PAYLOAD_NONE;
    }
}

bool ti_bootstrap_waits(const struct ti_bootstrap *b)
{
    size_t bytes;

    return b->part == TI_PAYLOAD_OTHERS && !ti_payload_part(b->payload, b->part, &bytes) &&
           !ti_payload_error(b->payload);
}

const void *ti_bootstrap_next(struct ti_bootstrap *b, size_t *bytes)
{
    size_t room = 0;
    const unsigned char *part = b->part ? ti_payload_part(b->payload, b->part, &room) : NULL;
    const struct ti_err *failed = b->part ? ti_payload_error(b->payload) : NULL;

    if (b->part == TI_PAYLOAD_OTHERS && !part && failed && !b->err.text[0])
        b->err = *failed;
    if (!part || b->at >= room)
        return NULL;
    *bytes = room - b->at < PIECE ? room - b->at : PIECE;
    part += b->at;
    b->at += *bytes;
    b->sent += (int64_t)*bytes;
    return part;
}

/* Copy the last line that begins with `word` to `out`. */
static bool last_line(const char *said, const char *word, char *out, size_t room)
{
    const char *found = NULL;

    for (const char *p = said; (p = strstr(p, word)) != NULL; p++)
        if (p == said || p[-1] == '\n')
            found = p + strlen(word);
    if (found)
        snprintf(out, room, "%.*s", (int)strcspn(found, "\n"), found);
    return found != NULL;
}

/* Copy the last line that is not empty to `out`. */
static void end_of(const char *said, char *out, size_t room)
{
    size_t n = strlen(said), from;

    while (n && (said[n - 1] == '\n' || said[n - 1] == '\r' || said[n - 1] == ' '))
        n--;
    for (from = n; from && said[from - 1] != '\n';)
        from--;
    snprintf(out, room, "%.*s", (int)(n - from), said + from);
}

static ti_status named(const char *node, struct ti_err *err)
{
    if (node)
        ti_err_prefix(err, TI_ERR_REMOTE, "node '%s'", node);
    return TI_ERR_REMOTE;
}

ti_status ti_bootstrap_why(const struct ti_bootstrap *b, const char *node, const char *noise,
                           const struct ti_channel_result *r, struct ti_err *err)
{
    char text[512];

    if (b->err.text[0]) {
        if (err)
            *err = b->err;
        return TI_ERR_IO;
    }
    if (r->end != TI_CHANNEL_EXITED) {
        if (err)
            *err = r->err;
        return TI_ERR_REMOTE;
    }
    if (last_line(b->said, "ti-node: ", text, sizeof text)) {
        ti_err_set(err, TI_ERR_REMOTE, "%s", text);
        if (last_line(b->said, "hint: ", text, sizeof text))
            ti_err_hint(err, "%s", text);
        return named(node, err);
    }
    end_of(b->said[0] ? b->said : noise ? noise : "", text, sizeof text);
    ti_err_set(err, TI_ERR_REMOTE, "ti-node did not start, status %d%s%s", r->status,
               text[0] ? ": " : "", text);
    if (node)
        ti_err_hint(err, "does 'ssh %s true' work, and say nothing?", node);
    else
        ti_err_hint(err, "can commands be run there, and do they say nothing of themselves?");
    return named(node, err);
}
