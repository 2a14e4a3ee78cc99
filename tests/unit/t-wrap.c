/* How ti-mpicc understands the output of gcc 12 and clang 14 with -###. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wrap/driver.h"

#define GCC                                                                                        \
    "Using built-in specs.\nCOLLECT_GCC=/usr/bin/gcc\nTarget: x86_64-linux-gnu\n"                  \
    "Configured with: ../src/configure -v --with-pkgversion='Debian 12.2.0-14' --disable-lto\n"    \
    "gcc version 12.2.0 (Debian 12.2.0-14+deb12u1) \n"
#define CC1 " /usr/lib/gcc/x86_64-linux-gnu/12/cc1 -quiet x.c \"-march=x86-64\" -o /tmp/cc.s\n"
#define AS " as --64 -o x.o /tmp/cc.s\n"
#define COLLECT                                                                                    \
    " /usr/lib/gcc/x86_64-linux-gnu/12/collect2 -plugin /usr/lib/gcc/liblto_plugin.so "            \
    "\"-plugin-opt=-fresolution=/tmp/cc.res\" -m elf_x86_64 "
#define CLANG "Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\nThread model: posix\n"
#define CLANG_CC1 " (in-process)\n \"/usr/lib/llvm-14/bin/clang\" \"-cc1\" \"-triple\" \"x86_64-pc-linux-gnu\" "

static struct ti_driver parse(const char *text)
{
    struct ti_driver d;

    ti_driver_parse(text, &d);
    return d;
}

static void test_gcc(void **state)
{
    struct ti_driver d =
        parse(GCC "COLLECT_GCC_OPTIONS='-c' '-I' '/a b/-flto' '-mtune=generic'\n" CC1 AS);

    (void)state;
    assert_int_equal(d.compiler, TI_COMPILER_GCC);
    assert_string_equal(d.target, "x86_64-linux-gnu");
    assert_true(d.compiles && d.assembles && !d.pic && !d.lto);
    assert_int_equal(d.link, TI_LINK_NONE);

    d = parse(GCC "COLLECT_GCC_OPTIONS='-fpie' '-fPIC' '-c'\n" CC1 AS);
    assert_true(d.pic);
    d = parse(GCC "COLLECT_GCC_OPTIONS='-fPIC' '-fPIE' '-c'\n" CC1 AS);
    assert_false(d.pic);
    d = parse(GCC "COLLECT_GCC_OPTIONS='-fPIC' '-fno-pic' '-c'\n" CC1 AS);
    assert_false(d.pic);
    d = parse(GCC "COLLECT_GCC_OPTIONS='-flto=auto' '-c'\n" CC1 AS);
    assert_true(d.lto);
    d = parse(GCC "COLLECT_GCC_OPTIONS='-flto' '-fno-lto' '-c'\n" CC1 AS);
    assert_false(d.lto);
    d = parse(GCC "COLLECT_GCC_OPTIONS='-m32' '-c'\n" CC1 " as --32 -o x.o /tmp/cc.s\n");
    assert_string_equal(d.target, "i386");
    d = parse(GCC "COLLECT_GCC_OPTIONS='-E'\n" CC1);
    assert_false(d.assembles);
    d = parse(GCC "COLLECT_GCC_OPTIONS='-pipe'\n" CC1 " x86_64-linux-gnu-as --64 -o x.o\n");
    assert_true(d.assembles);
}

static void test_gcc_links(void **state)
{
    struct ti_driver d = parse(GCC "COLLECT_GCC_OPTIONS='-o' 'a b'\n" COLLECT
                                   "-pie -o \"a b\" Scrt1.o \"dir \\\"x\\\"/y.o\" z.a -lmpi\n");

    (void)state;
    assert_int_equal(d.link, TI_LINK_EXECUTABLE);
    assert_false(d.assembles || d.lto);
    assert_int_equal(d.inputs.n, 2);
    assert_string_equal(d.inputs.v[1], "dir \"x\"/y.o");
    ti_driver_free(&d);
    d = parse(GCC "COLLECT_GCC_OPTIONS='-shared'\n" COLLECT "-shared -o x.so x.so\n");
    assert_int_equal(d.link, TI_LINK_SHARED);
    d = parse(GCC "COLLECT_GCC_OPTIONS='-r'\n" COLLECT "-r -o x\n");
    assert_int_equal(d.link, TI_LINK_RELOCATABLE);
    d = parse(GCC " /usr/lib/gcc/12/collect2 -flto -m elf_x86_64 -o x\n");
    assert_true(d.lto);
}

static void test_clang(void **state)
{
    struct ti_driver d =
        parse(CLANG CLANG_CC1 "\"-emit-obj\" \"-pic-level\" \"2\" \"-pic-is-pie\" \"x.c\"\n");

    (void)state;
    assert_int_equal(d.compiler, TI_COMPILER_CLANG);
    assert_true(d.compiles && d.assembles && !d.pic && !d.lto);
    d = parse(CLANG CLANG_CC1 "\"-emit-obj\" \"-pic-level\" \"2\" \"x.c\"\n"
                              " \"/usr/bin/ld\" \"-shared\" \"-o\" \"x.so\" \"/tmp/x-1.o\"\n");
    assert_true(d.pic);
    assert_int_equal(d.link, TI_LINK_SHARED);
    ti_driver_free(&d);
    d = parse(CLANG CLANG_CC1 "\"-emit-llvm-bc\" \"-flto=full\" \"-o\" \"x.o\"\n");
    assert_true(d.lto && d.assembles);
    d = parse(CLANG CLANG_CC1 "\"-S\" \"x.c\"\n \"/usr/bin/as\" \"--64\" \"-o\" \"x.o\"\n");
    assert_true(d.compiles && d.assembles);
    d = parse(CLANG " (in-process)\n \"/usr/bin/clang\" \"-cc1as\" \"-triple\" \"x86_64\" \"x.s\"\n");
    assert_true(d.assembles && !d.compiles);
    d = parse(CLANG CLANG_CC1 "\"-E\" \"x.c\"\n");
    assert_false(d.compiles || d.assembles);
    d = parse(CLANG " \"clang\" \"-cc1\" \"-triple\" \"aarch64-unknown-linux-gnu\" \"-emit-obj\"\n");
    assert_string_equal(d.target, "aarch64-unknown-linux-gnu");
}

static void test_others(void **state)
{
    struct ti_driver d = parse("----\n\nnvc-Error-Unknown switch: -###\n");

    (void)state;
    assert_int_equal(d.compiler, TI_COMPILER_UNKNOWN);
    assert_string_equal(d.first_line, "nvc-Error-Unknown switch: -###");
    d = parse("----\nThe wrapper compiler was unable to find the specified compiler\ngcc in your PATH.\n\n");
    assert_int_equal(d.compiler, TI_COMPILER_UNKNOWN);
    assert_string_equal(d.first_line, "The wrapper compiler was unable to find the specified compiler "
                                      "gcc in your PATH.");
    d = parse("The wrapper compiler was unable to find the specified compiler");
    assert_string_equal(d.first_line,
                        "The wrapper compiler was unable to find the specified compiler");
    d = parse("");
    assert_int_equal(d.compiler, TI_COMPILER_UNKNOWN);
    assert_string_equal(d.first_line, "");
}

/* Objects that are none. */
static void test_objects(void **state)
{
    char path[] = "/tmp/t-wrap-XXXXXX";
    char bytes[64] = "BC\xc0\xde";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_false(ti_object_is_lto(path));
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
    assert_true(ti_object_is_lto(path));
    /* an ELF header whose section table lies far outside */
    memset(bytes, 0xff, sizeof bytes);
    memcpy(bytes, "\177ELF\2", 5);
    assert_int_equal(pwrite(fd, bytes, sizeof bytes, 0), sizeof bytes);
    assert_false(ti_object_is_lto(path));
    close(fd);
    unlink(path);
    assert_false(ti_object_is_lto(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gcc),   cmocka_unit_test(test_gcc_links),
        cmocka_unit_test(test_clang), cmocka_unit_test(test_others),
        cmocka_unit_test(test_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
