/* Pictures on a terminal (terminal/pictures.h): all of them for given numbers and widths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "terminal/pictures.h"

/* The picture that is drawn to `out`. */
static char *text;
static size_t bytes;

static FILE *begin(void)
{
    return open_memstream(&text, &bytes);
}

static void shows(FILE *f, const char *wanted)
{
    fclose(f);
    assert_string_equal(text, wanted);
    free(text);
}

/* ---- bars ---- */

static struct ti_text_table *table(int parts)
{
    static const struct ti_table_column columns[] = {{"what", TI_CELLS_TEXT, 0},
                                                     {"n", TI_CELLS_COUNTS, 0},
                                                     {"", TI_CELLS_BARS, 4},
                                                     {"where", TI_CELLS_TEXT, 12}};
    static const double n[3][TI_KINDS] = {{100, 50, 25, 25}, {0, 0, 0, 0}, {25, 0, 0, 25}};
    struct ti_text_table *t = ti_table_new(columns, 4);

    ti_table_titles(t);
    for (int i = 0; i < 3; i++) {
        ti_table_text(t, "%s", "all");
        ti_table_count(t, (uint64_t)n[i][0]);
        ti_table_bar(t, parts, n[i]);
        ti_table_text(t, "%s", i == 1 ? "a place with a long name" : "here");
    }
    return t;
}

/* Without ink there are no bars, nor blanks for them. */
static void test_no_bars(void **state)
{
    FILE *f = begin();

    (void)state;
    ti_paint_table(table(1), f, 80, TI_INK_NONE);
    shows(f, "what    n  where\n"
             "all   100  here\n"
             "all     0  a place with a long name\n"
             "all    25  here\n");
}

/* Bars take what is left of the line, up to 40 characters; they are accurate to an eighth. */
static void test_bars(void **state)
{
    FILE *f = begin();

    (void)state;
    ti_paint_table(table(1), f, 46, TI_INK_BLOCKS);
    shows(f, "what    n             where\n"
             "all   100  █████████  here\n"
             "all     0             a place with a long name\n"
             "all    25  ██▎        here\n");
    f = begin();
    ti_paint_table(table(1), f, 0, TI_INK_BLOCKS);
    shows(f, "what    n                                            where\n"
             "all   100  ████████████████████████████████████████  here\n"
             "all     0                                            a place with a long name\n"
             "all    25  ██████████                                here\n");
}

/* The last text makes room for bars of the least width, as long as it can. */
static void test_narrow_bars(void **state)
{
    FILE *f = begin();

    (void)state;
    ti_paint_table(table(1), f, 30, TI_INK_BLOCKS);
    shows(f, "what   n      where\n"
             "all  100 ████ here\n"
             "all    0      a pla...ong name\n"
             "all   25 █    here\n");
    f = begin();
    ti_paint_table(table(1), f, 22, TI_INK_BLOCKS);
    shows(f, "what   n where\n"
             "all  100 here\n"
             "all    0 a pl...g name\n"
             "all   25 here\n");
}

/* Each kind has a block, or a colour: blue, green, magenta, yellow. */
static void test_bars_of_kinds(void **state)
{
    FILE *f = begin();

    (void)state;
    ti_paint_table(table(TI_KINDS), f, 49, TI_INK_BLOCKS);
    shows(f, "what    n                where\n"
             "all   100  ██████▄▄▄▒··  here\n"
             "all     0                a place with a long name\n"
             "all    25  █··           here\n");
    f = begin();
    ti_paint_table(table(TI_KINDS), f, 46, TI_INK_COLOURS);
    shows(f, "what    n             where\n"
             "all   100  \033[34m████\033[42m▌\033[32m\033[49m█\033[45m▊\033[35m\033[43m▉"
             "\033[33m\033[49m█\033[39m  here\n"
             "all     0             a place with a long name\n"
             "all    25  \033[34m█\033[43m▏\033[33m\033[49m▎\033[39m        here\n");
}

static void test_one_bar(void **state)
{
    FILE *f = begin();

    (void)state;
    ti_paint_bar(f, 4, TI_INK_BLOCKS, TI_KIND_WAITING, 0.5);
    fputc('|', f);
    ti_paint_bar(f, 4, TI_INK_BLOCKS, TI_KIND_WAITING, 1e-9);
    fputc('|', f);
    ti_paint_bar(f, 2, TI_INK_PALETTE, TI_KIND_WAITING, 1);
    shows(f, "██  |▏   |\033[38;5;215m██\033[39m");
}

/* ---- the matrix ---- */

static void test_matrix(void **state)
{
    struct ti_matrix *m = ti_matrix_new(3, 80, TI_INK_BLOCKS);
    FILE *f = begin();

    (void)state;
    ti_matrix_add(m, 0, 1, 6e5);
    ti_matrix_add(m, 0, 1, 4e5); /* added up: 1e6 */
    ti_matrix_add(m, 1, 2, 1e5);
    ti_matrix_add(m, 2, 0, 9e3);
    ti_matrix_add(m, 2, 2, 100);
    ti_matrix_add(m, -1, 3, 1e12); /* no ranks */
    ti_matrix_print(m, f, "bytes from ranks (left) to ranks (above)", TI_UNIT_SIZE);
    shows(f, "\nbytes from ranks (left) to ranks (above)\n"
             "       0\n"
             "      ┌──────┐\n"
             "     0│  ██  │\n"
             "     1│    ▓▓│\n"
             "     2│▒▒  ░░│\n"
             "      └──────┘\n"
             "       ░ up to 1 kB  ▒ up to 10 kB  ▓ up to 100 kB  █ up to 1 MB\n");
}

/* One rank; values of one size have the darkest shade. */
static void test_matrix_of_one(void **state)
{
    struct ti_matrix *m = ti_matrix_new(1, 80, TI_INK_COLOURS);
    FILE *f = begin();

    (void)state;
    ti_matrix_add(m, 0, 0, 0.016);
    ti_matrix_print(m, f, "waiting", TI_UNIT_LATENCY);
    shows(f, "\nwaiting\n"
             "       0\n"
             "      ┌──┐\n"
             "     0│██│\n"
             "      └──┘\n"
             "       ░ up to 2 ms  ▒ up to 4 ms  ▓ up to 8 ms  █ up to 16 ms\n");
    m = ti_matrix_new(1, 80, TI_INK_BLOCKS);
    f = begin();
    ti_matrix_print(m, f, "nothing", TI_UNIT_SIZE);
    shows(f, "");
}

/* 16,384 ranks on a narrow terminal, and with two rows a line where there are many colours. */
static void test_large_matrix(void **state)
{
    struct ti_matrix *m = ti_matrix_new(16384, 20, TI_INK_BLOCKS);
    FILE *f = begin();

    (void)state;
    ti_matrix_add(m, 0, 16383, 1);
    ti_matrix_add(m, 16383, 0, 1);
    ti_matrix_print(m, f, "bytes", TI_UNIT_SIZE);
    shows(f, "\nbytes, 4096 ranks a\nline\n"
             "        0\n"
             "       ┌────────┐\n"
             "      0│      ██│\n"
             "   4096│        │\n"
             "   8192│        │\n"
             "  12288│██      │\n"
             "       └────────┘\n"
             "        ░ up to 0.125 B  ▒ up to 0.25 B  ▓ up to 0.5 B  █ up to 1 B\n");
    m = ti_matrix_new(16384, 17, TI_INK_PALETTE);
    f = begin();
    ti_matrix_add(m, 0, 0, 1e6);
    ti_matrix_add(m, 0, 2048, 1e6);
    ti_matrix_add(m, 2048, 2048, 1e6);
    ti_matrix_add(m, 16383, 0, 1);
    ti_matrix_print(m, f, "bytes", TI_UNIT_SIZE);
    shows(f, "\nbytes, 2048 ranks\na character\n"
             "        0\n"
             "       ┌────────┐\n"
             "      0│\033[38;5;220m▀█\033[39m      │\n"
             "   4096│        │\n"
             "   8192│        │\n"
             "  12288│\033[38;5;53m▄\033[39m       │\n"
             "       └────────┘\n"
             "        1 B \033[38;5;53m█\033[38;5;54m█\033[38;5;60m█\033[38;5;24m█\033[38;5;30m█"
             "\033[38;5;36m█\033[38;5;35m█\033[38;5;77m█\033[38;5;149m█\033[38;5;220m█\033[39m"
             " 1 MB\n");
}

/* ---- by rank ---- */

static void test_volumes(void **state)
{
    static const int64_t rank[] = {0, 1, 3};
    static const uint64_t volume[] = {48, 24, 3};
    FILE *f = begin();

    (void)state;
    ti_paint_volumes(f, 22, TI_INK_BLOCKS, "volume by rank", 4, 3, rank, volume);
    shows(f, "\nvolume by rank\n"
             "       48 ██          \n"
             "          ██          \n"
             "          ██          \n"
             "          ██ ██       \n"
             "          ██ ██       \n"
             "        0 ██ ██    ▃▃ \n"
             "          0     2\n");
}

/* In a character of several ranks, the least and the largest are seen. */
static void test_volumes_of_many(void **state)
{
    int64_t rank[16];
    uint64_t volume[16];
    FILE *f = begin();

    (void)state;
    for (int i = 0; i < 16; i++) {
        rank[i] = i;
        volume[i] = i < 8 ? 4800000 : i % 4 ? 2400000 : 4800000;
    }
    ti_paint_volumes(f, 14, TI_INK_COLOURS, "volume by rank", 16, 16, rank, volume);
    shows(f, "\nvolume by\nrank, 4 ranks\na character:\nup to the\nleast of them,\nthen shaded "
             "up\nto the largest\n"
             "    4.8 M \033[34m██░░\033[39m\n"
             "          \033[34m██░░\033[39m\n"
             "          \033[34m██░░\033[39m\n"
             "          \033[34m████\033[39m\n"
             "          \033[34m████\033[39m\n"
             "        0 \033[34m████\033[39m\n"
             "          0\n");
}

static void test_shares(void **state)
{
    static const double part[] = {3, 0, 0, 3, 1, 4, 0, 1};
    FILE *f = begin();

    (void)state;
    ti_paint_shares(f, 80, TI_INK_BLOCKS, "share of the time by rank", 2, part);
    shows(f, "\nshare of the time by rank\n"
             "  100 % ······· ······· \n"
             "        ······· ▄▄▄▄▄▄▄ \n"
             "        ······· ▄▄▄▄▄▄▄ \n"
             "        ███████ ▄▄▄▄▄▄▄ \n"
             "        ███████ ▄▄▄▄▄▄▄ \n"
             "    0 % ███████ ███████ \n"
             "        0       1\n"
             "        █ computing  ▄ communicating  · waiting\n");
}

/* ---- the timeline ---- */

/* Two lines of four ranks each, the last one of two; four pieces of 0.25 s. */
static const double spent[2][4][TI_KINDS] = {
    {{1, 0, 0, 0}, {0.5, 0.5, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}},
    {{0, 0, 0, 0.5}, {0, 0.5, 0, 0}, {0.25, 0, 0.25, 0}, {0.125, 0, 0, 0}}};

static struct ti_paint_timeline timeline(void)
{
    return (struct ti_paint_timeline){
        .np = 6, .group = 4, .bins = 4, .bin_s = 0.25, .end_s = 1, .spent = &spent[0][0][0]};
}

static void test_timeline(void **state)
{
    struct ti_paint_timeline t = timeline();
    FILE *f = begin();

    (void)state;
    ti_paint_timeline(f, 47, TI_INK_BLOCKS, &t);
    shows(f, "\ntimeline: 25 ms a character, 4 ranks a line\n"
             "     0 ████████████████████▒▒▒▒▒▒▒▒▒▒··········\n"
             "     4 ··········▄▄▄▄▄▄▄▄▄▄██████████          \n"
             "       ╵0 s                ╵500 ms\n"
             "       █ computing  ▄ messages  ▒ collectives  · waiting\n");
    f = begin();
    ti_paint_timeline(f, 11, TI_INK_COLOURS, &t); /* a character for each piece */
    shows(f, "\ntimeline:\n250 ms a\ncharacter,\n4 ranks a\nline\n"
             "     0 \033[34m█\033[42m▄\033[35m\033[49m█\033[33m█\033[39m\n"
             "     4 \033[33m█\033[32m█\033[34m\033[45m▄\033[49m▂\033[39m\n"
             "       \n"
             "       \033[34m█\033[39m computing  \033[32m█\033[39m messages  "
             "\033[35m█\033[39m collectives  \033[33m█\033[39m waiting\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_bars),       cmocka_unit_test(test_bars),
        cmocka_unit_test(test_narrow_bars),   cmocka_unit_test(test_bars_of_kinds),
        cmocka_unit_test(test_one_bar),       cmocka_unit_test(test_matrix),
        cmocka_unit_test(test_matrix_of_one), cmocka_unit_test(test_large_matrix),
        cmocka_unit_test(test_volumes),       cmocka_unit_test(test_volumes_of_many),
        cmocka_unit_test(test_shares),        cmocka_unit_test(test_timeline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
