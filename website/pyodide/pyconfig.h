/* SPDX-License-Identifier: MIT
 *
 * How large types are in 32-bit WebAssembly. It is included first, so that the pyconfig.h of the Python that runs the build does not count. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H

#define ALIGNOF_LONG 4
#define ALIGNOF_SIZE_T 4
#define HAVE_INTTYPES_H 1
#define HAVE_LONG_LONG 1
#define HAVE_SSIZE_T 1
#define HAVE_STDINT_H 1
#define HAVE_UINTPTR_T 1
#define HAVE_WCHAR_H 1
#define SIZEOF_DOUBLE 8
#define SIZEOF_FLOAT 4
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_OFF_T 8
#define SIZEOF_PID_T 4
#define SIZEOF_SHORT 2
#define SIZEOF_SIZE_T 4
#define SIZEOF_TIME_T 8
#define SIZEOF_VOID_P 4
#define SIZEOF_WCHAR_T 4
#define STDC_HEADERS 1

#endif
