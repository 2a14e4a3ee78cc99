/* Sites files and hostfiles: what is read, and what is said of what is wrong where. */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/sites.h"

#define READ_AS "nodes.conf"

/* A file that holds the text; its path into `path`. */
static int file_of(const char *text, size_t bytes, char path[64])
{
    int fd = memfd_create("sites", 0);

    assert_true(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static struct ti_sites *read_text(const char *text, size_t bytes, char **more, ti_status *st,
                                  struct ti_err *err)
{
    struct ti_sites *s = NULL;
    char path[64];
    int fd = file_of(text, bytes, path);

    *err = (struct ti_err){"", ""};
    *st = ti_sites_read(path, &s, more, err);
    assert_true((*st == TI_OK) == (s != NULL));
    close(fd);
    return s;
}

static struct ti_sites *must_read(const char *text)
{
    struct ti_err err;
    ti_status st;
    struct ti_sites *s = read_text(text, strlen(text), NULL, &st, &err);

    if (st != TI_OK)
        fail_msg("%s\n%s", err.text, text);
    return s;
}

static void all_keys_are_read(void **state)
{
    static const char text[] = "# two sites\n"
                               "[defaults]\n"
                               "family = x86_64\n"
                               "reserve = 512 MiB\n"
                               "env = A=1\n"
                               "env = B=2\n"
                               "\n"
                               "[cluster griffon]  ; before its site\n"
                               "site = nancy\n"
                               "nodes = griffon-[1-3]\n"
                               "cores = 8\n"
                               "cpus: 2\n"
                               "memory = 16 GiB   # of a node\n"
                               "cpu = Intel Xeon L5420 #2\n"
                               "speed = 2.5G\n"
                               "isa = x86-64-v2\n"
                               "program = /home/me/lu\n"
                               "trace_dir = /tmp/me\n"
                               "tiara = /opt/tiara\n"
                               "env = B=3\n"
                               "    C=a b\n"
                               "    D=\n"
                               "[site lyon]\n"
                               "gateway = me@access.lyon:2222\n"
                               "domain = .lyon.example\n"
                               "network = eth0, 10.69.0.0/16\n"
                               "[site nancy]\n"
                               "[cluster taurus]\n"
                               "site = lyon\n"
                               "family = aarch64\n"
                               "reserve = 0\n"
                               "nodes = taurus-1,\n"
                               "   taurus-2.elsewhere.example\n"
                               "   t[3-\n"
                               "   ]\n";
    static const char good[] = "[site a]\ndomain=s\n[site b]\n[cluster y]\nsite=b\nnodes=y1\n"
                               "[cluster x]\nsite=a\nnodes=x[2-3]\n  x[5-6]\n\t[x,y]9 # two\n"
                               "[cluster z]\nsite=b\nnodes=z1";
    static const char *const names[] = {"x2.s", "x3.s", "x5.s", "x6.s", "x9.s", "y9.s", "y1", "z1"};
    static const int clusters[] = {0, 0, 0, 0, 0, 0, 1, 2};
    struct ti_sites *s;
    struct ti_err err;
    char *fixed = strdup(text);
    ti_status st;

    (void)state;
    s = read_text(text, strlen(text), NULL, &st, &err);
    assert_int_equal(st, TI_ERR_INPUT);
    assert_non_null(strstr(err.text, ":34:6: ")); /* t[3-, */
    memcpy(strstr(fixed, "t[3-\n"), "t3  \n", 5);
    strcpy(strstr(fixed, "   ]\n"), "");
    s = must_read(fixed);
    free(fixed);
    assert_int_equal(s->nsites, 2);
    assert_string_equal(s->site[0].name, "lyon");
    assert_string_equal(s->site[0].gateway, "me@access.lyon:2222");
    assert_string_equal(s->site[0].domain, "lyon.example");
    assert_string_equal(s->site[0].network, "eth0,10.69.0.0/16");
    assert_null(s->site[1].gateway);
    assert_int_equal(s->nclusters, 2);
    assert_string_equal(s->cluster[0].name, "taurus");
    assert_string_equal(s->cluster[0].family, "aarch64");
    assert_int_equal(s->cluster[0].reserve_bytes, 0);
    assert_int_equal(s->cluster[0].nenv, 2);
    assert_int_equal(s->nnodes, 6);
    assert_string_equal(s->node[0].name, "taurus-1.lyon.example");
    assert_string_equal(s->node[1].name, "taurus-2.elsewhere.example");
    assert_string_equal(s->node[5].name, "griffon-3");
    assert_int_equal(s->node[5].cluster, 1);
    {
        const struct ti_cluster *c = &s->cluster[1];

        assert_int_equal(c->site, 1);
        assert_int_equal(c->line, 8);
        assert_int_equal(c->cores, 8);
        assert_int_equal(c->cpus, 2);
        assert_int_equal(c->memory_bytes, INT64_C(16) << 30);
        assert_int_equal(c->reserve_bytes, 512 << 20);
        assert_string_equal(c->cpu, "Intel Xeon L5420");
        assert_string_equal(c->family, "x86_64");
        assert_string_equal(c->isa, "x86-64-v2");
        assert_true(c->speed == 2.5e9);
        assert_string_equal(c->program, "/home/me/lu");
        assert_string_equal(c->trace_dir, "/tmp/me");
        assert_string_equal(c->tiara, "/opt/tiara");
        assert_int_equal(c->nenv, 4);
        assert_string_equal(c->env[0], "A=1");
        assert_string_equal(c->env[1], "B=3");
        assert_string_equal(c->env[2], "C=a b");
        assert_string_equal(c->env[3], "D=");
    }
    ti_sites_free(s);

    s = must_read(good);
    assert_int_equal(s->nnodes, 8);
    for (int i = 0; i < 8; i++) {
        assert_string_equal(s->node[i].name, names[i]);
        assert_int_equal(s->node[i].cluster, clusters[i]);
    }
    ti_sites_free(s);
}

static void what_may_be_left_out(void **state)
{
    struct ti_sites *s = must_read("[cluster c]\nnodes = a, b");

    (void)state;
    assert_int_equal(s->origin, TI_SITES_FILE);
    assert_int_equal(s->nsites, 1);
    assert_string_equal(s->site[0].name, "here");
    assert_int_equal(s->nnodes, 2);
    assert_int_equal(s->cluster[0].cores, 0);
    assert_int_equal(s->cluster[0].memory_bytes, 0);
    assert_int_equal(s->cluster[0].reserve_bytes, -1);
    assert_null(s->cluster[0].family);
    assert_null(s->via);
    ti_sites_free(s);

    s = must_read("[cluster c]\nnodes = n1-ib, n1-m4, n-n, a-b4-b9");
    assert_int_equal(s->nnodes, 4);
    ti_sites_free(s);

    /* Indented keys are keys, under nodes and env too. */
    s = must_read("\xef\xbb\xbf[site s]\r\n[cluster c]\r\n  nodes = a[1-2]\r\n  cores = 4\r\n\r\n"
                  "  env = X=1\r\n  memory = 2G\r\n  [cluster d]\r\n  nodes=b\r\n    cpus = 1\r\n");
    assert_int_equal(s->nnodes, 3);
    assert_int_equal(s->cluster[0].cores, 4);
    assert_int_equal(s->cluster[0].memory_bytes, INT64_C(2) << 30);
    assert_int_equal(s->cluster[0].nenv, 1);
    assert_int_equal(s->cluster[1].cpus, 1);
    ti_sites_free(s);
}

static void errors_are_where_they_are(void **state)
{
    static const struct {
        const char *text, *at, *says;
    } cases[] = {
        {"", "1:1", "no '[cluster NAME]'"},
        {"# nothing\n", "1:1", "no '[cluster NAME]'"},
        {"[site a]\n", "1:1", "no '[cluster NAME]'"},
        {"nodes = a\n", "1:1", "before any section"},
        {"[cluster c]\nnodes = a\ncoers = 4\n", "3:1",
         "unknown key 'coers', did you mean 'cores'?"},
        {"[cluster c]\nnodes = a\n  coers = 4\n", "3:3", "did you mean 'cores'?"},
        {"[cluster c]\nnodes = a\nmem = 4G\n", "3:1", "did you mean 'memory'?"},
        {"[cluster c]\nnodes = a\nxyzzy = 4G\n", "3:1", "unknown key 'xyzzy'"},
        {"[cluster c]\nnodes = a\ngateway = g\n", "3:1",
         "a key of [site NAME], not of [cluster NAME]"},
        {"[site c]\nnodes = a\n", "2:1", "a key of [cluster NAME], not of [site NAME]"},
        {"[defaults]\nnodes = a\n[cluster c]\nnodes = b\n", "2:1", "not into [defaults]"},
        {"[target]\nranks_per_node = 0\n[cluster c]\nnodes = a\n", "2:18", "ranks_per_node"},
        {"[target x]\nranks_per_node = 4\n[cluster c]\nnodes = a\n", "1:9", "takes no name"},
        {"[target]\nranks = 4\n[cluster c]\nnodes = a\n", "2:1", "unknown key 'ranks'"},
        {"[target]\nnodes = b\n[cluster c]\nnodes = a\n", "2:1",
         "'nodes' is a key of [cluster NAME], not of [target]"},
        {"[cluster c]\nnodes = a\nranks_per_node = 4\n", "3:1",
         "'ranks_per_node' is a key of [target], not of [cluster NAME]"},
        {"[clutser c]\nnodes = a\n", "1:2", "did you mean 'cluster'?"},
        {"[cluster]\nnodes = a\n", "1:2", "needs a name"},
        {"[cluster a b]\nnodes = a\n", "1:10", "a name is of letters"},
        {"[defaults x]\n", "1:11", "takes no name"},
        {"[cluster c\nnodes = a\n", "1:1", "not closed"},
        {"[cluster c] nodes = a\n", "1:13", "behind the ']'"},
        {"[cluster c]\nnodes\n", "2:1", "neither '[SECTION]' nor 'KEY = VALUE'"},
        {"[cluster c]\n= a\n", "2:1", "a key is missing"},
        {"[cluster c]\nnodes =\n", "2:1", "'nodes' has no value"},
        {"[cluster c]\ncores = 4\n", "1:1", "cluster 'c' has no nodes"},
        {"[cluster c]\nnodes = a[1-\n", "2:11", "a range"},
        {"[cluster c]\nnodes = a[1-2],\n    b[3-2]\n", "3:7", "must ascend"},
        {"[cluster c]\nnodes = a[1-2],a2\n", "2:16",
         "node 'a2' is in cluster 'c' already, in line 2"},
        {"[cluster c]\nnodes = a[1-2]\n[cluster d]\nnodes = b,\n  a[2-3]\n", "5:3",
         "node 'a2' is in cluster 'c' as well, in line 2"},
        {"[cluster c]\nnodes = a\n[cluster c]\nnodes = b\n", "3:1", "was there before, in line 1"},
        {"[cluster c]\nnodes = a\nnodes = b\n", "3:1", "'nodes' was given before, in line 2"},
        {"[cluster c]\nnodes = a\ncores = 0\n", "3:9", "from 1 to 65536"},
        {"[cluster c]\nnodes = a\ncores = 4x\n", "3:9", "from 1 to 65536"},
        {"[cluster c]\nnodes = a\ncores = 4\ncpus = 8\n", "4:8", "8 cpus with 4 cores"},
        {"[cluster c]\nnodes = a\nmemory = 16 Gig\n", "3:10", "not '16 Gig'"},
        {"[cluster c]\nnodes = a\nmemory = 16\n", "3:10", "unit"},
        {"[cluster c]\nnodes = a\nmemory = 9999T\n", "3:10", "1024 TiB"},
        {"[cluster c]\nnodes = a\nmemory = -1G\n", "3:10", "size"},
        {"[cluster c]\nnodes = a\nmemory = 1G\nreserve = 2G\n", "4:11", "leaves nothing"},
        {"[cluster c]\nnodes = a\nspeed = 2.5GHz\n", "3:9", "speed is"},
        {"[cluster c]\nnodes = a\nspeed = 0\n", "3:9", "speed is"},
        {"[cluster c]\nnodes = a\nspeed = nan\n", "3:9", "speed is"},
        {"[cluster c]\nnodes = a\nfamily = amd64\n", "3:10", "such as x86_64, not 'amd64'"},
        {"[cluster c]\nnodes = a\nfamily = Intel Xeon\n", "3:10", "uname -m"},
        {"[cluster c]\nnodes = a\nisa = avx2\n", "3:7", "isa is"},
        {"[cluster c]\nnodes = a\nfamily = aarch64\nisa = x86-64\n", "4:7", "is of family x86_64"},
        {"[cluster c]\nnodes = a\ntrace_dir = tmp\n", "3:13", "begins with '/'"},
        {"[cluster c]\nnodes = a\ntiara = ~/t\n", "3:9", "begins with '/'"},
        {"[cluster c]\nnodes = a\nenv = A\n", "3:7", "without blanks or quotes, not 'A'"},
        {"[cluster c]\nnodes = a\nenv = A=1\n   9=2\n", "4:4",
         "without blanks or quotes, not '9=2'"},
        {"[cluster c]\nnodes = a\nenv = TIARA_COUNTER=x\n", "3:7", "Tiara's own"},
        {"[cluster c]\nnodes = a\nsite = nancy\n", "3:8", "no [site nancy]"},
        {"[site nancy]\n[cluster c]\nnodes = a\nsite = nanxy\n", "4:8", "did you mean 'nancy'?"},
        {"[site a]\n[site b]\n[cluster c]\nnodes = n\n", "3:1", "at which of the 2 sites"},
        {"[site a]\ngateway = a b\n", "2:11", "[USER@]HOST[:PORT]"},
        {"[site a]\ngateway = -oX=1\n", "2:11", "[USER@]HOST[:PORT]"},
        {"[site a]\ngateway = g:0\n", "2:11", "port"},
        {"[site a]\ngateway = g,h\n", "2:11", "one gateway"},
        {"[site a]\ndomain = a/b\n", "2:10", "a domain"},
        {"[site a]\nnetwork = eth0,,eth1\n", "2:16", "missing"},
        {"[site a]\nnetwork = eth0, 10.0.0.0/33\n", "2:17", "172.16.0.0/16"},
        {"[site a]\nnetwork = 10.0.0.1\n", "2:11", "no network"},
        {"[cluster c]\nnodes = \xc3\xa4,b[\n", "2:9", "cannot be in the name"},
        {"[cluster c]\ncpu = \xc3\xa4\xc3\xa4 ; \xc3\xa4\nnodes = a,\xc3\xa4\n", "3:11",
         "cannot be"},
        {"\xff\xfe[\0", "1:1", "UTF-16"},
        {"[cluster c]\rnodes = a\r", "1:1", "CR alone"},
        {"[cluster \"c\"]\nnodes = a\n", "1:10", "no quotes"},
        {"[cluster c]\nnodes = a\nfamily = x86\n", "3:10", "such as x86_64"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ti_err err;
        char *more = NULL, at[32];
        ti_status st;

        snprintf(at, sizeof at, ":%s: ", cases[i].at);

        read_text(cases[i].text, strlen(cases[i].text), &more, &st, &err);
        if (st != TI_ERR_INPUT || !strstr(err.text, at) || !strstr(err.text, cases[i].says))
            fail_msg("status %d, not '%s: %s' but '%s'\n%s", st, cases[i].at, cases[i].says,
                     err.text, cases[i].text);
        free(more);
    }
}

static void all_findings_are_told_in_order(void **state)
{
    static const char text[] =
        "[site unused]\n[site s]\n[cluster c]\nsite = s\nfoo = 1\nnodes = a,a\n"
        "cores = x\n[bar]\n[cluster d]\nnodes = b\n";
    struct ti_err err;
    char *more, *line;
    ti_status st;
    struct ti_sites *s;

    (void)state;
    read_text(text, strlen(text), &more, &st, &err);
    assert_int_equal(st, TI_ERR_INPUT);
    assert_non_null(strstr(err.text, ":5:1: unknown key 'foo'"));
    line = more;
    assert_non_null(line = strstr(line, ":1:1: warning: no cluster is at site 'unused'\n"));
    assert_non_null(line = strstr(line, ":6:11: node 'a' is in cluster 'c' already"));
    assert_non_null(line = strstr(line, ":7:9: cores must be"));
    assert_non_null(line = strstr(line, ":8:2: unknown section '[bar]'"));
    assert_non_null(line = strstr(line, ":9:1: cluster 'd' does not say"));
    assert_null(strstr(strchr(line, '\n') + 1, "\n"));
    free(more);

    s = read_text("[cluster c]\nnodes = a, rack-n1-rack-n14\n", 40, &more, &st, &err);
    assert_int_equal(s->nnodes, 2);
    assert_non_null(
        strstr(more, ":2:12: warning: 'rack-n1-rack-n14' is one node; n[1-4] would be four\n"));
    free(more);
    ti_sites_free(s);
    s = read_text(text, strlen("[site unused]\n[site s]\n[cluster c]\nsite = s\n"), &more, &st,
                  &err);
    assert_int_equal(st, TI_ERR_INPUT);
    free(more);
    s = read_text("[site u]\n[site s]\n[cluster c]\nsite=s\nnodes=n\nfamily=vax\n", 56, &more, &st,
                  &err);
    assert_int_equal(st, TI_OK);
    assert_non_null(strstr(more, ":1:1: warning: no cluster is at site 'u'\n"));
    assert_non_null(strstr(more, ":6:8: warning: family 'vax'"));
    free(more);
    ti_sites_free(s);
}

/* Long lines, and many; blanks and signs of comments anywhere. */
static void lines_may_be_long(void **state)
{
    enum { NODES = 100000 };
    size_t room = NODES * 20;
    char *text = malloc(room);
    struct ti_sites *s;
    struct ti_err err;
    ti_status st;
    char *more = NULL;

    (void)state;
    for (int way = 0; way < 3; way++) {
        size_t n = (size_t)sprintf(text, "[cluster c]\ncpu = x\nnodes =");

        for (int i = 0; i < NODES; i++)
            n += (size_t)sprintf(text + n,
                                 way == 0   ? "%sn%d"
                                 : way == 1 ? "%s   n%d"
                                            : "%s\n  n%d",
                                 i ? "," : "", i);
        n += (size_t)sprintf(text + n, " # and here ; a comment\ncores = 3");
        assert_true(n < room);
        s = must_read(text);
        assert_int_equal(s->nnodes, NODES);
        assert_int_equal(s->cluster[0].cores, 3);
        for (int i = 0; i < NODES; i += 997) {
            char name[16];

            snprintf(name, sizeof name, "n%d", i);
            assert_string_equal(s->node[i].name, name);
        }
        ti_sites_free(s);
        strcpy(strstr(text, "n99999"), "n99998\n[cluster d]\nnodes=n7\n");
        read_text(text, strlen(text), &more, &st, &err);
        assert_non_null(strstr(err.text, "node 'n99998' is in cluster 'c' already"));
        assert_non_null(strstr(more, "node 'n7' is in cluster 'c' as well"));
        free(more);
    }
    memset(text, ' ', room);
    memcpy(text, "[cluster c]\ncpu = x", 19);
    strcpy(text + 1000, "y\nnodes=a\n");
    s = must_read(text);
    assert_int_equal(strlen(s->cluster[0].cpu), 1000 + 1 - strlen("[cluster c]\ncpu = "));
    ti_sites_free(s);
    memset(text, 'x', room);
    memcpy(text, "[cluster ", 9);
    strcpy(text + 300, "]\nnodes = a\n");
    read_text(text, strlen(text), NULL, &st, &err);
    assert_non_null(strstr(err.text, ":1:1: a section's name"));
    memset(text, 'x', room);
    memcpy(text, "[cluster c]\nnodes=a\n#", 21);
    strcpy(text + 3000, "; x\ncores = 2\n");
    s = must_read(text);
    assert_int_equal(s->cluster[0].cores, 2);
    ti_sites_free(s);
    free(text);
}

static void what_is_no_text_is_refused(void **state)
{
    static const char zero[] = "[cluster c]\nnodes = a\0b\n";
    struct ti_sites *s;
    struct ti_err err;
    char *more;
    ti_status st;

    (void)state;
    read_text(zero, sizeof zero - 1, &more, &st, &err);
    assert_int_equal(st, TI_ERR_INPUT);
    assert_non_null(strstr(err.text, ":2:10: a byte 0"));
    assert_null(more);
    assert_int_equal(ti_sites_read("/nonexistent", &s, &more, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "cannot open '/nonexistent': No such file"));
    assert_int_equal(ti_sites_read("/tmp", &s, &more, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "Is a directory"));
    assert_int_equal(ti_sites_read("/dev/zero", &s, &more, &err), TI_ERR_INPUT);
    if (!strstr(err.text, "more than 16 MiB"))
        fail_msg("%s", err.text);
}

/* Copy `from`, with the name of who runs this test for each USER. */
static void with_user(const char *from, char *to, size_t bytes)
{
    const char *name = getpwuid(geteuid())->pw_name, *at;

    for (*to = '\0'; (at = strstr(from, "USER")) != NULL; from = at + 4)
        snprintf(to + strlen(to), bytes - strlen(to), "%.*s%s", (int)(at - from), from, name);
    snprintf(to + strlen(to), bytes - strlen(to), "%s", from);
}

static void hostfiles_are_read(void **state)
{
    static const struct {
        const char *text, *expect;
    } cases[] = {
        {"a\nb slots=4 # four\n\n# c\nc.d slots = 2 max_slots=8\r\n", "a:0 b:4 c.d:2"},
        {"b\na\nb\nb\n", "b:3 a:0"},
        {"a slots=2\na slots=3\na\n", "a:6"},
        {"a max-slots=3", "a:0"},
        {"", ":1:1: there is no node"},
        {"a slots=0\nb", "b:0"},
        {"a slots=0 max_slots=0\na slots=2", "a:2"},
        {"a slots=0\n", ":1:1: there is no node with slots"},
        {"a slots=-1", ":1:9: slots are a whole number of 0 or more"},
        {"a slots=1 slots=2", ":1:11: this line has"},
        {"a:2\nb:1\na:3\nb slots=2", "a:5 b:3"}, /* Hydra's form */
        {"a.b:16 # c", "a.b:16"},
        {"a:0", ":1:3: slots are a whole number of 1 or more"},
        {"a:", ":1:3: slots are"},
        {"a:x", ":1:3: slots are"},
        {"a:2 slots=2", ":1:5: this line has"},
        {":2", ":1:1: this cannot"},
        {"::1 slots=2", ":1:1: mpirun takes no IPv6 address"},
        {"fe80::1:2", ":1:1: mpirun takes no IPv6 address"},
        {"a slots=2 username=USER", "a:2"},
        {"USER@a slots=2\nUSER@b:3 user=USER", "a:2 b:3"},
        {"a username=nobody-else", ":1:12: another user"},
        {"a username", ":1:3: a '='"},
        {"USER@", ": a name is missing"},
        {"a slots=", ":1:9: slots are"},
        {"a slots", ":1:3: a '='"},
        {"a\nb slot=2", ":2:3: what may follow"},
        {"a b", ":1:3: what may follow"},
        {"a slots=4 max_slots=2", ":1:1: more slots"},
        {"nobody-else@a", ":1:1: another user"},
        {"a[1-2]", ":1:2: this cannot"},
        {"-a", ":1:1: this cannot"},
        {"+n0", ":1:1: relative"},
        {"=2", ":1:1: a name is missing"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ti_sites *s = NULL;
        struct ti_err err = {"", ""};
        char path[64], all[256] = "", text[512];
        int fd;
        ti_status st;

        with_user(cases[i].text, text, sizeof text);
        fd = file_of(text, strlen(text), path);
        st = ti_sites_read_hostfile(path, &s, NULL, &err);

        close(fd);
        for (int64_t k = 0; s && k < s->nnodes; k++)
            sprintf(all + strlen(all), "%s%s:%d", k ? " " : "", s->node[k].name,
                    (int)s->node[k].slots);
        if (cases[i].expect[0] == ':' ? st != TI_ERR_INPUT || !strstr(err.text, cases[i].expect)
                                      : strcmp(all, cases[i].expect) != 0)
            fail_msg("'%s': '%s', '%s'", cases[i].text, all, err.text);
        if (s)
            assert_true(s->origin == TI_SITES_HOSTFILE && s->nclusters == 1 && s->nsites == 1);
        ti_sites_free(s);
    }
}

/* Open MPI refuses slots= of a node on two lines; not so lines without it, nor Hydra. */
static void nodes_listed_twice_are_told(void **state)
{
    static const struct {
        const char *text, *expect;
    } cases[] = {
        {"a slots=2\nb\na slots=3\na slots=1\n",
         ":3: warning: 'a' is listed again: slots are added"},
        {"a\na\nb:2\nb:2\nc slots=2\nc\n", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ti_sites *s = NULL;
        struct ti_err err = {"", ""};
        char path[64], *more = NULL;
        int fd = file_of(cases[i].text, strlen(cases[i].text), path);

        assert_int_equal(ti_sites_read_hostfile(path, &s, &more, &err), TI_OK);
        close(fd);
        assert_int_equal(more != NULL, cases[i].expect != NULL);
        if (more) {
            assert_non_null(strstr(more, cases[i].expect));
            assert_ptr_equal(strchr(more, '\n'), more + strlen(more) - 1);
        }
        free(more);
        ti_sites_free(s);
    }
}

static void nodes_can_be_left_out(void **state)
{
    struct ti_sites *s = must_read("[cluster c]\nnodes=a[1-4]\n[cluster d]\nnodes=b[1-2]");
    const bool keep[] = {false, true, false, true, false, false};

    (void)state;
    ti_sites_filter(s, keep);
    assert_int_equal(s->nnodes, 2);
    assert_string_equal(s->node[0].name, "a2");
    assert_string_equal(s->node[1].name, "a4");
    assert_int_equal(s->nclusters, 2);
    ti_sites_free(s);
    ti_sites_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_keys_are_read),
        cmocka_unit_test(what_may_be_left_out),
        cmocka_unit_test(errors_are_where_they_are),
        cmocka_unit_test(all_findings_are_told_in_order),
        cmocka_unit_test(lines_may_be_long),
        cmocka_unit_test(what_is_no_text_is_refused),
        cmocka_unit_test(hostfiles_are_read),
        cmocka_unit_test(nodes_listed_twice_are_told),
        cmocka_unit_test(nodes_can_be_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
