/* SPDX-License-Identifier: MIT
 *
 * All that the headers of Python and NumPy, and the extension, need of a C library, for 32-bit WebAssembly with types as Emscripten
 * has them. wheel.py gives it the names of the standard headers. The functions come from Pyodide. */
#ifndef LIBC_H
#define LIBC_H

#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define HUGE_VAL __builtin_huge_val()
#define assert(expression) ((void)0)
#define errno (*__errno_location())

typedef struct FILE FILE;
typedef int pid_t;
typedef long ssize_t;
typedef long long off_t;
typedef long long time_t;
typedef unsigned mode_t;

int *__errno_location(void);
void *malloc(size_t size);
void *realloc(void *memory, size_t size);
void free(void *memory);
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *memory, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);

#endif
