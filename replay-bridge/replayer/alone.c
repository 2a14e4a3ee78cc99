#include "replay-bridge/replayer/alone.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/err.h"
#include "common/map.h"

#ifdef TI_INTERPRETER
/* The kernel executes a shared object that names the program which loads libraries. */
__attribute__((section(".interp"), used)) static const char interpreter[] = TI_INTERPRETER;
#endif

#if defined __x86_64__ || defined __i386__
#define REALIGN __attribute__((force_align_arg_pointer)) /* no function calls the entry point */
#else
#define REALIGN
#endif

/* The arguments: the entry point has none in C. */
static char **arguments(int *argc)
{
    FILE *f = fopen("/proc/self/cmdline", "re");
    char **argv = NULL, *arg = NULL;
    size_t room = 0, bytes = 0;

    for (*argc = 0; f && getdelim(&arg, &bytes, '\0', f) > 0; arg = NULL, bytes = 0) {
        argv = ti_grow(argv, &room, (size_t)*argc + 2, sizeof *argv);
        argv[(*argc)++] = arg;
    }
    if (f)
        fclose(f);
    return argv;
}

_Noreturn void ti_alone_start(void);
REALIGN _Noreturn void ti_alone_start(void)
{
    int argc;
    char **argv = arguments(&argc);

    exit(argv ? ti_alone(argc, argv) : TI_ERR_IO);
}
