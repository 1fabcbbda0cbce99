/* SPDX-License-Identifier: MIT */
/* One thread at a time in the memory of an object: between LOCK and UNLOCK, and without a return between them. The GIL sees
   to it by itself; a free-threaded Python has a lock for each object, which, as the GIL, is free while its thread waits. */
#ifndef CLASSFILTER_LOCK_H
#define CLASSFILTER_LOCK_H

#include <Python.h>

#ifdef Py_GIL_DISABLED
#define LOCK(object) Py_BEGIN_CRITICAL_SECTION(object);
#define UNLOCK Py_END_CRITICAL_SECTION();
#else
#define LOCK(object) {
#define UNLOCK }
#endif

#endif
