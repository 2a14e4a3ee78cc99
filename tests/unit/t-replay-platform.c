/* Made platforms, hosts in given ones, hostfiles and placement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay-bridge/platform/hosts.h"
#include "replay-bridge/platform/picture.h"
#include "replay-bridge/platform/placement.h"
#include "replay-bridge/platform/platform.h"
#include "replay-bridge/platform/platform_sites.h"
#include "replay-bridge/platform/shape.h"

static char path[64];

/* A file with this text; its name in `path`. */
static void file_with(const char *text)
{
    int fd;

    strcpy(path, "/tmp/t-replay-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void test_topologies(void **state)
{
    static const struct {
        const char *text;
        int64_t hosts; /* -1: refused */
    } cases[] = {{"cluster", 0},
                 {"cluster:3", -1},
                 {"fat-tree:2;4,4;1,2;1,2", 16},
                 {"fat-tree:1;7;1;1", 7},
                 {"fat-tree:2;4,4;1,2", -1},
                 {"fat-tree:2;4;1,2;1,2", -1},
                 {"fat-tree:2;4,4;1,2;1,2;", -1},
                 {"fat-tree", -1},
                 {"torus:4,4", 16},
                 {"torus:3,2,2", 12},
                 {"torus:", -1},
                 {"torus:4,", -1},
                 {"torus:4,0", -1},
                 {"torus:-4,4", -1},
                 {"torus:100000,100000", -1},
                 {"torus:99999999999999999999", -1},
                 {"dragonfly:3,4;4,3;5,1;2", 120},
                 {"dragonfly:3,4;4,3;5,1", -1},
                 {"dragonfly:3;4,3;5,1;2", -1},
                 {"dragonfly:5,1;4,3;5,1;2", 200},
                 {"dragonfly:6,1;4,3;5,1;2", -1}, /* router j of a chassis leads to group j */
                 {"fat-tree:2;4,4;16777216,16777216;1,1", -1},
                 {"fat-tree:2;4,4;1,2;1,16777216", -1},
                 {"hierarchical:8,4,16", 512},
                 {"hierarchical:1,1,1", 1},
                 {"hierarchical:8,4", -1},
                 {"hierarchical:8,4,16,2", -1},
                 {"hierarchical:8;4;16", -1},
                 {"hierarchical:4096,1,1", -1}, /* 8 million links */
                 {"ring:4", -1},
                 {"", -1}};
    struct ti_topology t;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ti_status st = ti_topology_parse(cases[i].text, &t, NULL);

        assert_int_equal(st, cases[i].hosts < 0 ? TI_ERR_USAGE : TI_OK);
        if (!st)
            assert_int_equal(t.hosts, cases[i].hosts);
    }
}

static void test_units(void **state)
{
    (void)state;
    assert_true(ti_unit_value("10Gbps", TI_UNIT_BANDWIDTH) == 1.25e9);
    assert_true(ti_unit_value("2KiBps", TI_UNIT_BANDWIDTH) == 2048);
    assert_true(ti_unit_value("2.5GBps", TI_UNIT_BANDWIDTH) == 2.5e9);
    assert_true(ti_unit_value("8Gf", TI_UNIT_SPEED) == 8e9);
    assert_true(ti_unit_value("0ms", TI_UNIT_LATENCY) == 0);
    assert_int_equal(ti_unit_check("8Gf", 'f', "--speed", NULL), TI_OK);
    assert_int_equal(ti_unit_check("2.5e9f", 'f', "--speed", NULL), TI_OK);
    assert_int_equal(ti_unit_check("8", 'f', "--speed", NULL), TI_ERR_USAGE);
    assert_int_equal(ti_unit_check("-8Gf", 'f', "--speed", NULL), TI_ERR_USAGE);
    assert_int_equal(ti_unit_check("0Gf", 'f', "--speed", NULL), TI_ERR_USAGE);
    assert_int_equal(ti_unit_check("nanf", 'f', "--speed", NULL), TI_ERR_USAGE);
    assert_int_equal(ti_unit_check("0x8f", 'f', "--speed", NULL), TI_ERR_USAGE);
    assert_int_equal(ti_unit_check("10Gbps", 'B', "--bandwidth", NULL), TI_OK);
    assert_int_equal(ti_unit_check("10Gb", 'B', "--bandwidth", NULL), TI_ERR_USAGE);
    assert_int_equal(ti_unit_check("0s", 's', "--latency", NULL), TI_OK);
    assert_int_equal(ti_unit_check("50us\"", 's', "--latency", NULL), TI_ERR_USAGE);
}

static void says(const char *words, const char *text, enum ti_unit kind)
{
    char buf[TI_UNIT_BYTES_MOST];

    assert_string_equal(ti_unit_format_text(text, kind, buf, sizeof buf), words);
}

/* Texts for people. */
static void test_units_for_people(void **state)
{
    char buf[TI_UNIT_BYTES_MOST];

    (void)state;
    says("558 MB/s", "558338125Bps", TI_UNIT_BANDWIDTH);
    says("0.328 us", "3.28389214e-07s", TI_UNIT_LATENCY);
    says("4.56 Gf", "4558338125f", TI_UNIT_SPEED);
    says("12.5 GB/s", "12.5GBps", TI_UNIT_BANDWIDTH);
    says("1.234 GB/s", "1234MBps", TI_UNIT_BANDWIDTH); /* as the user chose it */
    says("1.25 GB/s", "10Gbps", TI_UNIT_BANDWIDTH);
    says("50 us", "50us", TI_UNIT_LATENCY);
    says("0 us", "0ns", TI_UNIT_LATENCY);
    says("2.5 ms", "2500us", TI_UNIT_LATENCY);
    says("7 s", "7s", TI_UNIT_LATENCY);
    says("12346 s", "12345.678s", TI_UNIT_LATENCY);
    says("1 GB/s", "999999999Bps", TI_UNIT_BANDWIDTH); /* not 1e+03 MB/s */
    says("0.5 f", "0.5f", TI_UNIT_SPEED);
    assert_string_equal(ti_unit_format(1319413953, TI_UNIT_SIZE, buf, sizeof buf), "1.32 GB");
    assert_string_equal(ti_unit_format(0, TI_UNIT_SIZE, buf, sizeof buf), "0 B");
    assert_string_equal(ti_unit_format(12, TI_UNIT_NUMBER, buf, sizeof buf), "12");
    assert_string_equal(ti_unit_format(4558338125, TI_UNIT_NUMBER, buf, sizeof buf), "4.56 G");
}

static const struct ti_speeds plain = {.speed = "8Gf",
                                       .bandwidth = {1, {"125MBps"}},
                                       .latency = {1, {"50us"}},
                                       .loopback_bandwidth = "1GBps",
                                       .loopback_latency = "1us",
                                       .cores = 6};

/* The platform's XML, in `path` until the next call, and how often it has a word. */
static char *written(const char *topology, const char *bandwidth, const char *latency)
{
    struct ti_speeds speeds = plain;
    static char *text;
    static size_t size;
    struct ti_topology t;
    FILE *f;

    assert_int_equal(ti_topology_parse(topology, &t, NULL), TI_OK);
    assert_int_equal(
        ti_link_values_parse(bandwidth, TI_UNIT_BANDWIDTH, "", &speeds.bandwidth, NULL), 0);
    assert_int_equal(ti_link_values_parse(latency, TI_UNIT_LATENCY, "", &speeds.latency, NULL), 0);
    assert_int_equal(ti_platform_check(&t, &speeds, NULL), TI_OK);
    free(text);
    f = open_memstream(&text, &size);
    ti_platform_write(f, &t, t.hosts ? t.hosts : 4, &speeds);
    fclose(f);
    return text;
}

static int count(const char *text, const char *word)
{
    int n = 0;

    for (const char *p = text; (p = strstr(p, word)); p++)
        n++;
    return n;
}

/* Whether reading finds the hosts that were written, with their cores. */
static void read_back(const char *text, size_t n, const char *last)
{
    struct ti_hosts hosts = {0};
    bool sure;

    file_with(text);
    assert_int_equal(ti_hosts_in_platform(path, &hosts, &sure, NULL), TI_OK);
    assert_true(sure);
    assert_int_equal(hosts.n, n);
    assert_string_equal(hosts.list[n - 1].name, last);
    assert_int_equal(ti_hosts_cores_a_rank(&hosts), 6);
    ti_hosts_free(&hosts);
    unlink(path);
}

static void test_xml(void **state)
{
    (void)state;
    read_back(written("cluster", "125MBps", "50us"), 4, "node-3");
    read_back(written("torus:3,2,2", "125MBps", "50us"), 12, "node-11");
    read_back(written("hierarchical:2,3,4", "125MBps", "50us"), 24, "node-23");
    read_back(written("fat-tree:2;4,4;1,2;1,2", "2GBps,1GBps", "50us"), 16, "node-15");
    read_back(written("fat-tree:2;4,3;1,1;1,1", "2GBps,1GBps", "50us"), 12, "node-11");
}

/* Levels that are alike are SimGrid's own fat tree, however that is said. */
static void test_levels(void **state)
{
    static const char tree[] = "fat-tree:2;4,4;1,2;1,2";
    char *one = strdup(written(tree, "2GBps", "50us")), *text;

    (void)state;
    text = written(tree, "2GBps,2GBps", "50us,0.05ms");
    assert_non_null(strstr(text, "topology=\"FAT_TREE\""));
    assert_string_equal(one, text);
    free(one);

    text = written(tree, "2GBps,1GBps", "50us,5us");
    assert_null(strstr(text, "FAT_TREE"));
    assert_int_equal(count(text, "bandwidth=\"2GBps\" latency=\"50us\""), 16);
    assert_int_equal(count(text, "bandwidth=\"1GBps\" latency=\"5us\""), 16);
    assert_int_equal(count(text, "<route "), 16 * 16); /* a loopback is one, too */
    /* 0 to 13: link 0 up, then by 13 % 4 cable 0 to switch 1; down by cable 0 to switch 3 */
    assert_non_null(strstr(text, "src=\"node-0\" dst=\"node-13\" symmetrical=\"NO\">"
                                 "<link_ctn id=\"l0\" direction=\"UP\"/>"
                                 "<link_ctn id=\"l18\" direction=\"UP\"/>"
                                 "<link_ctn id=\"l30\" direction=\"DOWN\"/>"
                                 "<link_ctn id=\"l13\" direction=\"DOWN\"/></route>"));
    /* hosts of a switch stay below it */
    assert_non_null(strstr(text, "src=\"node-5\" dst=\"node-6\" symmetrical=\"NO\">"
                                 "<link_ctn id=\"l5\" direction=\"UP\"/>"
                                 "<link_ctn id=\"l6\" direction=\"DOWN\"/></route>"));

    text = written("fat-tree:3;16,16,16;1,1,1;1,1,1", "1GBps,8GBps,64GBps", "1us");
    assert_int_equal(count(text, "<router "), 256 + 16 + 1);
    assert_int_equal(count(text, "<route "), 4096 + 256 + 16 + 4096);
}

static void test_hierarchical(void **state)
{
    char *text = written("hierarchical:2,2,3", "4GBps,2GBps,1GBps", "1us,2us,3us");

    (void)state;
    assert_int_equal(count(text, "bandwidth=\"4GBps\" latency=\"1us\""), 3 * 2);
    assert_int_equal(count(text, "bandwidth=\"2GBps\" latency=\"2us\""), 3 * 4);
    assert_int_equal(count(text, "bandwidth=\"1GBps\" latency=\"3us\""), 3);
    /* node 2 of supergroup 0 has the link to supergroup 2, whose node 0 has that to 0 */
    assert_non_null(strstr(text, "src=\"supergroup-0\" dst=\"supergroup-2\" gw_src=\"node-2\" "
                                 "gw_dst=\"node-8\""));
}

static void test_bad_rates(void **state)
{
    static const struct {
        const char *topology, *bandwidth, *says;
    } cases[] = {
        {"torus:4,4", "1GBps,2GBps", "--bandwidth: 2 values, but all links of a torus are equal"},
        {"cluster", "1GBps,2GBps", "--bandwidth: 2 values, but all links of a cluster"},
        {"hierarchical:2,2,2", "1GBps,2GBps",
         "--bandwidth: 2 values for the 3 levels of hierarchical:2,2,2"},
        {"fat-tree:2;64,32;1,2;1,1", "1GBps,2GBps", "fat-tree:2;64,32;1,2;1,1 has 2048 hosts"},
        {"fat-tree:2;64,32;1,2;1,1", "1GBps,1GBps", NULL},
        {"fat-tree:2;64,16;1,2;1,1", "1GBps,2GBps", NULL},
        {"fat-tree:2;64,32;1,1;1,1", "1GBps,2GBps", NULL}};
    static const char *const malformed[] = {
        "", "1GBps,", ",1GBps", "1GBps,50us", "1GBps;2GBps", "0Bps", "1GBps,1,2"};
    struct ti_speeds speeds = plain;
    struct ti_topology t;
    struct ti_err err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(ti_topology_parse(cases[i].topology, &t, NULL), TI_OK);
        assert_int_equal(ti_link_values_parse(cases[i].bandwidth, TI_UNIT_BANDWIDTH, "--bandwidth",
                                              &speeds.bandwidth, NULL),
                         TI_OK);
        assert_int_equal(ti_platform_check(&t, &speeds, &err),
                         cases[i].says ? TI_ERR_USAGE : TI_OK);
        if (cases[i].says)
            assert_int_equal(strncmp(err.text, cases[i].says, strlen(cases[i].says)), 0);
    }
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        assert_int_equal(ti_link_values_parse(malformed[i], TI_UNIT_BANDWIDTH, "--bandwidth",
                                              &speeds.bandwidth, NULL),
                         TI_ERR_USAGE);
}

/* Properties of small networks. */
static void test_shape(void **state)
{
    static const struct {
        const char *topology, *bandwidth;
        int64_t links, hops;
        double bisection;
    } cases[] = {{"fat-tree:2;4,4;1,2;1,2", "1GBps", 16 + 16, 4, 8e9},
                 {"fat-tree:2;4,4;1,2;1,2", "1GBps,250MBps", 16 + 16, 4, 2e9},
                 {"fat-tree:2;4,4;1,2;1,1", "1GBps", 16 + 8, 4, 4e9},
                 {"fat-tree:2;4,3;1,2;1,1", "1GBps", 12 + 6, 4, 0},
                 {"torus:4,4", "1GBps", 32, 4, 8e9},
                 {"torus:5,2", "1GBps", 10 + 5, 3, 0},
                 {"torus:8,2,1", "1GBps", 16 + 8, 5, 4e9},
                 {"torus:2", "1GBps", 1, 1, 1e9},
                 {"dragonfly:2,4;4,3;5,1;2", "1GBps", 80 + 80 + 60 + 1, 7, 4e9},
                 {"dragonfly:1,1;1,1;1,1;8", "1GBps", 8, 2, 0},
                 {"hierarchical:2,2,4", "1GBps,1GBps,3GBps", 8 + 16 + 6, 3, 12e9},
                 {"hierarchical:4,2,1", "1GBps,2GBps,3GBps", 12 + 16, 1, 32e9},
                 {"hierarchical:1,1,4", "1GBps", 6, 1, 4e9}};
    struct ti_speeds speeds = plain;
    struct ti_topology t;
    struct ti_shown shown = {.name = "", .topology = &t, .speeds = &speeds};
    struct ti_shape s;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t links = 0;

        assert_int_equal(ti_topology_parse(cases[i].topology, &t, NULL), TI_OK);
        assert_int_equal(ti_link_values_parse(cases[i].bandwidth, TI_UNIT_BANDWIDTH, "",
                                              &speeds.bandwidth, NULL),
                         0);
        shown.hosts = t.hosts;
        ti_shape_of(&shown, &s);
        for (int k = 0; k < s.nlinks; k++)
            links += s.link[k].count;
        assert_int_equal(links, cases[i].links);
        assert_int_equal(s.hops, cases[i].hops);
        assert_true(s.bisection_Bps == cases[i].bisection);
    }
}

/* Each link is drawn between two hosts or switches, where there are not too many. */
static void test_picture(void **state)
{
    static const struct {
        const char *topology;
        size_t vertices, edges; /* panels are vertices, too */
        bool summary;
    } cases[] = {{"fat-tree:2;4,4;1,2;1,2", 16 + 4 + 2, 32, false},
                 {"torus:4,3,2,2,2", 96, 3 * 48 + 2 * 96, false},
                 {"torus:2", 2, 1, false},
                 {"dragonfly:2,4;4,3;5,1;2", 80 + 40 + 2, 80 + 80 + 60 + 1, false},
                 {"hierarchical:2,2,4", 16, 8 + 16 + 6, false},
                 {"fat-tree:3;16,16,16;1,8,8;1,1,1", 4, 3, true},
                 {"hierarchical:8,4,16", 16, 120, true},
                 {"hierarchical:256,1,1", 1, 0, true}, /* 32,640 links */
                 {"dragonfly:8,1;8,1;8,1;8", 8, 28, true},
                 {"torus:32,32", 1, 0, true}};
    struct ti_topology t;
    struct ti_shown shown = {.name = "<&", .topology = &t, .speeds = &plain};
    struct ti_picture pic;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(ti_topology_parse(cases[i].topology, &t, NULL), TI_OK);
        shown.hosts = t.hosts;
        ti__picture_lay_out(&pic, &shown);
        assert_int_equal(pic.nv, cases[i].vertices);
        assert_int_equal(pic.ne, cases[i].edges);
        assert_int_equal(pic.note[0] != '\0', cases[i].summary);
        for (size_t e = 0; e < pic.ne; e++) {
            assert_in_range(pic.e[e].a, 0, pic.nv - 1);
            assert_in_range(pic.e[e].b, 0, pic.nv - 1);
            assert_int_not_equal(pic.e[e].a, pic.e[e].b);
        }
        ti__picture_free(&pic);
    }
    assert_int_equal(ti_picture_check("a.svg", NULL), TI_OK);
    assert_int_equal(ti_picture_check("a.png", NULL), TI_ERR_USAGE);
    assert_int_equal(ti_picture_check(".svg", NULL), TI_ERR_USAGE);
    assert_int_equal(ti_picture_draw("/nowhere/a.svg", &shown, NULL), TI_ERR_IO);
}

/* Ranks are placed on the hosts that SimGrid has, and what the file says goes before options. */
static void test_sites(void **state)
{
    struct ti_sites_speeds wan = {&plain, "1GBps", "3ms"};
    struct ti_hosts placed = {0}, found = {0};
    struct ti_sites *sites;
    size_t size;
    bool sure;
    char *text;
    FILE *f;

    (void)state;
    file_with("[site a]\ndomain = a.org\nwan_bandwidth = 50MBps\n[site b]\n"
              "[cluster x]\nsite = a\nnodes = x[08-10]\ncores = 4\nspeed = 2.5G\n"
              "bandwidth = 2GBps\nlatency = 7us\n[cluster y]\nsite = b\nnodes = y-ib\n");
    assert_int_equal(ti_sites_read(path, &sites, NULL, NULL), TI_OK);
    unlink(path);
    ti_hosts_of_sites(&placed, sites, &wan);
    f = open_memstream(&text, &size);
    ti_platform_write_sites(f, sites, &wan);
    fclose(f);
    file_with(text);
    assert_int_equal(ti_hosts_in_platform(path, &found, &sure, NULL), TI_OK);
    unlink(path);
    assert_int_equal(placed.n, 4);
    assert_int_equal(found.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(placed.list[i].name, found.list[i].name);
        assert_int_equal(placed.list[i].cores, found.list[i].cores);
        assert_int_equal(placed.list[i].slots, 1);
    }
    assert_string_equal(placed.list[0].name, "x08.a.org");
    assert_int_equal(placed.list[0].cores, 4);
    assert_int_equal(placed.list[3].cores, 6);
    assert_int_equal(count(text, "bandwidth=\"2GBps\" latency=\"7us\""), 3);
    assert_int_equal(count(text, "speed=\"2.5Gf\""), 3);
    assert_non_null(strstr(text, "id=\"link:y-ib\" bandwidth=\"125MBps\" latency=\"50us\""));
    assert_non_null(strstr(text, "id=\"wan:a\" bandwidth=\"50MBps\" latency=\"3ms\""));
    assert_non_null(strstr(text, "id=\"wan:b\" bandwidth=\"1GBps\" latency=\"3ms\""));
    free(text);
    ti_hosts_free(&placed);
    ti_hosts_free(&found);
    ti_sites_free(sites);
}

static void test_hosts_in_platform(void **state)
{
    struct ti_hosts hosts = {0}, used = {0};
    bool sure;

    (void)state;
    file_with("<platform>\n<!-- <host id=\"no\"/> -->\n"
              "<host id='a' speed=\"1Gf\"/><host speed=\"1Gf\"\n id = \"b\" core='7'/>\n"
              "<cluster id=\"x\" prefix=\"n-\" suffix=\".org\" radical=\"0-2,7\" speed=\"1f\" "
              "core='x'/>\n"
              "<host_link id=\"c\"/><link id=\"d\"/></platform>");
    assert_int_equal(ti_hosts_in_platform(path, &hosts, &sure, NULL), TI_OK);
    assert_true(sure);
    assert_int_equal(hosts.n, 6);
    assert_string_equal(hosts.list[1].name, "b");
    assert_string_equal(hosts.list[5].name, "n-7.org");
    assert_int_equal(hosts.list[0].cores, 1);
    assert_int_equal(hosts.list[5].cores, 0);
    unlink(path);

    file_with("b\n\n  a : 2  # twice\n");
    assert_int_equal(ti_hosts_read(path, &used, NULL), TI_ERR_INPUT); /* "a " */
    unlink(path);
    ti_hosts_free(&used);
    file_with("b # one\n\n  a:2\n");
    assert_int_equal(ti_hosts_read(path, &used, NULL), TI_OK);
    assert_int_equal(ti_hosts_slots(&used), 3);
    assert_int_equal(ti_hosts_known(&used, &hosts, path, NULL), TI_OK);
    assert_int_equal(used.list[0].cores, 7);
    assert_int_equal(ti_hosts_cores_a_rank(&used), 0); /* two ranks on the one core of a */
    used.list[1].cores = 8;
    assert_int_equal(ti_hosts_cores_a_rank(&used), 4);
    assert_int_equal(ti_hosts_enough(&used, 3, NULL), TI_OK);
    assert_int_equal(ti_hosts_enough(&used, 4, NULL), TI_ERR_INPUT);
    unlink(path);
    ti_hosts_free(&used);
    file_with("b\nz\n");
    assert_int_equal(ti_hosts_read(path, &used, NULL), TI_OK);
    {
        struct ti_err err;

        assert_int_equal(ti_hosts_known(&used, &hosts, "h", &err), TI_ERR_INPUT);
        assert_string_equal(err.text, "h:2: the platform has no host 'z'");
    }
    unlink(path);
    ti_hosts_free(&used);
    ti_hosts_free(&hosts);
}

static void test_bad_hostfiles(void **state)
{
    static const char *const bad[] = {"",      "# nothing\n", "a:0\n", "a:-1\n",
                                      "a:x\n", ":3\n",        "a b\n", "a:99999999999\n"};
    struct ti_hosts hosts = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        file_with(bad[i]);
        assert_int_equal(ti_hosts_read(path, &hosts, NULL), TI_ERR_INPUT);
        ti_hosts_free(&hosts);
        unlink(path);
    }
    assert_int_equal(ti_hosts_read("/nowhere/hosts", &hosts, NULL), TI_ERR_IO);
}

static void placed(const struct ti_hosts *hosts, const char *how, int64_t np, char *text)
{
    struct ti_placement p;
    uint32_t *host_of;
    FILE *f;

    assert_int_equal(ti_placement_parse(how, &p, NULL), TI_OK);
    f = fmemopen(text, 256, "w");
    host_of = ti_place(hosts, &p, np);
    ti_place_write(hosts, host_of, np, f);
    free(host_of);
    fclose(f);
}

static void test_placement(void **state)
{
    struct ti_hosts hosts = {0};
    struct ti_placement p;
    char text[256], again[256];

    (void)state;
    file_with("a:3\nb:1\nc:2\n");
    assert_int_equal(ti_hosts_read(path, &hosts, NULL), TI_OK);
    unlink(path);
    placed(&hosts, "block", 5, text);
    assert_string_equal(text, "a\na\na\nb\nc\n");
    placed(&hosts, "round-robin", 6, text);
    assert_string_equal(text, "a\nb\nc\na\nc\na\n");
    placed(&hosts, "random:42", 6, text);
    placed(&hosts, "random:42", 6, again);
    assert_string_equal(text, again);
    assert_int_equal(strlen(text), 12);
    placed(&hosts, "random:1", 6, text);
    for (int seed = 2; strcmp(text, again) == 0 && seed < 9; seed++) {
        char how[32];

        snprintf(how, sizeof how, "random:%d", seed);
        placed(&hosts, how, 6, again);
    }
    assert_string_not_equal(text, again);
    assert_int_equal(ti_placement_parse("random", &p, NULL), TI_ERR_USAGE);
    assert_int_equal(ti_placement_parse("random:", &p, NULL), TI_ERR_USAGE);
    assert_int_equal(ti_placement_parse("file:", &p, NULL), TI_ERR_USAGE);
    ti_hosts_free(&hosts);
}

/* Sites have ranks in proportion to their slots, in blocks, wherever their hosts are listed. */
static void test_by_site(void **state)
{
    static const int site[] = {0, 1, 0, 2};
    struct ti_hosts hosts = {0};
    char text[256];

    (void)state;
    file_with("a:4\nb:2\nc:4\nd:2\n");
    assert_int_equal(ti_hosts_read(path, &hosts, NULL), TI_OK);
    unlink(path);
    for (int i = 0; i < 4; i++)
        hosts.list[i].site = site[i];
    placed(&hosts, "by-site", 6, text); /* 8, 2 and 2 of 12 slots */
    assert_string_equal(text, "a\na\na\na\nb\nd\n");
    placed(&hosts, "by-site", 8, text); /* 5 1/3, 1 1/3, 1 1/3 */
    assert_string_equal(text, "a\na\na\na\nc\nc\nb\nd\n");
    placed(&hosts, "by-site", 1, text);
    assert_string_equal(text, "a\n");
    placed(&hosts, "by-site", 12, text);
    assert_string_equal(text, "a\na\na\na\nc\nc\nc\nc\nb\nb\nd\nd\n");
    ti_hosts_free(&hosts);
}

/* The result of a placement file with this text for `np` ranks on hosts a:2, b:1 and a:1. */
static ti_status place_by_file(const char *text, int64_t np, bool limited, struct ti_hosts *out,
                               struct ti_err *err)
{
    struct ti_hosts slots = {0};
    ti_status st;

    file_with("a:2\nb:1\na:1\n");
    assert_int_equal(ti_hosts_read(path, &slots, NULL), TI_OK);
    unlink(path);
    file_with(text);
    st = ti_placement_read(path, np, limited ? NULL : &slots, limited ? &slots : NULL, "hosts", out,
                           err);
    unlink(path);
    ti_hosts_free(&slots);
    return st;
}

static void test_placement_file(void **state)
{
    static const struct {
        const char *text;
        int64_t np;
        const char *says; /* behind the file's name */
    } bad[] = {{"a\nb\nb\n", 3, ":3: one rank too many on 'b', which has 1 slot in 'hosts'"},
               {"b\na:4\n", 5, ":2: one rank too many on 'a', which has 3 slots in 'hosts'"},
               {"a\n# none\nc\n", 2, ":3: 'hosts' has no host 'c'"},
               {"a\n", 2, "' is for 1 rank, not 2"},
               {"a:3\nb\n", 3, "' is for 4 ranks, not 3"},
               {"a:0\n", 1, ":1: slots must be 1 or more, not '0'"},
               {"# none\n", 1, "' names no host"}};
    struct ti_hosts hosts = {0};
    struct ti_err err;
    char text[256], *ranks;
    uint32_t *host_of;
    json_t *j;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(place_by_file(bad[i].text, bad[i].np, true, &hosts, &err), TI_ERR_INPUT);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
    }
    assert_int_equal(place_by_file("c\n", 1, false, &hosts, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, ":1: the platform has no host 'c'"));
    assert_int_equal(place_by_file("b:4\na\n", 5, false, &hosts, &err), TI_OK);
    ti_hosts_free(&hosts);
    assert_int_equal(place_by_file("b\na:2 # two\n\na\n", 4, true, &hosts, &err), TI_OK);
    placed(&hosts, "block", 4, text);
    assert_string_equal(text, "b\na\na\na\n");
    host_of = ti_place(&hosts, &(struct ti_placement){.kind = TI_PLACE_FILE}, 4);
    j = ti_place_json(&hosts, host_of, 4);
    ranks = json_dumps(j, JSON_COMPACT);
    assert_string_equal(ranks, "[{\"host\":\"b\",\"ranks\":[[0,0]]},"
                               "{\"host\":\"a\",\"ranks\":[[1,3]]}]");
    free(ranks);
    json_decref(j);
    free(host_of);
    ti_hosts_free(&hosts);
    assert_int_equal(ti_placement_read("/nowhere/ranks", 1, NULL, NULL, NULL, &hosts, NULL),
                     TI_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_topologies),
                                       cmocka_unit_test(test_units),
                                       cmocka_unit_test(test_units_for_people),
                                       cmocka_unit_test(test_xml),
                                       cmocka_unit_test(test_levels),
                                       cmocka_unit_test(test_hierarchical),
                                       cmocka_unit_test(test_bad_rates),
                                       cmocka_unit_test(test_shape),
                                       cmocka_unit_test(test_picture),
                                       cmocka_unit_test(test_sites),
                                       cmocka_unit_test(test_hosts_in_platform),
                                       cmocka_unit_test(test_bad_hostfiles),
                                       cmocka_unit_test(test_placement),
                                       cmocka_unit_test(test_by_site),
                                       cmocka_unit_test(test_placement_file)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
