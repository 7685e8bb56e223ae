/* SPDX-License-Identifier: BSD-3-Clause */
/* The bash completion script, written from the tables so that it cannot fall behind them. */
#include "main/completion.h"

#include <stddef.h>
#include <stdio.h>

/* Bash splits "--format=te" into three words. "option" is what the value under the cursor is for.
 */
static const char head[] =
    "# bash completion for ictus, written by `ictus --completion`\n"
    "_ictus() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} option= command= words= word\n"
    "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
    "        case $word in -* | =) ;; *) command=$word; break ;; esac\n"
    "    done\n"
    "    if [ \"$current\" = = ]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD-1]} current=\n"
    "    elif [ \"${COMP_WORDS[COMP_CWORD-1]}\" = = ]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    case $command$option in\n";

static const char tail[] = "    *--*) compopt -o default; return ;;\n"
                           "    esac\n"
                           "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                           "    if [ \"${#COMPREPLY[@]}\" = 0 ]; then\n"
                           "        compopt -o default\n"
                           "    elif [ \"${COMPREPLY[0]: -1}\" = = ]; then\n"
                           "        compopt -o nospace\n"
                           "    fi\n"
                           "}\n"
                           "complete -F _ictus ictus\n";

static void print_options(const struct command *command)
{
    printf("    %s) words='--help", command->name);
    for (const struct option_row *row = command->options; row->name; row++) {
        printf(" --%s%s", row->name, row->type == OPTION_FLAG ? "" : "=");
    }
    printf("' ;;\n");
}

static void print_choices(const struct command *command)
{
    for (const struct option_row *row = command->options; row->name; row++) {
        if (row->type != OPTION_CHOICE) {
            continue;
        }
        printf("    %s--%s) words='", command->name, row->name);
        for (int i = 0; row->choices[i]; i++) {
            printf("%s%s", i ? " " : "", row->choices[i]);
        }
        printf("' ;;\n");
    }
}

void completion_print(const struct command *const *list)
{
    printf("%s", head);
    printf("    '') words='--help --version");
    for (size_t i = 0; list[i]; i++) {
        printf(" %s", list[i]->name);
    }
    printf("' ;;\n");
    for (size_t i = 0; list[i]; i++) {
        print_options(list[i]);
        print_choices(list[i]);
    }
    printf("%s", tail);
}
