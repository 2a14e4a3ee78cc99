/*
 * What a compiler would do with a command line, found out by asking it: gcc and
 * clang print, told -###, the commands they would run, and run none.  So response
 * files, specs, configuration files and what an MPI wrapper adds are all seen.
 */
#ifndef TI_DRIVER_H
#define TI_DRIVER_H

#include <stdbool.h>

#include "common/args.h"
#include "common/err.h"

enum ti_compiler { TI_COMPILER_UNKNOWN, TI_COMPILER_GCC, TI_COMPILER_CLANG };
enum ti_link { TI_LINK_NONE, TI_LINK_EXECUTABLE, TI_LINK_SHARED, TI_LINK_RELOCATABLE };

struct ti_driver {
    enum ti_compiler compiler;
    char target[64]; /* "x86_64-linux-gnu"; "x32" or "i386" when told to be that; "" unknown */
    bool compiles;   /* something of a high-level language */
    bool assembles;
    bool pic; /* the code may go into a shared object (-fPIC, not -fPIE) */
    bool lto;
    enum ti_link link;
    struct ti_args inputs; /* object files that are linked, NAME.o */
    char said[256];        /* the first line with a word in it */
};

/* Read what was printed.  Release *d with ti_driver_free(). */
void ti_driver_parse(const char *text, struct ti_driver *d);

/*
 * Ask the compiler `argv[0]` about the rest.  TI_ERR_IO if it cannot be run.  One that
 * knows no -###, or fails, is TI_COMPILER_UNKNOWN.
 */
ti_status ti_driver_ask(const struct ti_args *argv, struct ti_driver *d, struct ti_err *err);
void ti_driver_free(struct ti_driver *d);

/*
 * Whether an object file holds code that is made when it is linked (gcc's -flto, fat
 * or not, and clang's bitcode).  False for what cannot be read: the linker will say.
 */
bool ti_object_is_lto(const char *path);

#endif
