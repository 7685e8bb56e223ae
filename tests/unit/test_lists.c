/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists as users type them, their order statistics, and random orders. */
#include "../check.h"

#include "main/shuffle.h"
#include "main/sizes.h"
#include "main/spec_list.h"
#include "main/values.h"
#include "main/word_list.h"

#include <ictus/text.h>
#include <jansson.h>
#include <string.h>

static void sizes_are(const char *text, size_t wanted, const uint64_t *list)
{
    struct ictus_why why = {""};
    uint64_t *sizes = NULL;
    size_t count = 0;
    REQUIRE(sizes_read("sizes", text, &sizes, &count, &why) == ICTUS_OK);
    CHECK(count == wanted);
    for (size_t i = 0; i < count && i < wanted; i++) {
        CHECK(sizes[i] == list[i]);
    }
    free(sizes);
}

#define SIZES_ARE(text, ...)                                                                       \
    do {                                                                                           \
        static const uint64_t wanted_sizes[] = {__VA_ARGS__};                                      \
        sizes_are(text, sizeof wanted_sizes / sizeof *wanted_sizes, wanted_sizes);                 \
    } while (0)

static void sizes_are_read(void)
{
    static const char *const bad[] = {"",       ",8",     "8,",  "8,,9", "8..4", "1..8*1", "1..8*0",
                                      "1..8+0", "1..8*x", "8..", "..8",  "1..x", "x..8",   "-1"};
    SIZES_ARE("8,1K,64KiB", 8, 1024, 65536);
    SIZES_ARE("8..64", 8, 16, 32, 64);
    SIZES_ARE("8..63", 8, 16, 32); /* the end is a limit: only values that the steps reach */
    SIZES_ARE("1K..4K*10", 1024);
    SIZES_ARE("0..100+30", 0, 30, 60, 90);
    SIZES_ARE("8..8", 8);
    SIZES_ARE("0..4", 0, 1, 2, 4); /* doubling zero would never end */
    SIZES_ARE("1..100*10", 1, 10, 100);
    SIZES_ARE("8..32*2", 8, 16, 32);
    SIZES_ARE("1..3+1", 1, 2, 3);
    SIZES_ARE("0..100+25,7", 0, 25, 50, 75, 100, 7);
    SIZES_ARE("16,8..64,8,24,24", 16, 8, 32, 64,
              24); /* each once: two rows of a size look like two launches */
    SIZES_ARE("18446744073709551614..18446744073709551615+1", UINT64_MAX - 1, UINT64_MAX);
    SIZES_ARE("9223372036854775808..18446744073709551615", UINT64_C(1) << 63, UINT64_MAX);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ictus_why why = {""};
        uint64_t *sizes = NULL;
        size_t count = 0;
        CHECK(sizes_read("sizes", bad[i], &sizes, &count, &why) == ICTUS_ERR_SPEC && !sizes);
        CHECK(strncmp(why.text, "--sizes: '", 10) == 0);
    }
    /* The largest allowed number, and one more. */
    struct ictus_why why = {""};
    uint64_t *sizes = NULL;
    size_t count = 0;
    CHECK(sizes_read("sizes", "1..4096+1", &sizes, &count, &why) == ICTUS_OK && count == 4096);
    free(sizes);
    CHECK(sizes_read("sizes", "1..4096+1,9,1..9", &sizes, &count, &why) == ICTUS_OK &&
          count == 4096);
    free(sizes);
    CHECK(sizes_read("sizes", "1..4096+1,0", &sizes, &count, &why) == ICTUS_ERR_SPEC);
    /* A long element is quoted by its beginning. */
    char piece[80], wanted[80];
    (void)snprintf(piece, sizeof piece, "%070d", 0);
    piece[69] = 'x';
    (void)snprintf(wanted, sizeof wanted, "'%060d' is not valid", 0);
    CHECK(sizes_read("sizes", piece, &sizes, &count, &why) == ICTUS_ERR_SPEC);
    CHECK(strstr(why.text, wanted));
    piece[60] = 'x';
    piece[61] = '\0';
    CHECK(sizes_read("sizes", piece, &sizes, &count, &why) == ICTUS_ERR_SPEC);
    CHECK(strstr(why.text, wanted));
    char endless[4096]; /* 8 after more zeros than any user would type */
    (void)snprintf(endless, sizeof endless, "%04000d", 8);
    CHECK(sizes_read("sizes", endless, &sizes, &count, &why) == ICTUS_ERR_SPEC);
}

static void values_are_summed_up(void)
{
    double odd[] = {5, -1, 3}, even[] = {4, 1, 3, 2}, read[8];
    values_sort(odd, 3);
    CHECK(odd[0] == -1 && odd[1] == 3 && odd[2] == 5);
    CHECK_NEAR(values_median(odd, 3), 3, 0);
    values_sort(even, 4);
    CHECK_NEAR(values_median(even, 4), 2.5, 0);
    CHECK_NEAR(values_median(even, 1), 1, 0);
    CHECK(isnan(values_median(even, 0)));
    CHECK_NEAR(values_reach(even, 4, 0), 1, 0);
    CHECK_NEAR(values_reach(even, 4, 0.25), 1, 0);
    CHECK_NEAR(values_reach(even, 4, 0.26), 2, 0);
    CHECK_NEAR(values_reach(even, 4, 1), 4, 0);
    json_t *array = json_pack("[f,s,i,n,{s:f},{s:i}]", 2.5, "x", 1, "a", 7.0, "b", 9);
    CHECK(values_collect(array, NULL, read) == 2 && read[0] == 1 && read[1] == 2.5);
    CHECK(values_collect(array, "a", read) == 1 && read[0] == 7);
    CHECK(values_collect(NULL, NULL, read) == 0);
    json_decref(array);
}

/* The published numbers of the generator; and all orders of four are equally frequent. */
static void orders_are_by_chance(void)
{
    enum { TRIALS = 24000 };
    static int seen[256];
    uint64_t state = 0;
    CHECK(shuffle_next(&state) == UINT64_C(0xe220a8397b1dcdaf));
    CHECK(shuffle_next(&state) == UINT64_C(0x6e789e6aa1b965f4));
    CHECK(shuffle_next(&state) == UINT64_C(0x06c45d188009454f));
    for (int i = 0; i < TRIALS; i++) {
        size_t order[5] = {0, 1, 2, 3, 99};
        shuffle_order(order, 4, &state);
        CHECK(order[4] == 99);
        seen[order[0] | order[1] << 2 | order[2] << 4 | order[3] << 6]++;
    }
    int orders = 0;
    for (int i = 0; i < 256; i++) {
        orders += seen[i] > 0;
        CHECK(seen[i] == 0 || (seen[i] > 800 && seen[i] < 1200)); /* 1000, sd 31 */
    }
    CHECK(orders == 24);
}

static int word_take_most(void *study, char *word, struct ictus_why *why)
{
    char *all = study;
    (void)why;
    (void)snprintf(all + strlen(all), 64 - strlen(all), "[%s]", word);
    return strcmp(word, "bad") == 0 ? ICTUS_ERR_UNKNOWN : ICTUS_OK;
}

static void words_are_taken(void)
{
    static char longest[5000];
    char all[64] = "";
    struct ictus_why why = {""};
    struct word_list list = {"ops", "a,bc,d", "operation"};
    CHECK(word_list_read(&list, word_take_most, all, &why) == ICTUS_OK);
    CHECK_STR(all, "[a][bc][d]");
    all[0] = '\0';
    list.text = "a,ab,b,a,ab,a";
    CHECK(word_list_read(&list, word_take_most, all, &why) == ICTUS_OK);
    CHECK_STR(all, "[a][ab][b]");
    all[0] = '\0';
    CHECK(word_list_read_all(&list, word_take_most, all, &why) == ICTUS_OK);
    CHECK_STR(all, "[a][ab][b][a][ab][a]");
    all[0] = '\0';
    list.text = "a,bad,d";
    CHECK(word_list_read(&list, word_take_most, all, &why) == ICTUS_ERR_UNKNOWN);
    CHECK_STR(all, "[a][bad]");
    list.text = ",";
    CHECK(word_list_read(&list, word_take_most, all, &why) == ICTUS_ERR_SPEC);
    list.text = "";
    CHECK(word_list_read(&list, word_take_most, all, &why) == ICTUS_ERR_SPEC);
    CHECK(strncmp(why.text, "--ops", 5) == 0);
    memset(longest, 'x', sizeof longest - 1);
    list.text = longest;
    CHECK(word_list_read(&list, word_take_most, all, &why) == ICTUS_ERR_SPEC);
    CHECK_STR(why.text, "--ops: the list is too long");
}

static void specifications_are_taken(void)
{
    static char longest[1000];
    struct spec_list list = {NULL, 0};
    struct ictus_why why = {""};
    REQUIRE(spec_list_read(&list, "sync", "hca3:fitpoints=5,exchanges=2,mesh", &why) == ICTUS_OK);
    REQUIRE(spec_list_add(&list, "one:a=1,b=2", &why) == ICTUS_OK);
    REQUIRE(list.count == 3);
    CHECK_STR(list.items[0].text, "hca3:fitpoints=5,exchanges=2");
    CHECK_STR(list.items[1].text, "mesh");
    CHECK_STR(list.items[2].text, "one:a=1,b=2");
    memset(longest, 'x', sizeof longest - 1);
    CHECK(spec_list_add(&list, longest, &why) == ICTUS_ERR_SPEC);
    longest[SPEC_ITEM_MAX - 1] = '\0';
    CHECK(spec_list_add(&list, longest, &why) == ICTUS_OK && list.count == 4);
    CHECK(spec_list_read(&list, "sync", "mesh,one:a=1,b=2,mesh,two", &why) == ICTUS_OK);
    REQUIRE(list.count == 5);
    CHECK_STR(list.items[4].text, "two");
    CHECK(spec_list_read(&list, "sync", ",a", &why) == ICTUS_ERR_SPEC);
    CHECK(strstr(why.text, "--sync=,a: a part between commas is empty"));
    spec_list_free(&list);
    CHECK(!list.items && list.count == 0);
    CHECK(spec_list_read(&list, "sync", "", &why) == ICTUS_ERR_SPEC);
    CHECK(list.count == 0);
    spec_list_free(&list);
}

static void numbers_are_taken(void)
{
    static const char *const bad[] = {"", ",", "1,", ",1", "1,,2", "x", "-0.5", "5.5", "1;2"};
    struct ictus_why why = {""};
    double *values = NULL;
    size_t count = 0;
    REQUIRE(number_list_read("at", "0,2.5,5", ictus_parse_seconds, 0, 5, &values, &count, &why) ==
            ICTUS_OK);
    REQUIRE(count == 3);
    CHECK(values[0] == 0 && values[1] == 2.5 && values[2] == 5);
    free(values);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        values = NULL;
        CHECK(number_list_read("at", bad[i], ictus_parse_seconds, 0, 5, &values, &count, &why) ==
              ICTUS_ERR_SPEC);
        CHECK(!values && strstr(why.text, "must be values between 0 and 5"));
    }
    /* The largest allowed number, and one more. */
    enum { MOST = 4096 };
    static char many[2 * MOST + 2];
    for (size_t i = 0; i <= MOST; i++) {
        many[2 * i] = '1';
        many[2 * i + 1] = ',';
    }
    many[2 * MOST + 1] = '\0';
    CHECK(number_list_read("at", many, ictus_parse_seconds, 0, 5, &values, &count, &why) ==
          ICTUS_ERR_SPEC);
    many[2 * MOST - 1] = '\0';
    REQUIRE(number_list_read("at", many, ictus_parse_seconds, 0, 5, &values, &count, &why) ==
            ICTUS_OK);
    CHECK(count == MOST);
    free(values);
    (void)snprintf(many, sizeof many, "1.%062d", 0);
    CHECK(number_list_read("at", many, ictus_parse_seconds, 0, 5, &values, &count, &why) ==
          ICTUS_ERR_SPEC);
    many[63] = '\0';
    REQUIRE(number_list_read("at", many, ictus_parse_seconds, 0, 5, &values, &count, &why) ==
            ICTUS_OK);
    free(values);
}

int main(void)
{
    sizes_are_read();
    values_are_summed_up();
    orders_are_by_chance();
    words_are_taken();
    specifications_are_taken();
    numbers_are_taken();
    return check_result();
}
