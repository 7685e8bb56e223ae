# SPDX-License-Identifier: BSD-3-Clause
# Run with cmake -P: a C file that holds a file's bytes and why they may be missing.
#   -DIN=file -DWHY=why.txt -DOUT=file.c -DNAME=symbol -DHEADER=its.h
file(READ ${IN} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(READ ${WHY} why)
string(REPLACE "\\" "\\\\" why "${why}")
string(REPLACE "\"" "\\\"" why "${why}")
file(WRITE ${OUT} "/* SPDX-License-Identifier: BSD-3-Clause */
/* Made by cmake/EmbedFile.cmake. */
#include \"${HEADER}\"

const size_t ${NAME}_size = ${size};
const char ${NAME}_why[] = \"${why}\";
const unsigned char ${NAME}[] = {
${hex}0};
")
