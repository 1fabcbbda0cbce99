/* SPDX-License-Identifier: MIT */
/* The compiled part of the policy Adaptive. */
#include "binding.h"

typedef struct {
    Core core; /* its memory is the state */
    union {
        cf_adaptive_f32 f32;
        cf_adaptive_f64 f64;
    } settings;
} Adaptive;

static void *adaptive_settings(Core *self) { return &((Adaptive *)self)->settings; }

/* Two rows of one length: the filter's estimate, and an observation or NULL. */
typedef struct {
    PyArrayObject *probs, *observation;
    size_t classes;
} Estimate;

static void release_estimate(Estimate *estimate) {
    Py_XDECREF((PyObject *)estimate->probs);
    Py_XDECREF((PyObject *)estimate->observation);
}

static int take_estimate(const Core *self, PyObject *probs, PyObject *observation, Estimate *estimate) {
    memset(estimate, 0, sizeof *estimate);
    estimate->probs = as_array(self, probs, "probs", 1, 1);
    if (estimate->probs == NULL) return -1;
    if (observation != NULL) estimate->observation = as_array(self, observation, "observation", 1, 1);
    estimate->classes = (size_t)PyArray_SIZE(estimate->probs); /* now that no argument runs Python code any more */
    if (observation == NULL) return 0;
    if (estimate->observation != NULL && PyArray_SIZE(estimate->observation) != PyArray_SIZE(estimate->probs)) {
        PyErr_Format(PyExc_ValueError, "observation has %zd entries, but probs %zd; give one per class",
                     (Py_ssize_t)PyArray_DIM(estimate->observation, 0), (Py_ssize_t)estimate->classes);
        Py_CLEAR(estimate->observation);
    }
    if (estimate->observation != NULL) return 0;
    release_estimate(estimate);
    return -1;
}

static PyObject *raise_policy(cf_status status, PyObject *probs, PyObject *observation, const char *name, double time) {
    char problem[128];
    if (status == CF_BAD_DT)
        return raise_error("ArgumentError", name, PyFloat_FromDouble(time), "is {}",
                           "it must be finite and not negative", "put the steps in order of time", -1, -1);
    if (status == CF_BAD_STATE)
        return raise_error("ArgumentError", "probs", Py_NewRef(probs), "is {}", "",
                           "give the filter's estimate, the probabilities of K classes", -1, -1);
    PyOS_snprintf(problem, sizeof problem, "is {}, but %s", cf_strerror(status));
    return raise_error("ArgumentError", "observation", Py_NewRef(observation), problem, "",
                       "give probabilities, or NaN only", -1, -1);
}

static PyObject *adaptive_choose(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    PyObject *probs;
    Estimate estimate;
    double since;
    int strong = 0;
    cf_status status;
    if (!ready(self) || !PyArg_ParseTuple(args, "Od:_choose", &probs, &since)) return NULL;
    if (take_estimate(self, probs, NULL, &estimate) < 0) return NULL;
    if (self->single)
        status = cf_adaptive_choose_f32(adaptive_settings(self), self->state, estimate.classes,
                                        PyArray_DATA(estimate.probs), (float)since, &strong);
    else
        status = cf_adaptive_choose_f64(adaptive_settings(self), self->state, estimate.classes,
                                        PyArray_DATA(estimate.probs), since, &strong);
    release_estimate(&estimate);
    if (status != CF_OK) return raise_policy(status, probs, NULL, "since", since);
    return PyBool_FromLong(strong);
}

static PyObject *adaptive_called(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    PyObject *probs, *observation;
    Estimate estimate;
    double dt;
    int strong;
    cf_status status;
    if (!ready(self) || !PyArg_ParseTuple(args, "pOOd:_called", &strong, &observation, &probs, &dt)) return NULL;
    if (take_estimate(self, probs, observation, &estimate) < 0) return NULL;
    if (self->single)
        status = cf_adaptive_called_f32(adaptive_settings(self), self->state, strong, estimate.classes,
                                        PyArray_DATA(estimate.observation), PyArray_DATA(estimate.probs), (float)dt);
    else
        status = cf_adaptive_called_f64(adaptive_settings(self), self->state, strong, estimate.classes,
                                        PyArray_DATA(estimate.observation), PyArray_DATA(estimate.probs), dt);
    release_estimate(&estimate);
    if (status != CF_OK) return raise_policy(status, probs, observation, "dt", dt);
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
    if (!ready(self) || !PyArg_ParseTuple(args, "dddddd:_restore", &values[0], &values[1], &values[2], &values[3],
                                          &values[4], &values[5]))
        return NULL;
    for (i = 0; i < CF_ADAPTIVE_STATE; i++) set_number(self, self->state, i, values[i]);
    Py_RETURN_NONE;
}

static PyObject *adaptive_numbers(PyObject *object, PyObject *nothing) {
    Core *self = (Core *)object;
    double values[CF_ADAPTIVE_STATE];
    size_t i;
    (void)nothing;
    if (!ready(self)) return NULL;
    for (i = 0; i < CF_ADAPTIVE_STATE; i++) values[i] = get_number(self, self->state, i);
    return Py_BuildValue("dddddd", values[0], values[1], values[2], values[3], values[4], values[5]);
}

static PyObject *adaptive_prepared(PyObject *object, void *nothing) {
    Core *self = (Core *)object;
    const cf_adaptive_f32 *f = &((Adaptive *)self)->settings.f32;
    const cf_adaptive_f64 *d = &((Adaptive *)self)->settings.f64;
    (void)nothing;
    if (!ready(self)) return NULL;
    if (self->single)
        return Py_BuildValue("dddddddiddd", (double)f->budget, (double)f->weak, (double)f->min_gap, (double)f->max_gap,
                             (double)f->disagreement, (double)f->floor, (double)f->horizon, f->timed, (double)f->start,
                             (double)f->least, (double)f->most);
    return Py_BuildValue("dddddddiddd", d->budget, d->weak, d->min_gap, d->max_gap, d->disagreement, d->floor,
                         d->horizon, d->timed, d->start, d->least, d->most);
}

static int adaptive_init(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"budget", "weak",    "min_gap", "max_gap", "disagreement",
                            "floor",  "horizon", "timed",   "single",  NULL};
    Adaptive fresh;
    double budget, weak, min_gap, max_gap, disagreement, floor, horizon;
    int timed;
    cf_status status;
    if (!is_new((Core *)object)) return -1;
    memset(&fresh, 0, sizeof fresh);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "dddddddpp:Adaptive", names, &budget, &weak, &min_gap, &max_gap,
                                     &disagreement, &floor, &horizon, &timed, &fresh.core.single))
        return -1;
    if (fresh.core.single) {
        cf_adaptive_f32 f = {0};
        f.budget = (float)budget;
        f.weak = (float)weak;
        f.min_gap = (float)min_gap;
        f.max_gap = (float)max_gap;
        f.disagreement = (float)disagreement;
        f.floor = (float)floor;
        f.horizon = (float)horizon;
        f.timed = timed;
        fresh.settings.f32 = f;
    } else {
        cf_adaptive_f64 f = {budget, weak, min_gap, max_gap, disagreement, floor, horizon, timed, 0, 0, 0};
        fresh.settings.f64 = f;
    }
    status = CALL(&fresh.core, cf_adaptive_prepare, ((void *)&fresh.settings));
    if (status != CF_OK) {
        raise_settings_error(status, kwargs);
        return -1;
    }
    fresh.core.memory = PyMem_Malloc(CF_ADAPTIVE_STATE * size_of(&fresh.core));
    if (fresh.core.memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    fresh.core.state = fresh.core.memory;
    CALL(&fresh.core, cf_adaptive_start, (fresh.core.state));
    return take_over((Core *)object, &fresh.core, sizeof fresh);
}

static PyMethodDef adaptive_methods[] = {
    {"_choose", adaptive_choose, METH_VARARGS,
     "_choose($self, probs, since, /)\n--\n\nWhether to call the strong classifier."},
    {"_called", adaptive_called, METH_VARARGS,
     "_called($self, strong, observation, probs, dt, /)\n--\n\nUpdate the state after a call."},
    {"reset", adaptive_reset, METH_NOARGS, "reset($self, /)\n--\n\nReturn to the state before any call."},
    {"_restore", adaptive_restore, METH_VARARGS,
     "_restore($self, threshold_offset, median_step, steps_since_strong, disagreement, residual_uncertainty, "
     "accrued_budget, /)\n--\n\nSet the state."},
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

PyType_Spec adaptive_spec = {"classfilter._core.Adaptive", sizeof(Adaptive), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, adaptive_slots};
