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

/* One thread at a time in the memory of an object: between LOCK and UNLOCK, and without a return between them. The GIL sees
   to it by itself; a free-threaded Python has a lock for each object, which, as the GIL, is free while its thread waits. */
#ifdef Py_GIL_DISABLED
#define LOCK(object) Py_BEGIN_CRITICAL_SECTION(object);
#define UNLOCK Py_END_CRITICAL_SECTION();
#else
#define LOCK(object) {
#define UNLOCK }
#endif

/* A call of either precision: what points to numbers is void here, so one text serves both. */
#define CALL(self, name, arguments) ((self)->single ? name##_f32 arguments : name##_f64 arguments)

/* What each filter does: with a row of the call's own, which then takes the estimate; and with rows of many streams. */
typedef struct Core Core;
typedef cf_status observe_row(Core *self, void *state, void *row, double beta, double dt);
typedef cf_status run_table(Core *self, const void *table, void *cache, void *scratch, size_t *row);

/* What the compiled part of every filter begins with. */
struct Core {
    PyObject_HEAD
    int single; /* float, not double */
    size_t classes, state_size;
    double temperature; /* of what a filter returns; its state has none */
    void *memory; /* one block, for all the rest */
    void *state, *start, *scratch, *cache;
    size_t cache_size; /* of what a call may leave to the next one; 0 where there is no such thing */
    size_t scratch_size;
    observe_row *observe;
    run_table *run;
};

/* Numbers of the filter's precision: read one, write one, their size and NumPy's type, a pointer to the one at i. */
double get_number(const Core *self, const void *numbers, size_t i);
void set_number(const Core *self, void *numbers, size_t i, double value);
size_t size_of(const Core *self);
int type_of(const Core *self);
void *element(const Core *self, void *numbers, size_t i);

/* Where a line of the processor's cache begins, at most LINE bytes further on: scratch memory from there on is quicker. */
enum { LINE = 64 };
void *next_line(void *memory);

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
int refuse_booleans(PyObject *probs, Py_ssize_t row);
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

/* Predictions that are not plain numbers. */
typedef PyObject *run_inputs(Core *self, PyObject *const inputs[3]);
int is_plain_row(PyObject *probs);
PyObject *read_prediction(Core *self, PyObject *probs);
PyObject *run_filter(Core *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names, run_inputs *run);

/* Row i of the arguments. */
void *probs_at(const Core *self, const Rows *rows, size_t i);
void *beta_at(const Core *self, const Rows *rows, size_t i);
void *dt_at(const Core *self, const Rows *rows, size_t i);

/* What the types share. `take_over` returns 0 or -1. */
int take_over(Core *self, const Core *fresh, size_t size);
PyObject *reset(PyObject *object, PyObject *nothing);
void dealloc(PyObject *object);
extern const char update_doc[], run_doc[];

/* One row of one stream. */
typedef struct {
    void *state;
    double *time, dt;
} Place;

PyObject *update_filter(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *update_stream(PyObject *object, PyObject *const *args, Py_ssize_t nargs);
int find_place(const Core *self, PyObject *const *args, double at, Place *place);
int wrong_channel(const Core *self, PyObject *channel);
cf_status correct(Core *self, PyObject *channel, void *row);

/* What is counted of the sources (sources.c): the numbers of all, and those of a row's, NULL where none are. */
Py_ssize_t class_of(const Core *self, const void *numbers);
int take_counts(PyObject *array, PyObject *source, size_t classes, double **all, double **own);
void count_row(double *all, double *own, double at, double dt, Py_ssize_t predicted, Py_ssize_t before);
PyObject *count_rows(PyObject *m, PyObject *const *args, Py_ssize_t nargs);

/* Rows of many streams, as the core takes them. */
enum { FEW_ROWS = 64 };

typedef union {
    cf_table_f32 f32;
    cf_table_f64 f64;
} Table;

cf_status check_temperature(const Core *self);
void temper_row(const Core *self, void *row);
void temper_rows(const Core *self, const void *table);
Table make_table(int single, size_t streams, const size_t *slots, const size_t *counts, const size_t *order,
                 const void *states, void *after, const void *probs, const void *beta, const void *dt,
                 size_t beta_stride, size_t dt_stride, void *out);
Table one_stream(const Rows *rows, void *state, PyArrayObject *out);
PyObject *run_streams(PyObject *object, PyObject *const *args, Py_ssize_t nargs);
int is_array(PyObject *object, int dimensions, int type);
int wrong_table(const Core *self, PyObject *const *args, size_t rows, size_t *total);
const size_t *indices(PyObject *object);
int wrong_states(const Core *self, PyArrayObject *states);
int are_indices(PyObject *object, size_t count, size_t end);
extern const char update_stream_doc[], run_streams_doc[];
PyObject *commit(PyObject *m, PyObject *const *args, Py_ssize_t nargs);

/* Smoothing, in double precision: what rows of a sticky filter say of the class at each of them, with its lock held; and an
   estimate by such a message. */
cf_status sticky_messages(Core *self, size_t rows, const double *likelihoods, const double *steps, double *messages,
                          double *scratch);
void smooth_estimate(size_t classes, const double *estimate, const double *message, double *out);

/* The arguments of banks. */
PyObject *as_streams(PyObject *m, PyObject *rows);
PyObject *check_streams(PyObject *m, PyObject *args);
PyObject *as_batch(PyObject *m, PyObject *const *args, Py_ssize_t nargs);
PyObject *check_batch(PyObject *m, PyObject *const *args, Py_ssize_t nargs);

/* The types, and the functions of the module. */
PyObject *events_times(void);
extern PyType_Spec dirichlet_spec, sticky_spec, heads_spec, lag_spec, adaptive_spec, events_spec, head_rules_spec;
extern PyTypeObject *dirichlet_type, *sticky_type, *events_type;
extern PyMethodDef functions[];
PyObject *hmm_pass(PyObject *m, PyObject *args);

#endif
