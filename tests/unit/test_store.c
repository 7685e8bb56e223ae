/* SPDX-License-Identifier: BSD-3-Clause */
/* An array that grows into a file contains what was put into it, wherever it is stored. */
#include "../check.h"

#include "causality/store.h"

#include <stdbool.h>

enum { MANY = 700000, KEPT = 100000 }; /* elements; bytes that stay in memory */

/* Not a divisor of a page. */
struct element {
    uint32_t value[3];
};

static struct element *element_at(const struct store *store, uint64_t i)
{
    return (struct element *)store->area + i;
}

static void store_put(struct store *store, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        REQUIRE(!ictusi_store_grow(store, 1, NULL));
        CHECK(element_at(store, store->count)->value[1] == 0);
        *element_at(store, store->count) = (struct element){{(uint32_t)i, 0, (uint32_t)~i}};
        store->count++;
        if (i % 1000 == 999) { /* earlier elements are written to as well */
            element_at(store, i / 2)->value[1]++;
        }
    }
}

static bool store_holds(const struct store *store, uint64_t from, uint64_t count)
{
    bool good = true;
    for (uint64_t i = 0; i < count; i++) {
        const struct element *e = element_at(store, from + i);
        const bool written_twice = (2 * i + 1) % 1000 == 999 && 2 * i + 1 < count;
        good =
            good && e->value[0] == i && e->value[1] == written_twice && e->value[2] == (uint32_t)~i;
    }
    return good;
}

static void store_grows(uint64_t memory)
{
    struct store store;
    REQUIRE(!ictusi_store_init(&store, sizeof(struct element), MANY, memory, NULL));
    store_put(&store, MANY);
    CHECK((store.file >= 0) == (memory < MANY * sizeof(struct element)));
    CHECK(store_holds(&store, 0, MANY));
    ictusi_store_relax(&store);
    CHECK(store_holds(&store, 0, MANY));
    CHECK(ictusi_store_grow(&store, 1, NULL) == ICTUS_ERR_CORRUPT);
    ictusi_store_fini(&store);
}

static void elements_leave(const void *self, void *elements, uint64_t count)
{
    (void)self;
    (void)elements;
    (void)count;
}

/* Elements in memory or in a file are appended to elements in a file or in memory. */
static void store_takes(uint64_t memory, uint64_t other_memory)
{
    enum { FEW = MANY / 3 };
    struct store store;
    struct store other;
    REQUIRE(!ictusi_store_init(&store, sizeof(struct element), MANY, memory, NULL));
    REQUIRE(!ictusi_store_init(&other, sizeof(struct element), MANY, other_memory, NULL));
    store_put(&store, FEW);
    store_put(&other, 2ULL * FEW);
    REQUIRE(!ictusi_store_take(&store, &other, elements_leave, NULL, NULL));
    ictusi_store_relax(&store);
    CHECK(store.count == 3ULL * FEW && store_holds(&store, 0, FEW) &&
          store_holds(&store, FEW, 2ULL * FEW));
    REQUIRE(!ictusi_store_grow(&store, 1, NULL)); /* what follows is new */
    const struct element *next = element_at(&store, store.count);
    CHECK(next->value[0] == 0 && next->value[1] == 0 && next->value[2] == 0);
    ictusi_store_fini(&other);
    ictusi_store_fini(&store);
}

/* Many new elements at once are zero, and earlier ones stay, also if memory is made ready. */
static void store_grows_at_once(uint64_t memory)
{
    struct store store;
    REQUIRE(!ictusi_store_init(&store, sizeof(struct element), MANY, memory, NULL));
    store_put(&store, 1001);
    REQUIRE(!ictusi_store_grow(&store, MANY - 1001, NULL));
    store.count = MANY;
    ictusi_store_populate(&store, 500, MANY);
    ictusi_store_populate_file(&store, 700, MANY);
    ictusi_store_relax(&store);
    CHECK(store_holds(&store, 0, 1001));
    uint32_t sum = 0;
    for (uint64_t i = 1001; i < MANY; i++) {
        sum |= element_at(&store, i)->value[0] | element_at(&store, i)->value[2];
        element_at(&store, i)->value[0] = (uint32_t)i;
    }
    ictusi_store_relax(&store);
    CHECK(sum == 0 && element_at(&store, MANY - 1)->value[0] == MANY - 1);
    ictusi_store_fini(&store);
}

int main(void)
{
    store_grows(0);
    store_grows(KEPT);
    store_grows(MANY * sizeof(struct element) * 2);
    store_takes(0, 0);
    store_takes(KEPT, MANY * sizeof(struct element) * 2);
    store_takes(MANY * sizeof(struct element) * 2, 0);
    store_takes(MANY * sizeof(struct element) * 2, MANY * sizeof(struct element) * 2);
    store_grows_at_once(0);
    store_grows_at_once(KEPT);
    store_grows_at_once(MANY * sizeof(struct element) * 2);
    return check_result();
}
