#include <sys/stat.h>

#include "common/cli.h"
#include "common/scratch.h"
#include "info/merge.h"
#include "trace/rankname.h"

static void report(const struct ti_trips *t, const char *output, int64_t bytes,
                   const struct info_style *style)
{
    char text[2048], size[32];

    if (style->json) {
        json_t *out =
            json_pack("{s:o, s:I}", "loops", ti_trips_json(t), "bytes", (json_int_t)bytes);

        info_print_json(out);
        json_decref(out);
    } else if (!style->quiet) {
        for (int i = 0; i < t->n; i++) {
            info_put_clean(ti_trips_text(&t->loop[i], text, sizeof text));
            putchar('\n');
        }
        printf("%s: %s, changed and sound\n", output, ti_format_size(bytes, size, sizeof size));
    }
}

ti_status info_trips(struct ti_source *s, struct ti_trips *trips, const char *output,
                     const struct info_style *style, struct ti_err *err)
{
    struct stat sb = {.st_size = 0};
    ti_status st = ti_scratch_open_beside(output, err);

    if (!st)
        st = ti_trips_write(trips, s, "ti-info", style->line.symbolizer,
                            ti_scratch_path(TI_MERGED_NAME), err);
    if (!st && stat(ti_scratch_path(TI_MERGED_NAME), &sb) != 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read what was written");
    if (!st)
        st = ti_scratch_publish(TI_MERGED_NAME, output, err);
    if (!st)
        report(trips, output, (int64_t)sb.st_size, style);
    ti_scratch_close();
    return st;
}
