/* SPDX-License-Identifier: MIT */
/* What the files of the event rule's binding share. */
#ifndef CLASSFILTER_EVENTS_H
#define CLASSFILTER_EVENTS_H

#include "binding.h"

#include <stdlib.h>

typedef struct {
    Core core; /* its memory holds the numbers of the rule, one after the other */
    union {
        cf_events_f32 f32;
        cf_events_f64 f64;
    } rule;
    size_t nodes, slots; /* of every state, as firmware has it; 0: states grow */
} EventRule;

#define EVENTS(self, name, ...)                                                                                        \
    ((self)->core.single ? name##_f32(&(self)->rule.f32, __VA_ARGS__) : name##_f64(&(self)->rule.f64, __VA_ARGS__))

/* Settings. */
int events_init(PyObject *object, PyObject *args, PyObject *kwargs);

/* Events of a call, in memory that `free` releases. An int is 0, or -1 after a failure. */
typedef struct {
    cf_event *events;
    size_t count, room;
} List;

int reserve(List *list, size_t more);
int add_events(const EventRule *self, List *list, const cf_event *events, size_t count);
PyObject *as_columns(const List *list);
PyObject *as_tuples(const List *list);

/* Starts that are final, for whom asks for them: each is told once. `told` is a list of Python's, or NULL. */
int note_starts(const EventRule *self, char *state, const List *events, List *starts);
int add_starts(PyObject *told, const List *starts);
int take_told(PyObject *const *args, Py_ssize_t nargs, Py_ssize_t before, const char *usage, PyObject **told);

/* The state and the events after one row, of the state, the time and the probabilities in `args`; `starts` may be NULL. */
typedef PyObject *decide_row(PyObject *rule, PyObject *const *args, List *starts);

PyObject *events_start(PyObject *rule, PyObject *nothing);
PyObject *after_row(const EventRule *self, PyObject *state, double time, const void *probs, List *list, List *starts);
PyObject *update_state(PyObject *rule, PyObject *const *args, Py_ssize_t nargs, decide_row *decide);
PyObject *update_events(PyObject *rule, PyObject *const *args, Py_ssize_t nargs, decide_row *decide);
extern const char update_events_doc[];

#endif
