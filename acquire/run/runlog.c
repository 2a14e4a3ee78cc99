#include "acquire/run/runlog.h"

#include <stdarg.h>
#include <stdlib.h>

#include "common/cli.h"
#include "node/launch.h"

ti_status ti_runlog_open(struct ti_runlog *log, const char *path, struct ti_err *err)
{
    log->began = ti_now();
    log->file = fopen(path, "we");
    if (!log->file)
        return ti_err_errno(err, TI_ERR_IO, "cannot write the log '%s'", path);
    setvbuf(log->file, NULL, _IOLBF, 0);
    return TI_OK;
}

void ti_runlog_close(struct ti_runlog *log)
{
    if (log->file)
        fclose(log->file);
    log->file = NULL;
}

void ti_runlog_note(void *arg, const char *fmt, ...)
{
    struct ti_runlog *log = arg;
    char *text = NULL;
    va_list ap;

    if (!log->file)
        return;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    ti_print(log->file, "%9.3f %s\n", ti_now() - log->began, text ? text : "?");
    free(text);
}

void ti_runlog_text(struct ti_runlog *log, const void *data, size_t bytes)
{
    if (log->file)
        fwrite(data, 1, bytes, log->file);
}
