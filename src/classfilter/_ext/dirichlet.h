/* SPDX-License-Identifier: MIT */
/* The object of DirichletFilter, and its methods for smoothing. */
#ifndef CLASSFILTER_DIRICHLET_H
#define CLASSFILTER_DIRICHLET_H

#include "binding.h"

typedef struct {
    Core core;
    union {
        cf_dirichlet_f32 f32;
        cf_dirichlet_f64 f64;
    } settings;
    void *prior_nu;
} Dirichlet;

static inline void *settings_of(Core *self) { return &((Dirichlet *)self)->settings; }

PyObject *update_dirichlet_chain(PyObject *object, PyObject *args);
PyObject *join_dirichlet(PyObject *object, PyObject *args);
PyObject *dirichlet_means(PyObject *object, PyObject *states);

#endif
