/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Marks the symbols that the shared libraries export, and opens and closes extern "C" for C++ in
 * every public header.
 */
#ifndef ICTUS_API_H
#define ICTUS_API_H

#if defined(__GNUC__)
#define ICTUS_API __attribute__((visibility("default")))
#else
#define ICTUS_API
#endif

#ifdef __cplusplus
#define ICTUS_BEGIN extern "C" {
#define ICTUS_END }
#else
#define ICTUS_BEGIN
#define ICTUS_END
#endif

#endif
