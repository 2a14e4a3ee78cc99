/* common/sha256 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/sha256.h"

static void check(const char *text, size_t bytes, const char *expected)
{
    struct ti_sha256 s;
    char hex[65];

    ti_sha256_begin(&s);
    ti_sha256_add(&s, text, bytes);
    ti_sha256_end(&s, hex);
    assert_string_equal(hex, expected);
}

/* FIPS 180-4's examples. */
static void known(void **state)
{
    static char a[1000000];

    (void)state;
    check("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(a, 'a', sizeof a);
    check(a, sizeof a, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Every length around a block's, in every two parts. */
static void in_parts(void **state)
{
    unsigned char data[140];

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 167 + 13);
    for (size_t n = 0; n <= sizeof data; n++) {
        char whole[65], parts[65];
        struct ti_sha256 s;

        ti_sha256_begin(&s);
        for (size_t i = 0; i < n; i++)
            ti_sha256_add(&s, data + i, 1);
        ti_sha256_end(&s, whole);
        for (size_t first = 0; first <= n; first++) {
            ti_sha256_begin(&s);
            ti_sha256_add(&s, data, first);
            ti_sha256_add(&s, data + first, n - first);
            ti_sha256_end(&s, parts);
            assert_string_equal(parts, whole);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(in_parts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
