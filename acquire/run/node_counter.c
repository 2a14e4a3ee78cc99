/*
 * ti-node-counter: reports which counter works on this node.  ti-node runs it, because ti-node is
 * linked statically to run everywhere and therefore cannot load PAPI.
 *
 *   ti-node-counter NAME sum|caller [PROGRAM [ALSO]]
 *   ti-node-counter --program PROGRAM
 *
 * The second form describes a program, for ti-acquire: it is run in the program's container.
 */
#include <stdio.h>
#include <string.h>

#include "acquire/run/choose.h"
#include "common/cli.h"
#include "program/program.h"
#include "session/paths.h"

/* One line per key: a newline in the text becomes a space. */
static void print(const char *key, const char *text)
{
    printf("%s ", key);
    for (; *text; text++)
        putchar(*text == '\n' ? ' ' : *text);
    putchar('\n');
}

static void print_bool(const char *key, bool v)
{
    print(key, v ? "true" : "false");
}

#define USAGE "ti-node-counter NAME sum|caller [PROGRAM [ALSO]] | --program PROGRAM"

static void print_error(const struct ti_err *err)
{
    print("error", err->text);
    if (err->hint[0])
        print("hint", err->hint);
}

static void describe(const char *given)
{
    struct ti_program p;
    struct ti_err err = {"", ""};

    if (ti_program_find(given, &p, &err) == TI_OK) {
        print("path", p.path);
        print("mpi", ti_mpi_kind_names[p.mpi]);
        print("library", p.library);
        print_bool("setid", p.setid);
        print_bool("elf", p.is_elf);
        print_bool("openmp", p.openmp);
        print_bool("blocks", p.blocks);
    } else {
        print_error(&err);
    }
    ti_program_free(&p);
}

int main(int argc, char **argv)
{
    static struct ti_paths paths;
    struct ti_program program;
    struct ti_counter_choice choice;
    struct ti_err err = {"", ""};
    ti_status st;
    bool sum;
    int end = ti_cli_helper("ti-node-counter", USAGE, argc, argv);

    if (end != TI_CLI_END)
        return end;
    if (argc < 3) {
        fputs("usage: " USAGE "\n", stderr);
        return TI_ERR_USAGE;
    }
    if (strcmp(argv[1], "--program") == 0) {
        describe(argv[2]);
        return 0;
    }
    memset(&program, 0, sizeof program);
    if (argc > 3 && argv[3][0])
        ti_program_find(argv[3], &program, &err);
    st = ti_paths_find(&paths, &err);
    sum = strcmp(argv[2], "sum") == 0;
    if (st == TI_OK)
        st = ti_counter_choose(argv[1], sum, &program, paths.valgrind[0] ? paths.valgrind : NULL,
                               &choice, &err);
    if (st == TI_OK && argc > 4 && argv[4][0])
        st = ti_counter_check_also(argv[4], sum, &choice, &err);
    if (st != TI_OK) {
        print_error(&err);
    } else {
        print("counter", choice.counter);
        print("backend", choice.of->name);
        print("event", choice.event);
        print_bool("exact", choice.exact);
        print_bool("estimate", choice.estimate);
        print_bool("valgrind", choice.valgrind);
        if (choice.valgrind)
            print("valgrind_lib", choice.valgrind_lib);
        if (choice.why[0])
            print("why", choice.why);
    }
    ti_program_free(&program);
    return 0;
}
