/*
 * Finds out what a compiler would do with a command line, by asking it: with -###, gcc and clang
 * print the commands that they would run, without running them.  So response files, specs,
 * configuration files and the additions of an MPI wrapper are all taken into account.
 */
#ifndef TI_WRAP_DRIVER_H
#define TI_WRAP_DRIVER_H

#include <stdbool.h>

#include "common/args.h"
#include "common/err.h"

enum ti_compiler { TI_COMPILER_UNKNOWN, TI_COMPILER_GCC, TI_COMPILER_CLANG };
enum ti_link { TI_LINK_NONE, TI_LINK_EXECUTABLE, TI_LINK_SHARED, TI_LINK_RELOCATABLE };

struct ti_driver {
    enum ti_compiler compiler;
    char target[64]; /* "x86_64-linux-gnu"; "x32" or "i386" if an option asks for that; "" if
                      * unknown */
    bool compiles;   /* compiles a high-level language */
    bool assembles;
    bool pic; /* code may go into a shared object (-fPIC, not -fPIE) */
    bool lto;
    enum ti_link link;
    struct ti_args inputs; /* object files to be linked, NAME.o */
    bool failed;           /* asking ended with another status than 0 */
    char first_line[256];  /* first line of the output that has a letter; after Open MPI's line
                            * that it has found no compiler, the name of that, too */
};

/* Parse the compiler's output.  Release *d with ti_driver_free(). */
void ti_driver_parse(const char *text, struct ti_driver *d);

/*
 * Ask the compiler argv->v[0] what it would do with the other words.  TI_ERR_IO if it cannot be
 * run. A compiler that does not know -###, or fails, is TI_COMPILER_UNKNOWN.  Release *d with
 * ti_driver_free().
 */
ti_status ti_driver_ask(const struct ti_args *argv, struct ti_driver *d, struct ti_err *err);
void ti_driver_free(struct ti_driver *d);

/*
 * Whether an object file has code that is generated when it is linked (gcc's -flto, fat or not,
 * and clang's bitcode).  False if it cannot be read: the linker will report that.
 */
bool ti_object_is_lto(const char *path);

#endif
