/*
 * Make a run directory from a script (tests/unit/script.h), for tests of what reads one.
 *
 *   mkscript RANKS DIR <SCRIPT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/script.h"

int main(int argc, char **argv)
{
    static char text[1 << 22];
    size_t n = fread(text, 1, sizeof text - 1, stdin);
    char *command;

    if (argc != 3 || n == sizeof text - 1)
        return 2;
    script_trace(atoi(argv[1]), -1, text);
    if (asprintf(&command, "mv '%s' '%s'", script_dir(), argv[2]) < 0)
        return 4;
    return system(command) == 0 ? 0 : 4;
}
