/* SPDX-License-Identifier: BSD-3-Clause */
/* Every command's own table of options: the first byte chooses the command, each line is a word. */
#include "fuzz.h"
#include "main/commands.h"
#include "main/sizes.h"
#include "main/spec_list.h"

#include <ictus/text.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64 };

/* What commands do with the texts of options. */
static void read_lists(const char *text)
{
    struct spec_list list = {NULL, 0};
    struct ictus_why why;
    uint64_t *sizes = NULL;
    double *numbers = NULL;
    size_t count = 0;
    (void)spec_list_read(&list, "list", text, &why);
    spec_list_free(&list);
    if (sizes_read("sizes", text, &sizes, &count, &why) == ICTUS_OK) {
        fuzz_require(count > 0 && count <= SIZES_MAX);
        free(sizes);
    }
    if (number_list_read("wait", text, ictus_parse_seconds, 0.0, 1e6, &numbers, &count, &why) ==
        ICTUS_OK) {
        fuzz_require(count > 0 && numbers[0] >= 0.0);
        free(numbers);
    }
}

/* The command that a byte chooses. */
static const struct command *command_of(uint8_t byte)
{
    const struct command *all[COMMANDS_MAX];
    size_t count = 0;
    for (const struct command_group *group = command_groups; group->name; group++) {
        for (int i = 0; group->commands[i]; i++) {
            all[count++] = group->commands[i];
        }
    }
    return all[byte % count];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char *words[WORDS_MAX + 2] = {NULL};
    struct ictus_why why;
    int count = 0;
    int left = 0;
    if (length == 0) {
        return 0;
    }
    const struct command *command = command_of(bytes[0]);
    char *text = fuzz_text(bytes + 1, length - 1);
    char *next = text;
    words[count++] = (char *)(uintptr_t)command->name;
    while (next && count < WORDS_MAX) {
        words[count++] = strsep(&next, "\n");
    }
    void *options = calloc(1, command->options_size + 1);
    fuzz_require(options);
    const int err = options_read(command->options, count, words, options, &left, &why);
    fuzz_require(left < count);
    if (!err && left > 0) {
        read_lists(words[1]);
    }
    free(options);
    free(text);
    return 0;
}
