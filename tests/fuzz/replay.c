/*
 * Run a fuzz target over files, without libFuzzer:
 *
 *   replay-trace [--seconds S] [--mib M] FILE...
 *
 * A file fails when the target aborts, or takes more than S seconds [10] of CPU
 * time, or when memory has grown beyond M MiB [1024] after it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/fuzz/fuzz.h"

static double cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static long peak_mib(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss / 1024;
}

static uint8_t *load(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t room = 0;

    *bytes = 0;
    if (!f)
        return NULL;
    do {
        uint8_t *grown;

        room += 65536;
        grown = realloc(data, room);
        if (!grown)
            abort();
        data = grown;
        *bytes += fread(data + *bytes, 1, room - *bytes, f);
    } while (*bytes == room);
    fclose(f);
    return data;
}

int main(int argc, char **argv)
{
    double limit_s = 10;
    long limit_mib = 1024;
    int failed = 0, i = 1;

    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0)
            limit_s = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--mib") == 0)
            limit_mib = atol(argv[i + 1]);
        else
            return 2;
    }
    for (; i < argc; i++) {
        double start = cpu_seconds();
        size_t bytes;
        uint8_t *data = load(argv[i], &bytes);

        if (!data) {
            printf("%s: cannot be read\n", argv[i]);
            return 2;
        }
        printf("%s: ", argv[i]); /* so that the last line names who aborted */
        fflush(stdout);
        LLVMFuzzerTestOneInput(data, bytes);
        start = cpu_seconds() - start;
        printf("%zu bytes, %.2f s, peak %ld MiB so far\n", bytes, start, peak_mib());
        if (start > limit_s || peak_mib() > limit_mib) {
            printf("%s: too much for it\n", argv[i]);
            failed = 1;
        }
        free(data);
    }
    return failed;
}
