/* The assembler of the counter blocks, over any text and any object: a length of two
 * bytes, the text, the object. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wrap/assembler/emit.h"
#include "wrap/assembler/verify.h"
#include "tests/fuzz/fuzz.h"

static void emit(const struct ti_text *t, const struct ti_flow *f,
                 const struct ti_blocks_options *opt, const int64_t *own, bool map)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    struct ti_err err;

    if (!out)
        abort();
    if (!ti_blocks_emit(out, t, f, opt, own, map, &err) && !f && !map) {
        fclose(out);
        /* Nothing added: the same text, behind the line with its name. */
        if (n < t->bytes + 1 || memcmp(text + n - t->bytes - 1, t->text, t->bytes) != 0)
            abort();
    } else {
        fclose(out);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct ti_blocks_options opt = {0};
    struct ti_object o = {0};
    struct ti_flow f = {0};
    struct ti_text t = {0};
    struct ti_err err;
    size_t n;

    if (bytes < 2)
        return 0;
    n = data[0] | (size_t)data[1] << 8;
    opt.pic = n & 1;
    opt.audit = n & 2;
    data += 2;
    bytes -= 2;
    n = n < bytes ? n : bytes;
    if (!ti_text_parse(&t, (const char *)data, n, "fuzz.s", &opt, &err)) {
        char path[64];
        int fd = ti_fuzz_file(data + n, bytes - n);
        int64_t *own = ti_blocks_zero(1 << 16, sizeof(*own));
        size_t end = 0;

        for (size_t i = 0; i < t.n; i++) {
            if (t.stmts[i].at < end || t.stmts[i].at + t.stmts[i].len > n)
                abort();
            end = t.stmts[i].at + t.stmts[i].len;
        }
        emit(&t, NULL, &opt, NULL, false);
        emit(&t, NULL, &opt, NULL, true);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (!ti_object_read(&o, path, t.n, &err) && !ti_flow_decode(&f, &t, &o, &err) &&
            !ti_flow_plan(&f, &t, &o, &opt, &err) && f.nadds < 1 << 16) {
            ti_verify(&t, &f, &o, &o, own, &err);
            emit(&t, &f, &opt, own, true);
        }
        free(own);
        close(fd);
        ti_flow_free(&f);
        ti_object_free(&o);
    }
    ti_text_free(&t);
    return 0;
}
