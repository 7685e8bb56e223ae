/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of planted faults. */
#include "simulate/simulate_faults.h"

#include <ictus/text.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 64, LIST_BYTES = 200 };

/* One word of a list, its value cut off. False at the end, or where there is no value. */
static bool simulate_faults_next_word(const char **list, char word[WORD_BYTES], char **value)
{
    const size_t length = strcspn(*list, ",");
    (void)snprintf(word, WORD_BYTES, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    *value = strchr(word, ':');
    if (!*value) {
        return false;
    }
    *(*value)++ = '\0';
    return true;
}

static bool faults_is_node(const char *text, int64_t nodes)
{
    int64_t node = -1;
    return !ictus_parse_int(text, &node) && node >= 0 && node < nodes;
}

int simulate_faults_slow(const char *list, int64_t nodes, char seconds[SIMULATE_FAULTS_BYTES],
                         struct ictus_why *why)
{
    size_t used = 0;
    bool good = strlen(list) < LIST_BYTES;
    seconds[0] = '\0';
    for (const char *rest = list; *rest && good;) {
        char word[WORD_BYTES];
        char ends[WORD_BYTES];
        char *value = NULL;
        double more_s = 0.0;
        good = simulate_faults_next_word(&rest, word, &value) &&
               !ictus_parse_seconds(value, &more_s) && more_s >= 0.0 && more_s <= 1.0;
        (void)snprintf(ends, sizeof(ends), "%s", word);
        char *dash = strchr(ends, '-');
        if (dash) {
            *dash++ = '\0';
        }
        good = good && faults_is_node(ends, nodes) && (!dash || faults_is_node(dash, nodes));
        if (good && used < SIMULATE_FAULTS_BYTES - 1) {
            used += (size_t)snprintf(seconds + used, SIMULATE_FAULTS_BYTES - used, "%s%s:%.9g",
                                     used ? "," : "", word, more_s);
        }
    }
    return good ? ICTUS_OK
                : ictus_because(why, ICTUS_ERR_SPEC,
                                "--slow=%.80s: must be NODE:TIME or NODE-NODE:TIME of nodes 0 to "
                                "%" PRId64 ", such as 17:20us,3-90:30us",
                                list, nodes - 1);
}

int simulate_faults_clocks(const char *list, int64_t nodes, struct ictus_why *why)
{
    bool good = strlen(list) < LIST_BYTES;
    for (const char *rest = list; *rest && good;) {
        char word[WORD_BYTES];
        char *value = NULL;
        double number = 0.0;
        good = simulate_faults_next_word(&rest, word, &value) && faults_is_node(word, nodes) &&
               (!ictus_parse_ratio(value, &number) || !ictus_parse_seconds(value, &number));
    }
    return good ? ICTUS_OK
                : ictus_because(why, ICTUS_ERR_SPEC,
                                "--odd-clocks=%.80s: must be NODE:RATIO or NODE:TIME of nodes 0 to "
                                "%" PRId64 ", such as 5:100ppm,9:50us",
                                list, nodes - 1);
}
