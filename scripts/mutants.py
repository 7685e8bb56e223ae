# SPDX-License-Identifier: BSD-3-Clause
"""The small mistakes that scripts/mutate makes, and how many of them come into one build.

A mutant inside a function stands beside the original, chosen by a number in a file that every process maps: one
build serves all of them, and each costs only its tests. The same file notes which places a test came through:
functions, and statements with a mutant in them.
The environment names the file, so that several mutants can be alive at a time, each in processes of its own.
"""
import re

STATE_BYTES = 1 << 16  # a number, then a byte for each place
STATE_VARIABLE = "MUTANT_STATE"  # not ICTUS_...: unknown ones of those are told to the user

HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)


def swap(pattern, table):
    return re.compile(pattern), lambda match: [table[match.group(0).strip()].join(
        [match.group(0)[:len(match.group(0)) - len(match.group(0).lstrip())],
         match.group(0)[len(match.group(0).rstrip()):]])]


def number(match):
    """One more; of many (a limit, a time, a scale), whose last digit nobody chose, twice as many."""
    text = match.group(0)
    if re.fullmatch(r"\d+", text):
        return [str(int(text) + 1 if int(text) < 1000 else int(text) * 2)]
    return [f"({text} * 2)" if float(text) else "1.0"]


def condition(match):
    """if (...) { with balanced parentheses on one line: negated, and never."""
    return [f"if (!({match.group(1)})) {{", f"if (0 && ({match.group(1)})) {{"]


# What a programmer gets wrong: name, where, what instead.
OPERATORS = [
    ("comparison", *swap(r" (?:<=|>=|==|!=|<|>) ", {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="})),
    ("logic", *swap(r" (?:&&|\|\|) ", {"&&": "||", "||": "&&"})),
    ("sign", *swap(r"(?<=[\w)\]]) [+-] (?=[\w(])", {"+": "-", "-": "+"})),
    ("factor", *swap(r"(?<=[\w)\]]) [*/] (?=[\w(])", {"*": "/", "/": "*"})),
    ("extreme", *swap(r"\bf(?:min|max)\b", {"fmin": "fmax", "fmax": "fmin"})),
    ("constant", re.compile(r"(?<![\w.])\d+(?:\.\d+(?:e-?\d+)?|e-?\d+)?(?![\w.])"), number),
    ("condition", re.compile(r"\bif \((.*)\) \{$", re.M), condition),
    ("statement", re.compile(r"^[ \t]+(?:\(void\))?[a-z_]\w*(?:->\w+|\.\w+)*\([^;{}]*\);$", re.M), lambda match: ["    ;"]),
    ("return", re.compile(r"^(?:static )?(?:int|bool|void|double|int64_t|uint64_t|size_t) \w+\([^;{}]*\)\n\{\n", re.M),
     lambda match: [match.group(0) + ("    return;\n" if " void " in " " + match.group(0).split("(")[0] + " " or
                                      match.group(0).startswith(("void ", "static void ")) else "    return 0;\n")]),
]


class Mutant:
    def __init__(self, path, text, kind, start, end, new):
        self.path, self.kind, self.start, self.end, self.new = path, kind, start, end, new
        self.line = text.count("\n", 0, start + len(text[start:end]) - len(text[start:end].lstrip())) + 1
        self.source = text
        self.number, self.function, self.invalid = 0, None, False
        self.steps, self.before = [], None  # of its tests; what killed it the last time
        self.tried = {}  # seconds of each test that was run with it
        self.place, self.unplaced = None, False  # its statement's, where that can be told from its function's

    def text(self):
        return self.source[:self.start] + self.new + self.source[self.end:]

    def lines(self):
        begin = self.source.rfind("\n", 0, self.start + 1) + 1
        stop = self.source.find("\n", max(self.end - 1, begin))
        old = self.source[begin:stop]
        new = self.source[begin:self.start] + self.new + self.source[self.end:stop]
        return " ".join(old.split()), " ".join(new.split())

    def name(self):
        old, new = self.lines()
        return f"{self.path} | {old} | {new}"

    def room(self):
        return "/".join(self.path.split("/")[:-1][:2])


# Rows of options, where flags, texts and choices have no bounds, and the row that ends them: nobody reads those numbers.
# An option without a letter has none that is typed with a character of the number 1 either.
LETTER = re.compile(r'\{"[\w-]+", $')
UNREAD = re.compile(r"OPTION_(?:FLAG|TEXT|CHOICE)\b|SPEC_(?:CHOICE|TEXT|BOOL)\b|\{NULL, SPEC_")


# Functions that do nothing do nothing when they return at once; all members of an array are of one size; a text or
# an allocation may have more room than it needs.
NOTHING = re.compile(r"(?:[ \t]+\(void\)\w+;\n|[ \t]+return 0;\n)*\}")
SIZED = re.compile(r"sizeof\([\w>.-]*\[$|\bchar (?:\*?\w+(?:\[[^\]]*\])?, )*\w+\[(?:\w+ [*+] )?$|alloc\((?!.*(?: -|sizeof)).*$")


# What MPI, a loop over an array or a stream into memory sets in any case need not be set before.
DECLARED = re.compile(r"\b(?:int|size_t) (\w+) = $")
SETS = re.compile(r"\bP?MPI_(?:Comm_(?:size|rank|test_inter)|Group_size|Initialized|Finalized)\([^;()]*&$|"
                  r"\bjson_array_foreach\([^;{}]*, $|\bopen_memstream\(&\w+, &$")


def is_set_next(text, start, end):
    """Whether a variable that is declared here is next used where it is set."""
    declared = DECLARED.search(text, text.rfind("\n", 0, start) + 1, start)
    used = re.compile(rf"\b{declared.group(1)}\b").search(text, end) if declared else None
    return used is not None and SETS.search(text, text.rfind("\n", 0, used.start()) + 1, used.start()) is not None


# Of two equal values either is the larger one, and the smaller.
LEFT = re.compile(r"(?:^|[=(,?:]|&&|\|\||\breturn)\s*([\w.>\[\]-]+)$")
CHOSEN = re.compile(r"([^?:;,{}]+?)\s*\?\s*([^?:;,{}]+?)\s*:\s*([\w.>\[\]-]+)\s*[;,)}]")


def is_extreme(text, start, end):
    """Whether a comparison chooses one of the two values that it compares."""
    left, chosen = LEFT.search(text, text.rfind("\n", 0, start) + 1, start), CHOSEN.match(text, end)
    return left is not None and chosen is not None and {left.group(1), chosen.group(1)} == set(chosen.group(2, 3))


def is_unread(kind, text, start, end):
    begin = text.rfind("\n", 0, start) + 1
    if kind == "comparison" and text[start:end].strip()[0] in "<>" and is_extreme(text, start, end):
        return True
    if kind == "constant" and is_set_next(text, start, end):
        return True
    if kind == "constant":
        return (UNREAD.search(text[begin:text.find("\n", start)]) or SIZED.search(text[begin:start]) or
                LETTER.search(text[begin:start]))
    return kind == "return" and NOTHING.match(text, end)


def hidden(text):
    """A text of the same length without what is no code."""
    return HIDDEN.sub(lambda m: re.sub(r"[^\n]", "\0", m.group(0)), text)


def mutants_of(path, text):
    masked = hidden(text)
    for kind, pattern, make in OPERATORS:
        for match in pattern.finditer(masked):
            if is_unread(kind, text, match.start(), match.end()):
                continue
            # Strings inside a statement or a condition are part of it.
            real = pattern.match(text, match.start()) or match
            for new in make(real):
                yield Mutant(path, text, kind, match.start(), real.end(), new)


# Bodies of functions: what stands between braces in the first column.
BODY = re.compile(r"^\{\n(.*?)^\}$", re.S | re.M)
LABEL = re.compile(r"^[ \t]*(?!default\b)([a-z_]\w*):[ \t]*$", re.M)
# Names of their own for what it calls: it comes before the file's own headers, and what they ask for.
PRELUDE = """extern int MUTANTS_open(const char *, int, ...) __asm__("open"); extern int MUTANTS_close(int) __asm__("close");
extern void *MUTANTS_map(void *, unsigned long, int, int, int, long) __asm__("mmap");
extern char *MUTANTS_variable(const char *) __asm__("getenv");
static unsigned char MUTANTS_none[SIZE] __attribute__((aligned(8)));
static volatile unsigned char *MUTANTS_state = MUTANTS_none;
__attribute__((constructor)) static void MUTANTS_begin(void)
{
    const char *name = MUTANTS_variable("VARIABLE");
    const int file = name ? MUTANTS_open(name, 2) : -1;
    void *state = file < 0 ? (void *)-1 : MUTANTS_map(0, SIZE, 3, 1, file, 0);
    if (file >= 0) { MUTANTS_close(file); }
    if (state != (void *)-1) { MUTANTS_state = state; }
}
"""


def bodies_of(text):
    """(begin, end) of each function's body."""
    return [match.span(1) for match in BODY.finditer(text)]


def body_of(mutant):
    """(begin, end) of the function's body that holds it; None where it is in a table, a constant, a macro."""
    for begin, end in bodies_of(mutant.source):
        # A return goes in with the function's head before it, which it leaves alone.
        inside = mutant.start >= begin or mutant.end == begin and mutant.new.startswith(mutant.source[mutant.start:mutant.end])
        if inside and mutant.end <= end:
            return begin, end
    return None


# What may begin a statement, before which nothing can stand.
CASE = re.compile(r"(?:case\b[^:?]*|default|[a-z_]\w*)\s*:(?!:)")
ELSE = re.compile(r"else\b\s*(?=if\b)")
TAIL = re.compile(r"while\b[^{;]*;")  # of "do"
SPACE = re.compile(r"[\s\0]*")
BLOCK = re.compile(r"[ \0]*\n")  # after a brace that opens one; values follow in its line


def statement_of(masked, begin, at):
    """Where the statement begins that holds a character of a function's body, and whether it follows "else": after its
    labels, and at the "if" of "else if". Semicolons in parentheses, or among values in braces, end no statement. None in a
    label and after "do"."""
    opened, start = [], begin
    for i in range(begin, at):
        c = masked[i]
        if c in "([":
            opened.append(c)
        elif c == "{":
            opened.append(c if BLOCK.match(masked, i + 1) and masked[begin:i].rstrip(" \n\0")[-1:] not in ("=", ",") else "=")
        elif c in ")]}" and opened:
            c += opened.pop()
        if c in (";", "{", "}{") and not set(opened) & set("([="):
            start = i + 1
    start = SPACE.match(masked, start).end()
    while label := CASE.match(masked, start):
        start = SPACE.match(masked, label.end()).end()
    other = ELSE.match(masked, start)
    start = other.end() if other else start
    return None if start > at or TAIL.match(masked, start) else (start, other is not None)


def statement_with(mutant):
    """The statement that holds a mutant; None for one that stands at the head of its function, or in a label."""
    masked, (begin, _) = hidden(mutant.source), body_of(mutant)
    at = SPACE.match(masked, mutant.start).end()
    return statement_of(masked, begin, at) if at >= begin and mutant.kind != "return" else None


def marked(text, begin, end, mutants, mark):
    """A function's body in which the statements that hold these mutants note that they were come to."""
    marks, parts, at = {}, [], begin
    for mutant in mutants:
        marks.setdefault(statement_with(mutant), []).append(mark.format(4 + mutant.place))
    for (start, other), notes in sorted(marks.items()):
        parts += [text[at:start], f"if (({', '.join(notes)}, 0)) {{ }} else " if other else f"{', '.join(notes)}; "]
        at = start
    return "".join(parts) + text[at:end]


def block_of(number, origin, body):
    labels = LABEL.findall(body)
    return "{" + (f" __label__ {', '.join(labels)};" if labels else "") + f"\n#line {number} \"{origin}\"\n" + body + "}"


def woven(path, text, file_id, bodies):
    """A file's text with all its mutants inside it. bodies: (begin, end) to (the function's place, [(number, mutant)]).
    Without a mutant alive, it notes the statements of those that have a place of their own."""
    prefix = f"mutants{file_id}"
    prelude = PRELUDE.replace("MUTANTS", prefix).replace("SIZE", str(STATE_BYTES)).replace("VARIABLE", STATE_VARIABLE)
    parts, at = [prelude, f'#line 1 "{path}"\n'], 0
    for (begin, end), (function, mutants) in sorted(bodies.items()):
        parts += [text[at:begin], f"if (!{prefix}_state[{4 + function}]) {{ {prefix}_state[{4 + function}] = 1; }}\n"]
        for number, mutant in mutants:
            mutated = mutant.text()
            parts += [f"if (*(volatile int *){prefix}_state == {number}) ",
                      block_of(1, f"mutant:{number}", mutated[begin:len(mutated) - (len(text) - end)]), " else\n"]
        placed = [mutant for _, mutant in mutants if mutant.place is not None]
        if placed:
            parts += [f"if (*(volatile int *){prefix}_state == 0) ",
                      block_of(1, f"place:{function}", marked(text, begin, end, placed, prefix + "_state[{}] = 1")), " else\n"]
        parts += [block_of(text.count("\n", 0, begin) + 1, path, text[begin:end]), "\n"]
        at = end
    return "".join(parts) + text[at:]
