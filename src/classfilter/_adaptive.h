/* SPDX-License-Identifier: MIT */
/* The binding of the policy Adaptive. */
#ifndef CLASSFILTER_ADAPTIVE_H
#define CLASSFILTER_ADAPTIVE_H

#include "_binding.h"

typedef struct {
    Core core; /* its memory is the state */
    union {
        cf_adaptive_f32 f32;
        cf_adaptive_f64 f64;
    } settings;
} Adaptive;

static void *adaptive_settings(Core *self) { return &((Adaptive *)self)->settings; }

/* Two rows of one length: the filter's reading, and an answer, or NULL where none is given. */
typedef struct {
    PyArrayObject *probs, *answer;
    size_t classes;
} Reading;

static void release_reading(Reading *reading) {
    Py_XDECREF(reading->probs);
    Py_XDECREF(reading->answer);
}

static int take_reading(const Core *self, PyObject *probs, PyObject *answer, Reading *reading) {
    memset(reading, 0, sizeof *reading);
    reading->probs = as_array(self, probs, "probs", 1, 1);
    if (reading->probs == NULL) return -1;
    reading->classes = (size_t)PyArray_DIM(reading->probs, 0);
    if (answer == NULL) return 0;
    reading->answer = as_array(self, answer, "answer", 1, 1);
    if (reading->answer != NULL && PyArray_DIM(reading->answer, 0) != PyArray_DIM(reading->probs, 0)) {
        PyErr_Format(PyExc_ValueError, "answer has %zd entries, but probs %zd; give one a class",
                     (Py_ssize_t)PyArray_DIM(reading->answer, 0), (Py_ssize_t)reading->classes);
        Py_CLEAR(reading->answer);
    }
    if (reading->answer != NULL) return 0;
    release_reading(reading);
    return -1;
}

static PyObject *raise_policy(cf_status status, PyObject *probs, PyObject *answer, const char *name, double time) {
    if (status == CF_BAD_DT)
        return raise_number("%s is %R; it must be finite and not negative: put the steps in order of time", name, time);
    if (status == CF_BAD_STATE)
        PyErr_Format(PyExc_ValueError, "probs is %R; give the filter's reading, the probabilities of K classes", probs);
    else
        PyErr_Format(PyExc_ValueError, "answer is %R, but %s; give probabilities, or NaN only", answer,
                     cf_strerror(status));
    return NULL;
}

static PyObject *adaptive_choose(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    PyObject *probs;
    Reading reading;
    double since;
    int strong = 0;
    cf_status status;
    if (!ready(self) || !PyArg_ParseTuple(args, "Od:_choose", &probs, &since)) return NULL;
    if (take_reading(self, probs, NULL, &reading) < 0) return NULL;
    if (self->single)
        status = cf_adaptive_choose_f32(adaptive_settings(self), self->state, reading.classes, PyArray_DATA(reading.probs),
                                        (float)since, &strong);
    else
        status = cf_adaptive_choose_f64(adaptive_settings(self), self->state, reading.classes, PyArray_DATA(reading.probs),
                                        since, &strong);
    release_reading(&reading);
    if (status != CF_OK) return raise_policy(status, probs, NULL, "since", since);
    return PyBool_FromLong(strong);
}

static PyObject *adaptive_called(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    PyObject *probs, *answer;
    Reading reading;
    double dt;
    int strong;
    cf_status status;
    if (!ready(self) || !PyArg_ParseTuple(args, "pOOd:_called", &strong, &answer, &probs, &dt)) return NULL;
    if (take_reading(self, probs, answer, &reading) < 0) return NULL;
    if (self->single)
        status = cf_adaptive_called_f32(adaptive_settings(self), self->state, strong, reading.classes,
                                        PyArray_DATA(reading.answer), PyArray_DATA(reading.probs), (float)dt);
    else
        status = cf_adaptive_called_f64(adaptive_settings(self), self->state, strong, reading.classes,
                                        PyArray_DATA(reading.answer), PyArray_DATA(reading.probs), dt);
    release_reading(&reading);
    if (status != CF_OK) return raise_policy(status, probs, answer, "dt", dt);
    Py_RETURN_NONE;
}

static PyObject *adaptive_reset(PyObject *object, PyObject *nothing) {
    Core *self = (Core *)object;
    (void)nothing;
    if (!ready(self)) return NULL;
    CALL(self, cf_adaptive_start, (self->state));
    Py_RETURN_NONE;
}

static PyObject *adaptive_restore(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    double values[CF_ADAPTIVE_STATE];
    size_t i;
    if (!ready(self) ||
        !PyArg_ParseTuple(args, "dddddd:_restore", &values[0], &values[1], &values[2], &values[3], &values[4],
                          &values[5]))
        return NULL;
    for (i = 0; i < CF_ADAPTIVE_STATE; i++) set(self, self->state, i, values[i]);
    Py_RETURN_NONE;
}

static PyObject *adaptive_numbers(PyObject *object, PyObject *nothing) {
    Core *self = (Core *)object;
    (void)nothing;
    if (!ready(self)) return NULL;
    return Py_BuildValue("dddddd", get(self, self->state, 0), get(self, self->state, 1), get(self, self->state, 2),
                         get(self, self->state, 3), get(self, self->state, 4), get(self, self->state, 5));
}

static PyObject *adaptive_prepared(PyObject *object, void *nothing) {
    Core *self = (Core *)object;
    const cf_adaptive_f32 *f = &((Adaptive *)self)->settings.f32;
    const cf_adaptive_f64 *d = &((Adaptive *)self)->settings.f64;
    (void)nothing;
    if (!ready(self)) return NULL;
    if (self->single)
        return Py_BuildValue("dddddddiddd", (double)f->budget, (double)f->weak, (double)f->shortest, (double)f->longest,
                             (double)f->disagreement, (double)f->floor, (double)f->patience, f->timed, (double)f->start,
                             (double)f->least, (double)f->most);
    return Py_BuildValue("dddddddiddd", d->budget, d->weak, d->shortest, d->longest, d->disagreement, d->floor,
                         d->patience, d->timed, d->start, d->least, d->most);
}

static int adaptive_init(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"budget",       "weak",  "shortest", "longest", "disagreement",
                            "floor",        "patience", "timed", "single", NULL};
    Adaptive made;
    double budget, weak, shortest, longest, disagreement, floor, patience;
    int timed;
    cf_status status;
    memset(&made, 0, sizeof made);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "dddddddpp:Adaptive", names, &budget, &weak, &shortest, &longest,
                                     &disagreement, &floor, &patience, &timed, &made.core.single))
        return -1;
    if (made.core.single) {
        cf_adaptive_f32 f = {0};
        f.budget = (float)budget;
        f.weak = (float)weak;
        f.shortest = (float)shortest;
        f.longest = (float)longest;
        f.disagreement = (float)disagreement;
        f.floor = (float)floor;
        f.patience = (float)patience;
        f.timed = timed;
        made.settings.f32 = f;
    } else {
        cf_adaptive_f64 f = {budget, weak, shortest, longest, disagreement, floor, patience, timed, 0, 0, 0};
        made.settings.f64 = f;
    }
    status = CALL(&made.core, cf_adaptive_prepare, ((void *)&made.settings));
    if (status != CF_OK) {
        raise_plain(status);
        return -1;
    }
    made.core.memory = PyMem_Malloc(CF_ADAPTIVE_STATE * size_of(&made.core));
    if (made.core.memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    made.core.state = made.core.memory;
    CALL(&made.core, cf_adaptive_start, (made.core.state));
    take_over((Core *)object, &made.core);
    ((Adaptive *)object)->settings = made.settings;
    return 0;
}

static PyMethodDef adaptive_methods[] = {
    {"_choose", adaptive_choose, METH_VARARGS, "_choose($self, probs, since, /)\n--\n\nWhether to call the strong one."},
    {"_called", adaptive_called, METH_VARARGS,
     "_called($self, strong, answer, probs, dt, /)\n--\n\nTake note of a call."},
    {"reset", adaptive_reset, METH_NOARGS, "reset($self, /)\n--\n\nReturn to the state before any call."},
    {"_restore", adaptive_restore, METH_VARARGS,
     "_restore($self, raised, step, gap, surprise, left, due, /)\n--\n\nSet the state."},
    {"_numbers", adaptive_numbers, METH_NOARGS, "_numbers($self, /)\n--\n\nThe state, six numbers."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef adaptive_properties[] = {
    {"_prepared", adaptive_prepared, NULL, "The settings as the core has them, in the order of cf.h.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot adaptive_slots[] = {
    {Py_tp_doc, "The compiled part of the policy Adaptive."},
    {Py_tp_init, adaptive_init},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, adaptive_methods},
    {Py_tp_getset, adaptive_properties},
    {0, NULL},
};

static PyType_Spec adaptive_spec = {"classfilter._core.Adaptive", sizeof(Adaptive), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, adaptive_slots};

#endif
