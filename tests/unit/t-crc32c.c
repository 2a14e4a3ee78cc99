/* common/crc32c: with the processor's instruction and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/crc32c.h"

/* RFC 3720, B.4, and the usual check value. */
static void known(void **state)
{
    uint8_t data[48] = {0};

    (void)state;
    assert_int_equal(ti_crc32c(0, NULL, 0), 0);
    assert_int_equal(ti_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(ti_crc32c(0, data, 32), 0x8a9136aa);
    memset(data, 0xff, 32);
    assert_int_equal(ti_crc32c(0, data, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        data[i] = (uint8_t)i;
    assert_int_equal(ti_crc32c(0, data, 32), 0x46dd794e);
    for (int i = 0; i < 32; i++)
        data[i] = (uint8_t)(31 - i);
    assert_int_equal(ti_crc32c(0, data, 32), 0x113fdb5c);
}

/* Every length, from every address, in two parts. */
static void both_ways(void **state)
{
    uint8_t data[80];

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 167 + 13);
    for (size_t from = 0; from < 8; from++)
        for (size_t n = 0; n + from <= sizeof data; n++) {
            uint32_t whole = ti_crc32c_portable(0, data + from, n);

            assert_int_equal(ti_crc32c(0, data + from, n), whole);
            for (size_t first = 0; first <= n; first += 7) {
                uint32_t crc = ti_crc32c(0, data + from, first);

                assert_int_equal(ti_crc32c(crc, data + from + first, n - first), whole);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(both_ways)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
