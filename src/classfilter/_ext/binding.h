/* SPDX-License-Identifier: MIT */
/* What the files of the binding share. The binding checks arguments, converts, and writes messages; no mathematics. */
#ifndef CLASSFILTER_BINDING_H
#define CLASSFILTER_BINDING_H

#include <Python.h>

/* One table of NumPy's functions for all files; module.c fills it. */
#define PY_ARRAY_UNIQUE_SYMBOL classfilter_array_api
#ifndef CF_MODULE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <stddef.h>
#include <string.h>

#include "cf.h"
#include "lock.h"

/* A call of either precision: what points to numbers is void here, so one text serves both. */
#define CALL(self, name, arguments) ((self)->single ? name##_f32 arguments : name##_f64 arguments)

/* What the compiled part of every filter begins with. */
typedef struct {
    PyObject_HEAD
    int single; /* float, not double */
    size_t classes, state_size;
    void *memory; /* one block, for all the rest */
    void *state, *start, *scratch;
    int taken;                    /* a run has the turn to change the state; see take_turn */
    struct waiter *first, *last; /* those that wait for it; last is nobody's where first is NULL */
} Core;

/* Numbers of the filter's precision: read one, write one, their size and NumPy's type, a pointer to the one at i. */
double get_number(const Core *self, const void *numbers, size_t i);
void set_number(const Core *self, void *numbers, size_t i, double value);
size_t size_of(const Core *self);
int type_of(const Core *self);
void *element(const Core *self, void *numbers, size_t i);

/* The arguments of a call that takes many observations. */
typedef struct {
    PyArrayObject *probs, *beta, *dt;
    size_t count, beta_stride, dt_stride;
} Rows;

/* Messages. `row` is negative for a single update. They return NULL where they return anything. */
PyObject *raise_error(const char *kind, const char *argument, PyObject *value, const char *problem, const char *rule,
                      const char *remedy, Py_ssize_t row, Py_ssize_t entry);
PyObject *raise_status(const Core *self, cf_status status, Py_ssize_t row, const void *probs, double beta, double dt);
PyObject *raise_row(const Core *self, cf_status status, const Rows *rows, size_t i);
void raise_settings_error(cf_status status, PyObject *options);

/* Arguments. An int is 1 or 0 from `ready` and `is_new`, 0 or -1 from the others; after a failure an exception is set. */
int ready(Core *self);
int is_new(Core *self);
PyArrayObject *as_array(const Core *self, PyObject *object, const char *name, int least, int most);
int wrong_length(const Core *self, Py_ssize_t length);
PyArrayObject *take_vector(const Core *self, PyObject *object, const char *name);
PyObject *new_row(const Core *self);
int take_row(const Core *self, PyObject *object, void *row);
int three_arguments(const char *method, PyObject *const *args, Py_ssize_t nargs, PyObject *names, PyObject *out[3]);
int take_number(PyObject *object, const char *name, double *value);
PyObject *take_update(Core *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names, double *beta, double *dt);
int take_rows(const Core *self, PyObject *probs, PyObject *beta, PyObject *dt, Rows *rows);
void release_rows(Rows *rows);

/* Row i of the arguments. */
void *probs_at(const Core *self, const Rows *rows, size_t i);
void *beta_at(const Core *self, const Rows *rows, size_t i);
void *dt_at(const Core *self, const Rows *rows, size_t i);

/* Turns: `run` works on a copy of the state and writes it back at its end, so what would change the state meanwhile waits. */
void take_turn(Core *self);
void begin_run(Core *self, void *state);
void end_run(Core *self, const void *state);

/* What the types share. `take_over` returns 0 or -1. */
int take_over(Core *self, const Core *fresh, size_t size);
PyObject *reset(PyObject *object, PyObject *nothing);
void dealloc(PyObject *object);
extern const char update_doc[], run_doc[];

/* Banks: rows for some of many streams; row i is for number which[i], or i where `which` is NULL. */
enum { FEW_ROWS = 64 };

typedef struct {
    size_t count, beta_stride, dt_stride;
    const size_t *which;
    const void *probs, *beta, *dt;
    void *states, *out;
} Batch;

typedef cf_status many_work(Core *self, const Batch *batch, void *memory, size_t *row);

int wrong_states(const Core *self, PyArrayObject *states);
PyObject *update_streams(Core *self, PyObject *const *args, Py_ssize_t nargs, size_t memory_size, many_work *work);
void *take_stream(Core *self, PyObject *const *args, Py_ssize_t nargs, PyObject **row, double *beta, double *dt);
PyObject *as_streams(PyObject *m, PyObject *rows);
PyObject *check_streams(PyObject *m, PyObject *args);
PyObject *as_batch(PyObject *m, PyObject *const *args, Py_ssize_t nargs);
PyObject *check_batch(PyObject *m, PyObject *const *args, Py_ssize_t nargs);

/* The types, and the functions of the module. */
extern PyType_Spec dirichlet_spec, sticky_spec, adaptive_spec;
extern PyMethodDef functions[];

#endif
