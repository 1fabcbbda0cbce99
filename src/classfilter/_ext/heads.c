/* SPDX-License-Identifier: MIT */
/* The compiled part of MultiLabelFilter: streams with rows of several heads, each of which has a filter of its own. */
#include "binding.h"

typedef struct {
    Core *filter;
    size_t column, state; /* where its columns begin in a row, and its numbers in a state */
    size_t columns;       /* a label has two classes, off and on, and one column, on */
} Head;

/* `core` counts columns, not classes; its memory holds the heads, and then its scratch memory. */
typedef struct {
    Core core;
    size_t count, width; /* of the heads, and of the largest */
    PyObject *filters, *read;
} Heads;

static Head *heads_of(const Heads *self) { return self->core.memory; }

static const char *place_of(const Heads *self, const void *numbers, size_t i) {
    return (const char *)numbers + i * size_of(&self->core);
}

/* The row of a head, from its columns. */
static void take_head(const Heads *self, const Head *head, const void *columns, void *row) {
    const Core *const core = &self->core;
    if (head->columns == head->filter->classes) {
        memcpy(row, columns, head->columns * size_of(core));
    } else {
        const double on = get_number(core, columns, 0);
        set_number(core, row, 0, 1 - on);
        set_number(core, row, 1, on);
    }
}

static void give_head(const Heads *self, const Head *head, const void *row, void *columns) {
    const size_t size = size_of(&self->core), hidden = head->filter->classes - head->columns;
    memcpy(columns, (const char *)row + hidden * size, head->columns * size);
}

/* ---- one row of one stream ---- */

/* Whether the score of a label is none: neither in [0, 1] nor missing. */
static int has_no_score(const Heads *self, const void *row) {
    const Head *const heads = heads_of(self);
    size_t h;
    for (h = 0; h < self->count; h++) {
        const double p = get_number(&self->core, row, heads[h].column);
        if (heads[h].columns < heads[h].filter->classes && !(p >= 0 && p <= 1) && p == p) return 1;
    }
    return 0;
}

/* Reads what is no plain row, or an invalid one, by names and with words: Python code. */
static int read_row(const Heads *self, PyObject *probs, void *row) {
    PyObject *const read = PyObject_CallFunctionObjArgs(self->read, probs, NULL);
    const int taken = read == NULL ? -1 : take_row(&self->core, read, row);
    Py_XDECREF(read);
    return taken;
}

static int take_columns(const Heads *self, PyObject *probs, void *row) {
    if (is_plain_row(probs)) {
        if (take_row(&self->core, probs, row) == 0 && !has_no_score(self, row)) return 0;
        PyErr_Clear();
    }
    return read_row(self, probs, row);
}

/* The weight of a head: of all one, or of each its own. */
static int wrong_betas(const Heads *self, PyObject *beta, double *of_all) {
    if (!PyArray_Check(beta)) return take_number(beta, "beta", of_all);
    if (is_array(beta, 1, NPY_DOUBLE) && (size_t)PyArray_SIZE((PyArrayObject *)beta) == self->count) return 0;
    PyErr_Format(PyExc_ValueError, "beta must be a number, or an array of %zu float64 numbers", self->count);
    return -1;
}

static int wrong_channels(const Heads *self, PyObject *channels) {
    size_t h;
    if (channels == Py_None) return 0;
    if (!PyTuple_CheckExact(channels) || (size_t)PyTuple_Size(channels) != self->count) {
        PyErr_Format(PyExc_ValueError, "channel must be None, or a tuple of %zu channels", self->count);
        return -1;
    }
    for (h = 0; h < self->count; h++)
        if (wrong_channel(heads_of(self)[h].filter, PyTuple_GetItem(channels, (Py_ssize_t)h)) < 0) return -1;
    return 0;
}

static double beta_of(PyObject *beta, double of_all, size_t h) {
    return PyArray_Check(beta) ? ((const double *)PyArray_DATA((PyArrayObject *)beta))[h] : of_all;
}

/* Observes the row of every head, or of none; `row` takes the estimates. The rows are those columns or, where there is a
   `stack` (H, K), its own. The head that fails goes to *h. */
static cf_status observe_heads(Heads *self, void *state, void *row, const void *stack, PyObject *beta, double of_all,
                               PyObject *channels, double dt, size_t *h) {
    Core *const core = &self->core;
    void *const before = core->scratch, *const one = element(core, before, core->state_size);
    cf_status status = CF_OK;
    memcpy(before, state, core->state_size * size_of(core));
    for (*h = 0; *h < self->count; ++*h) {
        const Head *const head = &heads_of(self)[*h];
        void *const columns = element(core, row, head->column);
        PyObject *const channel = channels == Py_None ? Py_None : PyTuple_GetItem(channels, (Py_ssize_t)*h);
        if (stack == NULL)
            take_head(self, head, columns, one);
        else
            memcpy(one, place_of(self, stack, *h * self->width), head->filter->classes * size_of(core));
        if (channel != Py_None) status = correct(head->filter, channel, one);
        if (status == CF_OK)
            status = head->filter->observe(head->filter, element(core, state, head->state), one,
                                           beta_of(beta, of_all, *h), dt);
        if (status != CF_OK) break;
        give_head(self, head, one, columns);
    }
    if (status != CF_OK) memcpy(state, before, core->state_size * size_of(core));
    return status;
}

/* A row of heads as _run_streams takes it, (H, K), in double precision: that in the filter's, or NULL after a failure. */
static PyArrayObject *take_stack(const Heads *self, PyObject *probs) {
    PyArrayObject *const stack = as_array(&self->core, probs, "probs", 2, 2);
    if (stack == NULL || ((size_t)PyArray_DIM(stack, 0) == self->count && (size_t)PyArray_DIM(stack, 1) == self->width))
        return stack;
    Py_DECREF((PyObject *)stack);
    PyErr_Format(PyExc_ValueError, "probs must be (%zu, %zu)", self->count, self->width);
    return NULL;
}

static PyObject *heads_stream(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    Heads *const self = (Heads *)object;
    Core *const core = &self->core;
    PyArrayObject *stack = NULL;
    PyObject *row;
    Place place;
    double of_all = 1, at = 0;
    size_t h = 0;
    cf_status status;
    int there = -1;
    if (!ready(core)) return NULL;
    if (nargs != 7 && nargs != 9) {
        PyErr_SetString(PyExc_TypeError, "_update_stream() takes states, times, slot, probs, beta, at and channel");
        return NULL;
    }
    if (wrong_betas(self, args[4], &of_all) < 0 || take_number(args[5], "at", &at) < 0) return NULL;
    if (PyArray_Check(args[3]) && PyArray_NDIM((PyArrayObject *)args[3]) == 2) {
        stack = take_stack(self, args[3]);
        if (stack == NULL) return NULL;
    }
    row = new_row(core);
    if (row != NULL && (stack != NULL || take_columns(self, args[3], PyArray_DATA((PyArrayObject *)row)) == 0) &&
        wrong_betas(self, args[4], &of_all) == 0 && wrong_channels(self, args[6]) == 0)
        there = find_place(core, args, at, &place);
    if (there > 0) {
        status = observe_heads(self, place.state, PyArray_DATA((PyArrayObject *)row),
                               stack == NULL ? NULL : PyArray_DATA(stack), args[4], of_all, args[6], place.dt, &h);
        if (status == CF_OK)
            *place.time = at;
        else if (stack != NULL || read_row(self, args[3], PyArray_DATA((PyArrayObject *)row)) == 0)
            raise_status(heads_of(self)[h].filter, status, -1, element(core, core->scratch, core->state_size),
                         beta_of(args[4], of_all, h), place.dt);
        there = status == CF_OK ? 1 : -1;
    }
    Py_XDECREF((PyObject *)stack);
    if (there <= 0) Py_XDECREF(row);
    return there < 0 ? NULL : there == 0 ? Py_NewRef(Py_None) : row;
}

/* ---- rows of many streams ---- */

/* What the heads take turns with, in one block of memory. */
typedef struct {
    void *states, *after, *probs, *beta, *dt, *out, *cache, *scratch, *memory;
    size_t streams, rows;
} Work;

/* The arguments of _run_streams after the states: those of all heads. */
typedef struct {
    const void *states, *probs, *beta, *dt;
    void *out, *after;
    const size_t *slots, *counts, *order;
    size_t beta_row, beta_head, dt_row;
} Many;

/* One block for the numbers of so many streams and rows, and for the largest filter; 0, or -1 after a failure. */
static int begin_work(const Heads *self, size_t streams, size_t rows, Work *work) {
    size_t state = 0, scratch = 0, cache = 0, h;
    const size_t size = size_of(&self->core);
    for (h = 0; h < self->count; h++) {
        const Core *const f = heads_of(self)[h].filter;
        state = f->state_size > state ? f->state_size : state;
        scratch = f->scratch_size > scratch ? f->scratch_size : scratch;
        cache = f->cache_size > cache ? f->cache_size : cache;
    }
    work->streams = streams;
    work->rows = rows;
    work->memory = PyMem_Malloc(LINE + (scratch + cache + 2 * streams * state + 2 * rows * (self->width + 1)) * size);
    if (work->memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    work->scratch = next_line(work->memory);
    work->cache = element(&self->core, work->scratch, scratch);
    work->states = element(&self->core, work->cache, cache);
    work->after = element(&self->core, work->states, streams * state);
    work->probs = element(&self->core, work->after, streams * state);
    work->out = element(&self->core, work->probs, rows * self->width);
    work->beta = element(&self->core, work->out, rows * self->width);
    work->dt = element(&self->core, work->beta, rows);
    return 0;
}

/* Runs head h over all rows; it needs no GIL. *row is the one that failed, among those in order. */
static cf_status run_head(const Heads *self, const Many *many, size_t h, const Work *work, size_t *row) {
    const Head *const head = &heads_of(self)[h];
    Core *const f = head->filter;
    const Core *const core = &self->core;
    const size_t size = size_of(core), K = f->classes, S = f->state_size;
    Table table;
    cf_status status;
    size_t i;
    for (i = 0; i < work->streams; i++) {
        const size_t slot = many->slots == NULL ? i : many->slots[i];
        memcpy(element(core, work->states, i * S), place_of(self, many->states, slot * core->state_size + head->state),
               S * size);
    }
    for (i = 0; i < work->rows; i++) {
        const size_t from = many->order == NULL ? i : many->order[i];
        memcpy(element(core, work->probs, i * K), place_of(self, many->probs, (from * self->count + h) * self->width),
               K * size);
        memcpy(element(core, work->beta, i), place_of(self, many->beta, from * many->beta_row + h * many->beta_head),
               size);
        memcpy(element(core, work->dt, i), place_of(self, many->dt, from * many->dt_row), size);
    }
    table = make_table(core->single, work->streams, NULL, many->counts, NULL, work->states, work->after, work->probs,
                       work->beta, work->dt, 1, 1, work->out);
    status = f->run(f, &table, work->cache, work->scratch, row);
    if (status != CF_OK) return status;
    for (i = 0; i < work->rows; i++) {
        const size_t to = many->order == NULL ? i : many->order[i];
        give_head(self, head, place_of(self, work->out, i * K),
                  element(core, many->out, to * core->classes + head->column));
    }
    for (i = 0; i < work->streams; i++)
        memcpy(element(core, many->after, i * core->state_size + head->state), place_of(self, work->after, i * S),
               S * size);
    return CF_OK;
}

/* The same with the filter's cache, and without the GIL where there are many rows. */
static cf_status run_head_alone(const Heads *self, const Many *many, size_t h, const Work *work, size_t *row) {
    Core *const f = heads_of(self)[h].filter;
    const size_t bytes = f->cache_size * size_of(f);
    PyThreadState *saved = NULL;
    cf_status status;
    LOCK(f)
    if (bytes > 0) memcpy(work->cache, f->cache, bytes);
    UNLOCK
    if (work->rows >= FEW_ROWS) saved = PyEval_SaveThread();
    status = run_head(self, many, h, work, row);
    if (saved != NULL) PyEval_RestoreThread(saved);
    LOCK(f)
    if (bytes > 0) memcpy(f->cache, work->cache, bytes);
    UNLOCK
    return status;
}

/* How far it is from one number to the next, of rows and of heads: 0 where all share it. -1 for another shape. */
static int take_steps(const Heads *self, PyArrayObject *numbers, size_t rows, size_t *of_row, size_t *of_head) {
    const int dimensions = PyArray_NDIM(numbers);
    *of_head = dimensions == 2;
    *of_row = dimensions == 2 ? self->count : dimensions == 1;
    return -(dimensions > 2 || (dimensions > 0 && (size_t)PyArray_DIM(numbers, 0) != rows) ||
             (dimensions == 2 && (size_t)PyArray_DIM(numbers, 1) != self->count));
}

/* probs (R, H, K), beta and dt as C arrays of the filter's precision; -1 where they do not fit. */
static int take_inputs(const Heads *self, PyObject *const *args, Rows *rows, Many *many) {
    size_t nothing;
    memset(rows, 0, sizeof *rows);
    rows->probs = as_array(&self->core, args[4], "probs", 3, 3);
    if (rows->probs != NULL) rows->beta = as_array(&self->core, args[5], "beta", 0, 2);
    if (rows->beta != NULL) rows->dt = as_array(&self->core, args[6], "dt", 0, 1);
    if (rows->dt == NULL) return -1;
    rows->count = (size_t)PyArray_DIM(rows->probs, 0);
    if ((size_t)PyArray_DIM(rows->probs, 1) == self->count && (size_t)PyArray_DIM(rows->probs, 2) == self->width &&
        take_steps(self, rows->beta, rows->count, &many->beta_row, &many->beta_head) == 0 &&
        take_steps(self, rows->dt, rows->count, &many->dt_row, &nothing) == 0) {
        many->probs = PyArray_DATA(rows->probs);
        many->beta = PyArray_DATA(rows->beta);
        many->dt = PyArray_DATA(rows->dt);
        return 0;
    }
    PyErr_Format(PyExc_ValueError,
                 "_run_streams() takes probs (R, %zu, %zu), beta (), (R,) or (R, %zu), and dt () or (R,)", self->count,
                 self->width, self->count);
    return -1;
}

/* _run_streams(states, slots, counts, order, probs, beta, dt, out, after): as of one filter, but probs are (R, H, K), padded
   with anything, and beta may be (R, H). */
static PyObject *heads_streams(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    Heads *const self = (Heads *)object;
    Many many;
    Work work;
    Rows rows;
    size_t total = 0, row = 0, h;
    cf_status status = CF_OK;
    if (!ready(&self->core)) return NULL;
    if (nargs != 9) {
        PyErr_SetString(PyExc_TypeError,
                        "_run_streams() takes states, slots, counts, order, probs, beta, dt, out and after");
        return NULL;
    }
    if (take_inputs(self, args, &rows, &many) < 0 || wrong_table(&self->core, args, rows.count, &total) < 0 ||
        begin_work(self, (size_t)PyArray_DIM((PyArrayObject *)args[8], 0), total, &work) < 0) {
        release_rows(&rows);
        return NULL;
    }
    many.states = PyArray_DATA((PyArrayObject *)args[0]);
    many.slots = indices(args[1]);
    many.counts = indices(args[2]);
    many.order = indices(args[3]);
    many.out = PyArray_DATA((PyArrayObject *)args[7]);
    many.after = PyArray_DATA((PyArrayObject *)args[8]);
    for (h = 0; h < self->count && status == CF_OK; h++) status = run_head_alone(self, &many, h, &work, &row);
    if (status != CF_OK) {
        const Core *const f = heads_of(self)[h - 1].filter;
        raise_status(f, status, (Py_ssize_t)(many.order == NULL ? row : many.order[row]),
                     place_of(self, work.probs, row * f->classes), get_number(f, work.beta, row),
                     get_number(f, work.dt, row));
    }
    PyMem_Free(work.memory);
    release_rows(&rows);
    if (status != CF_OK) return NULL;
    Py_RETURN_NONE;
}

/* ---- the object ---- */

/* Whether `filters` are filters of the core in one precision, and `labels` says of each whether it is that of a label. */
static int wrong_filters(PyObject *filters, PyObject *labels) {
    const Py_ssize_t count = PyTuple_Size(filters);
    Py_ssize_t h;
    int wrong = count < 1 || PyTuple_Size(labels) != count;
    for (h = 0; h < count && !wrong; h++) {
        PyObject *const one = PyTuple_GetItem(filters, h);
        const int known = PyObject_TypeCheck(one, dirichlet_type) || PyObject_TypeCheck(one, sticky_type);
        wrong = !known || ((Core *)one)->memory == NULL ||
                ((Core *)one)->single != ((Core *)PyTuple_GetItem(filters, 0))->single ||
                (PyTuple_GetItem(labels, h) == Py_True && ((Core *)one)->classes != 2);
    }
    if (wrong)
        PyErr_SetString(PyExc_ValueError,
                        "Heads() takes a tuple of filters of the core, and of each whether it is that "
                        "of a label, which has two classes");
    return -wrong;
}

static int heads_init(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"filters", "labels", "read", NULL};
    Heads fresh;
    Core *const core = &fresh.core;
    PyObject *labels;
    Head *heads;
    size_t h;
    if (!is_new((Core *)object)) return -1;
    memset(&fresh, 0, sizeof fresh);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O:Heads", names, &PyTuple_Type, &fresh.filters, &PyTuple_Type,
                                     &labels, &fresh.read) ||
        wrong_filters(fresh.filters, labels) < 0)
        return -1;
    fresh.count = (size_t)PyTuple_Size(fresh.filters);
    core->single = ((Core *)PyTuple_GetItem(fresh.filters, 0))->single;
    for (h = 0; h < fresh.count; h++) {
        const Core *const f = (Core *)PyTuple_GetItem(fresh.filters, (Py_ssize_t)h);
        core->state_size += f->state_size;
        fresh.width = f->classes > fresh.width ? f->classes : fresh.width;
    }
    core->memory = PyMem_Malloc(fresh.count * sizeof *heads + LINE + (core->state_size + fresh.width) * size_of(core));
    if (core->memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    heads = core->memory;
    core->state_size = 0;
    for (h = 0; h < fresh.count; h++) {
        heads[h].filter = (Core *)PyTuple_GetItem(fresh.filters, (Py_ssize_t)h);
        heads[h].column = core->classes;
        heads[h].state = core->state_size;
        heads[h].columns = PyTuple_GetItem(labels, (Py_ssize_t)h) == Py_True ? 1 : heads[h].filter->classes;
        core->classes += heads[h].columns;
        core->state_size += heads[h].filter->state_size;
    }
    core->scratch = next_line(heads + fresh.count);
    if (take_over((Core *)object, core, sizeof fresh) < 0) return -1;
    Py_INCREF(fresh.filters);
    Py_INCREF(fresh.read);
    return 0;
}

static int heads_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((Heads *)object)->filters);
    Py_VISIT(((Heads *)object)->read);
    return 0;
}

static int heads_clear(PyObject *object) {
    Py_CLEAR(((Heads *)object)->filters);
    Py_CLEAR(((Heads *)object)->read);
    return 0;
}

static void heads_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    (void)heads_clear(object);
    dealloc(object);
}

static PyMethodDef heads_methods[] = {
    {"_run_streams", (PyCFunction)(void (*)(void))heads_streams, METH_FASTCALL, run_streams_doc},
    {"_update_stream", (PyCFunction)(void (*)(void))heads_stream, METH_FASTCALL, update_stream_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot heads_slots[] = {
    {Py_tp_doc, "The compiled part of MultiLabelFilter."},
    {Py_tp_init, heads_init},
    {Py_tp_dealloc, heads_dealloc},
    {Py_tp_traverse, heads_traverse},
    {Py_tp_clear, heads_clear},
    {Py_tp_methods, heads_methods},
    {0, NULL},
};

PyType_Spec heads_spec = {"classfilter._core.Heads", sizeof(Heads), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                          heads_slots};
