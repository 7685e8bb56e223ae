/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses what users type: quantities with units, and names with a nearest match. */
#include <ictus/text.h>

#include "core/plain.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

/* The value is divided by the parts of a second, which rounds only once, so that 100us is not
 * less than 1e-4. */
struct unit {
    const char *name;
    double factor, parts;
};

static const struct unit time_units[] = {{"", 1, 1},     {"ns", 1, 1e9}, {"us", 1, 1e6},
                                         {"µs", 1, 1e6}, {"ms", 1, 1e3}, {"s", 1, 1},
                                         {"min", 60, 1}, {"h", 3600, 1}, {NULL, 0, 1}};
static const struct unit ratio_units[] = {
    {"", 1, 1}, {"ppm", 1, 1e6}, {"ppb", 1, 1e9}, {"%", 1, 1e2}, {NULL, 0, 1}};

/* The longest word whose edit distance is computed. Longer ones have no nearest name. */
enum { LONGEST_WORD = 63 };

static int text_parse_number(const char *text, double *value, const char **rest)
{
    char *end = NULL;
    if (!text || isspace((unsigned char)*text)) {
        return ICTUS_ERR_SPEC;
    }
    errno = 0;
    const double number = plain_strtod(text, &end);
    if (end == text || errno == ERANGE || !isfinite(number)) {
        return ICTUS_ERR_SPEC;
    }
    *value = number;
    *rest = end;
    return ICTUS_OK;
}

static int text_parse_with_unit(const char *text, const struct unit *units, double *value)
{
    double number = 0.0;
    const char *rest = NULL;
    if (text_parse_number(text, &number, &rest)) {
        return ICTUS_ERR_SPEC;
    }
    for (const struct unit *u = units; u->name; u++) {
        if (strcmp(rest, u->name) == 0) {
            *value = number * u->factor / u->parts;
            return ICTUS_OK;
        }
    }
    return ICTUS_ERR_SPEC;
}

int ictus_parse_seconds(const char *text, double *seconds)
{
    return text_parse_with_unit(text, time_units, seconds);
}

int ictus_parse_ratio(const char *text, double *ratio)
{
    return text_parse_with_unit(text, ratio_units, ratio);
}

int ictus_parse_real(const char *text, double *value)
{
    static const struct unit none[] = {{"", 1, 1}, {NULL, 0, 1}};
    return text_parse_with_unit(text, none, value);
}

int ictus_parse_int(const char *text, int64_t *value)
{
    char *end = NULL;
    if (!text || !(isdigit((unsigned char)*text) || *text == '-' || *text == '+')) {
        return ICTUS_ERR_SPEC;
    }
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno == ERANGE) {
        return ICTUS_ERR_SPEC;
    }
    *value = number;
    return ICTUS_OK;
}

int ictus_parse_bytes(const char *text, uint64_t *bytes)
{
    static const char letters[] = "kKMGT";
    static const unsigned shifts[] = {10, 10, 20, 30, 40};
    char *end = NULL;
    if (!text || !isdigit((unsigned char)*text)) {
        return ICTUS_ERR_SPEC;
    }
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (errno == ERANGE) {
        return ICTUS_ERR_SPEC;
    }
    unsigned shift = 0;
    const char *letter = *end ? strchr(letters, *end) : NULL;
    if (letter) {
        shift = shifts[letter - letters];
        end += end[1] == 'i' ? 2 : 1;
    }
    if (*end == 'B') {
        end++;
    }
    if (*end || (shift && number > (UINT64_MAX >> shift))) {
        return ICTUS_ERR_SPEC;
    }
    *bytes = (uint64_t)number << shift;
    return ICTUS_OK;
}

static size_t text_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * Return the number of typing mistakes that separate two words: letters that are wrong, missing,
 * superfluous, or exchanged with their neighbour (optimal string alignment, after Damerau 1964, by
 * the recursion of Wagner and Fischer 1974). table[i][j] is the distance between the first i
 * letters of a and the first j letters of b. O(na nb) time and memory.
 */
static size_t text_edit_distance(const char *a, const char *b)
{
    size_t table[LONGEST_WORD + 1][LONGEST_WORD + 1];
    const size_t na = strlen(a);
    const size_t nb = strlen(b);
    if (na > LONGEST_WORD || nb > LONGEST_WORD) {
        return SIZE_MAX; /* not similar, however many mistakes its length would permit */
    }
    for (size_t i = 0; i <= na; i++) {
        table[i][0] = i;
    }
    for (size_t j = 0; j <= nb; j++) {
        table[0][j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        for (size_t j = 1; j <= nb; j++) {
            const size_t changed = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            const size_t longer = 1 + text_smaller(table[i - 1][j], table[i][j - 1]);
            table[i][j] = text_smaller(changed, longer);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                table[i][j] = text_smaller(table[i][j], 1 + table[i - 2][j - 2]);
            }
        }
    }
    return table[na][nb];
}

const char *ictus_nearest(const char *word, const char *const *names)
{
    const char *best = NULL;
    /*
     * One mistake is allowed in a word of up to three letters, and in a longer one another for
     * every three letters. With more, nearly every short word would be similar to some name.
     */
    const size_t length = strlen(word);
    size_t least = length < 4 ? 1 : 1 + length / 3;
    for (; *names; names++) {
        const size_t distance = text_edit_distance(word, *names);
        if (distance <= least && (!best || distance < least)) {
            least = distance;
            best = *names;
        }
    }
    return best;
}

int ictus_because(struct ictus_why *why, int err, const char *format, ...)
{
    if (why) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(why->text, sizeof(why->text), format, args);
        va_end(args);
    }
    return err;
}

int ictus_unknown(struct ictus_why *why, const char *what, const char *word,
                  const char *const *names)
{
    const char *near = ictus_nearest(word, names);
    if (near) {
        return ictus_because(why, ICTUS_ERR_UNKNOWN, "unknown %s '%s'; did you mean '%s'?", what,
                             word, near);
    }
    char list[240] = "";
    size_t used = 0;
    for (; *names && used + strlen(*names) + 3 < sizeof(list); names++) {
        used +=
            (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", *names);
    }
    return ictus_because(why, ICTUS_ERR_UNKNOWN, "unknown %s '%s'; must be one of: %s%s", what,
                         word, list, *names ? ", ..." : "");
}

/* Return whether the text at p starts a new specification and not another option or list value. */
static bool starts_spec(const char *p)
{
    if (!isalpha((unsigned char)*p)) {
        return false;
    }
    const size_t plain = strcspn(p, "=:(,)");
    return p[plain] != '=';
}

int ictus_next_spec(const char **list, char *piece, size_t size)
{
    const char *start = *list;
    if (!start) {
        return ICTUS_ERR_SAMPLES;
    }
    int depth = 0;
    const char *p = start;
    for (; *p; p++) {
        depth += (*p == '(') - (*p == ')');
        if (*p == ',' && depth == 0 && starts_spec(p + 1)) {
            break;
        }
    }
    const size_t length = (size_t)(p - start);
    if (length == 0 || length >= size) {
        return ICTUS_ERR_SPEC;
    }
    memcpy(piece, start, length);
    piece[length] = '\0';
    *list = *p ? p + 1 : NULL;
    return ICTUS_OK;
}

size_t ictus_text_fit(const char *text, size_t columns)
{
    size_t fits = 0;
    size_t width = 0;
    for (;;) {
        const size_t blanks = strspn(text + fits, " ");
        const size_t word = strcspn(text + fits + blanks, " ");
        for (size_t i = fits; i < fits + blanks + word; i++) {
            width += ((unsigned char)text[i] & 0xC0) != 0x80; /* other bytes continue a character */
        }
        if (word == 0 || (fits > 0 && width > columns)) {
            return fits;
        }
        fits += blanks + word;
    }
}

void ictus_drain(int fd)
{
    enum { PAUSES = 10000 };
    const struct timespec pause = {0, 1000000};
    struct stat what;
    int waiting = 1;
    if (fstat(fd, &what) != 0) {
        return;
    }
    /* For a pipe, what is between its two ends; for a terminal or socket, what has not left yet. */
    const unsigned long question = S_ISFIFO(what.st_mode) ? FIONREAD : TIOCOUTQ;
    for (int i = 0; i < PAUSES && ioctl(fd, question, &waiting) == 0 && waiting > 0; i++) {
        (void)nanosleep(&pause, NULL);
    }
}
