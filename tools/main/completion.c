/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion scripts for shells, written from the tables so that they cannot lag behind them. */
#include "main/completion.h"

#include <ictus/bench.h>
#include <ictus/study.h>

#include <stdio.h>
#include <string.h>

/* Names that a list may hold where the option's row knows none: writes them, each after a blank. */
static void completion_write_names(const char *command, const char *option)
{
    struct ictus_operation_info info;
    struct ictus_entry entry;
    if (strcmp(option, "ops") == 0) {
        const bool nonblocking = strcmp(command, "overlap") == 0;
        for (int i = 0; !ictus_operation(NULL, i, &info); i++) {
            if (!info.mocks && (!nonblocking || info.nonblocking)) {
                printf(" %s", info.name);
            }
        }
        printf(" all");
    } else if (strcmp(option, "scheme") == 0) {
        for (int i = 0; ictus_scheme_name(i, NULL); i++) {
            printf(" %s", ictus_scheme_name(i, NULL));
        }
    } else if (strcmp(option, "sync") == 0) {
        for (size_t i = 0; ictus_sync_entry(i, &entry) == ICTUS_OK; i++) {
            printf(" %s", entry.name);
        }
    } else if (strcmp(option, "clock") == 0) {
        for (size_t i = 0; ictus_source_entry(i, &entry) == ICTUS_OK; i++) {
            printf(" %s", entry.name);
        }
    }
}

static bool completion_has_names(const struct option_row *row)
{
    static const char *const named[] = {"ops", "scheme", "sync", "clock", NULL};
    for (int i = 0; named[i]; i++) {
        if (row->type == OPTION_TEXT && strcmp(row->name, named[i]) == 0) {
            return true;
        }
    }
    return row->type == OPTION_CHOICE;
}

static void completion_write_values(const struct command *command, const struct option_row *row)
{
    if (row->type != OPTION_CHOICE) {
        completion_write_names(command->name, row->name);
        return;
    }
    for (int i = 0; row->choices[i]; i++) {
        printf(" %s", row->choices[i]);
    }
}

/* "    bench) names='...' ;;" and, for each option of known values, "    bench--ops) ...". */
static void completion_write_cases(const struct command *const *list)
{
    printf("    '') names='help --help --version");
    for (size_t i = 0; list[i]; i++) {
        printf(" %s", list[i]->name);
    }
    printf("' ;;\n    help) names='");
    for (size_t i = 0; list[i]; i++) {
        printf("%s%s", i ? " " : "", list[i]->name);
    }
    printf("' ;;\n");
    for (size_t i = 0; list[i]; i++) {
        printf("    %s) names='--help", list[i]->name);
        for (const struct option_row *row = list[i]->options; row->name; row++) {
            printf(" --%s%s", row->name, row->type == OPTION_FLAG ? "" : "=");
        }
        printf("' ;;\n");
        for (const struct option_row *row = list[i]->options; row->name; row++) {
            if (completion_has_names(row)) {
                printf("    %s--%s) names='", list[i]->name, row->name);
                completion_write_values(list[i], row);
                printf("' ;;\n");
            }
        }
    }
}

/*
 * Bash splits "--format=te" into three words; "option" is what the value under the cursor is for.
 * Of a list, the part after the last comma is completed.
 */
static const char bash_head[] =
    "# bash completion for ictus, written by `ictus --completion bash`\n"
    "_ictus() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} option= command= names= word before=\n"
    "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
    "        case $word in -* | =) ;; *) command=$word; break ;; esac\n"
    "    done\n"
    "    if [ \"$current\" = = ]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD-1]} current=\n"
    "    elif [ \"${COMP_WORDS[COMP_CWORD-1]}\" = = ]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    case $option$current in --*,*) before=${current%,*}, current=${current##*,} ;; esac\n"
    "    case $command$option in\n";

static const char bash_tail[] =
    "    *--*) compopt -o default; return ;;\n"
    "    esac\n"
    "    COMPREPLY=($(compgen -P \"$before\" -W \"$names\" -- \"$current\"))\n"
    "    if [ \"${#COMPREPLY[@]}\" = 0 ]; then\n"
    "        compopt -o default\n"
    "    elif [ \"${COMPREPLY[0]: -1}\" = = ] || [ -n \"$before\" ]; then\n"
    "        compopt -o nospace\n"
    "    fi\n"
    "}\n"
    "# After a launcher: from the word that is ictus on.\n"
    "_ictus_launched() {\n"
    "    local i\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        if [ \"${COMP_WORDS[i]##*/}\" = ictus ]; then\n"
    "            COMP_WORDS=(\"${COMP_WORDS[@]:i}\") COMP_CWORD=$((COMP_CWORD - i))\n"
    "            _ictus\n"
    "            return\n"
    "        fi\n"
    "    done\n"
    "    compopt -o default\n"
    "}\n"
    "complete -F _ictus ictus\n"
    "for launcher in mpirun mpiexec srun; do\n"
    "    complete -p $launcher >/dev/null 2>&1 || complete -F _ictus_launched $launcher\n"
    "done\n"
    "unset launcher\n";

static void completion_write_bash(const struct command *const *list)
{
    printf("%s", bash_head);
    completion_write_cases(list);
    printf("%s", bash_tail);
}

static const char zsh_head[] = "#compdef ictus mpirun mpiexec srun\n"
                               "# zsh completion for ictus, written by `ictus --completion zsh`\n"
                               "_ictus() {\n"
                               "    local command= option= word value= at=${words[(I)(*/|)ictus]}\n"
                               "    local -a line\n"
                               "    if (( at == 0 || at >= CURRENT )); then\n"
                               "        _default\n"
                               "        return\n"
                               "    fi\n"
                               "    for word in ${words[at+1,CURRENT-1]}; do\n"
                               "        case $word in -*) ;; *) command=$word; break ;; esac\n"
                               "    done\n"
                               "    if [[ $PREFIX == --*=* ]]; then\n"
                               "        option=${PREFIX%%=*}\n"
                               "        compset -P '*='\n"
                               "        compset -P '*,'\n"
                               "    fi\n"
                               "    () {\n"
                               "    local names=\n"
                               "    case $command$option in\n";

static const char zsh_tail[] = "    *) _default; return ;;\n"
                               "    esac\n"
                               "    line=(${=names})\n"
                               "    }\n"
                               "    (( $#line )) || return\n"
                               "    compadd -S ' ' -- ${line:#*=}\n"
                               "    compadd -S '' -- ${(M)line:#*=}\n"
                               "}\n"
                               "if [ \"$funcstack[1]\" = _ictus ]; then\n"
                               "    _ictus \"$@\"\n"
                               "else\n"
                               "    compdef _ictus ictus mpirun mpiexec srun\n"
                               "fi\n";

static void completion_write_zsh(const struct command *const *list)
{
    printf("%s", zsh_head);
    completion_write_cases(list);
    printf("%s", zsh_tail);
}

/* A text between single quotes, as fish reads it. */
static void completion_write_quoted(const char *text)
{
    (void)putchar('\'');
    for (; *text; text++) {
        printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    (void)putchar('\'');
}

/* Of a list, fish has to be given what stands before the last comma with each word. */
static const char fish_head[] =
    "# fish completion for ictus, written by `ictus --completion fish`\n"
    "function __ictus_list\n"
    "    set -l before (string match -r '^(?:--[^=]*=)?(.*,)' -- (commandline -ct))[2]\n"
    "    for word in $argv\n"
    "        echo \"$before\"$word\n"
    "    end\n"
    "end\n"
    "function __ictus_launched\n"
    "    set -l line (commandline -opc)\n"
    "    while set -q line[1]; and not string match -qr '(^|/)ictus$' -- $line[1]\n"
    "        set -e line[1]\n"
    "    end\n"
    "    set -q line[1]; and complete -C (string join ' ' -- $line (commandline -ct))\n"
    "end\n"
    "for launcher in mpirun mpiexec srun\n"
    "    complete -c $launcher -a '(__ictus_launched)'\n"
    "end\n"
    "complete -c ictus -n __fish_use_subcommand -f -a help -d 'describe a command'\n";

static void completion_write_fish_option(const struct command *command,
                                         const struct option_row *row)
{
    printf("complete -c ictus -n '__fish_seen_subcommand_from %s' -l %s", command->name, row->name);
    if (row->letter) {
        printf(" -s %c", row->letter);
    }
    if (completion_has_names(row)) {
        printf(" -x -a '(__ictus_list");
        completion_write_values(command, row);
        printf(")'");
    } else if (row->type != OPTION_FLAG) {
        printf(" -r");
    }
    printf(" -d ");
    completion_write_quoted(row->help);
    printf("\n");
}

static void completion_write_fish(const struct command *const *list)
{
    printf("%s", fish_head);
    for (size_t i = 0; list[i]; i++) {
        printf("complete -c ictus -n '__fish_use_subcommand; or __fish_seen_subcommand_from help' "
               "-f -a %s -d ",
               list[i]->name);
        completion_write_quoted(list[i]->summary);
        printf("\n");
        for (const struct option_row *row = list[i]->options; row->name; row++) {
            completion_write_fish_option(list[i], row);
        }
    }
}

bool completion_print(const char *shell, const struct command *const *list)
{
    static const struct {
        const char *name;
        void (*write)(const struct command *const *list);
    } shells[] = {{"bash", completion_write_bash},
                  {"zsh", completion_write_zsh},
                  {"fish", completion_write_fish}};
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].write(list);
            return true;
        }
    }
    (void)fprintf(stderr, "ictus: unknown shell '%.60s'; must be one of: bash, zsh, fish\n", shell);
    return false;
}
