/* SPDX-License-Identifier: MIT */
/* Rules for the events of several heads: each has its own, whose states are a tuple. An event has the index of its column. */
#include "events.h"

typedef struct {
    const EventRule *rule;
    size_t column, columns; /* a label has two classes, off and on, and one column, on */
} Head;

/* `core` counts columns, not classes; its memory holds the heads with a rule, and then a row. */
typedef struct {
    Core core;
    size_t count;
    PyObject *rules;
} HeadRules;

static const Head *heads_of(const HeadRules *self) { return self->core.memory; }

/* The row of a head, from its columns. The sum of a label's may round to a little more than 1. */
static void take_head(const HeadRules *self, const Head *head, const void *row, void *of_head) {
    const Core *const core = &self->core;
    const size_t classes = head->rule->core.classes;
    if (head->columns == classes) {
        memcpy(of_head, (const char *)row + head->column * size_of(core), classes * size_of(core));
    } else {
        const double on = get_number(core, row, head->column);
        set_number(core, of_head, 0, on > 1 ? 0 : 1 - on);
        set_number(core, of_head, 1, on);
    }
}

static int wrong_state(const HeadRules *self, PyObject *state) {
    if (PyTuple_CheckExact(state) && (size_t)PyTuple_Size(state) == self->count) return 0;
    PyErr_Format(PyExc_ValueError, "state must be a tuple of %zu states, as start() returns them", self->count);
    return -1;
}

static PyObject *rules_start(PyObject *object, PyObject *nothing) {
    HeadRules *const self = (HeadRules *)object;
    PyObject *state;
    size_t h;
    if (!ready(&self->core)) return NULL;
    state = PyTuple_New((Py_ssize_t)self->count);
    for (h = 0; state != NULL && h < self->count; h++) {
        PyObject *const one = events_start((PyObject *)heads_of(self)[h].rule, nothing);
        if (one == NULL)
            Py_CLEAR(state);
        else
            PyTuple_SetItem(state, (Py_ssize_t)h, one);
    }
    return state;
}

/* In the order of their end, or of their start, then of their column. */
static int compare(const void *a, const void *b) {
    const cf_event *const one = a, *const other = b;
    if (one->end != other->end) return one->end < other->end ? -1 : 1;
    return one->label - other->label;
}

static int compare_starts(const void *a, const void *b) {
    const cf_event *const one = a, *const other = b;
    if (one->start != other->start) return one->start < other->start ? -1 : 1;
    return one->label - other->label;
}

/* Names the column of each event of a head, of those from `first` on. */
static void name_columns(const Head *head, List *list, size_t first) {
    for (; first < list->count; first++)
        list->events[first].label += (int)(head->column + head->columns) - (int)head->rule->core.classes;
}

static PyObject *decide_heads(PyObject *object, PyObject *const *args, List *starts) {
    HeadRules *const self = (HeadRules *)object;
    Core *const core = &self->core;
    List list = {NULL, 0, 0};
    PyObject *after = NULL, *events = NULL, *result = NULL;
    double time;
    void *row, *of_head;
    size_t h;
    if (take_number(args[1], "time", &time) < 0 || wrong_state(self, args[0]) < 0) return NULL;
    row = PyMem_Malloc(2 * core->classes * size_of(core) + 2 * size_of(core));
    if (row == NULL) return PyErr_NoMemory();
    of_head = element(core, row, core->classes);
    if (take_row(core, args[2], row) == 0) after = PyTuple_New((Py_ssize_t)self->count);
    for (h = 0; after != NULL && h < self->count; h++) {
        const Head *const head = &heads_of(self)[h];
        const size_t before = list.count, started = starts != NULL ? starts->count : 0;
        PyObject *one;
        take_head(self, head, row, of_head);
        one = after_row(head->rule, PyTuple_GetItem(args[0], (Py_ssize_t)h), time, of_head, &list, starts);
        if (one == NULL)
            Py_CLEAR(after);
        else
            PyTuple_SetItem(after, (Py_ssize_t)h, one);
        name_columns(head, &list, before);
        if (starts != NULL) name_columns(head, starts, started);
    }
    if (list.count > 1) qsort(list.events, list.count, sizeof *list.events, compare);
    if (starts != NULL && starts->count > 1)
        qsort(starts->events, starts->count, sizeof *starts->events, compare_starts);
    if (after != NULL) events = as_tuples(&list);
    if (events != NULL) result = PyTuple_Pack(2, after, events);
    Py_XDECREF(events);
    Py_XDECREF(after);
    PyMem_Free(row);
    free(list.events);
    return result;
}

static PyObject *rules_update(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    return update_state(object, args, nargs, decide_heads);
}

static PyObject *rules_stream(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    return ready((Core *)object) ? update_events(object, args, nargs, decide_heads) : NULL;
}

/* HeadRules(rules, columns): of each head a rule of the core or None, and how many columns it has. */
static int rules_init(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"rules", "columns", NULL};
    HeadRules fresh;
    Core *const core = &fresh.core;
    PyObject *columns;
    Head *heads;
    Py_ssize_t count, h;
    if (!is_new((Core *)object)) return -1;
    memset(&fresh, 0, sizeof fresh);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!:HeadRules", names, &PyTuple_Type, &fresh.rules, &PyTuple_Type,
                                     &columns))
        return -1;
    count = PyTuple_Size(fresh.rules);
    heads = PyMem_Calloc((size_t)count + 1, sizeof *heads);
    core->memory = heads;
    if (heads == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (h = 0; h < count && h < PyTuple_Size(columns); h++) {
        PyObject *const rule = PyTuple_GetItem(fresh.rules, h);
        const size_t own = PyLong_AsSize_t(PyTuple_GetItem(columns, h));
        if (PyErr_Occurred()) break;
        if (rule != Py_None) {
            const EventRule *const of = (const EventRule *)rule;
            if (!PyObject_TypeCheck(rule, events_type) || of->core.memory == NULL ||
                (own != of->core.classes && !(own == 1 && of->core.classes == 2)) ||
                (fresh.count > 0 && of->core.single != core->single))
                break;
            core->single = of->core.single;
            heads[fresh.count].rule = of;
            heads[fresh.count].column = core->classes;
            heads[fresh.count++].columns = own;
        }
        core->classes += own;
    }
    if (h < count || fresh.count == 0 || PyTuple_Size(columns) != count) {
        PyMem_Free(core->memory);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError,
                            "HeadRules() takes rules of one precision, one at least, or None, and the "
                            "number of columns of each head");
        return -1;
    }
    if (take_over((Core *)object, core, sizeof fresh) < 0) return -1;
    Py_INCREF(fresh.rules);
    return 0;
}

static void rules_dealloc(PyObject *object) {
    Py_XDECREF(((HeadRules *)object)->rules);
    dealloc(object);
}

static PyMethodDef rules_methods[] = {
    {"start", rules_start, METH_NOARGS, "start($self, /)\n--\n\nThe state of a new stream: one of each rule."},
    {"update", (PyCFunction)(void (*)(void))rules_update, METH_FASTCALL,
     "update($self, state, time, probs, starts=None, /)\n--\n\nTake one row: the new state, and the events that are "
     "final by now, as (column, start, end, probability, forced)."},
    {"update_stream", (PyCFunction)(void (*)(void))rules_stream, METH_FASTCALL, update_events_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot rules_slots[] = {
    {Py_tp_doc, "The compiled part of the rules of several heads."},
    {Py_tp_init, rules_init},
    {Py_tp_dealloc, rules_dealloc},
    {Py_tp_methods, rules_methods},
    {0, NULL},
};

PyType_Spec head_rules_spec = {"classfilter._core.HeadRules", sizeof(HeadRules), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, rules_slots};
