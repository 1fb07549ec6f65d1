// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// The predictive mixture for Python: arrays in and out, over the mathematics in mixture.h.
//
// Arrays are used where they lie, also in a file that is mapped into memory, and never written to. No
// memory is allocated for one input: an object has scratch memory, and a thread that calls while
// another one works takes its own. Many rows are worked on without the interpreter's lock, one with
// it: to give it away and get it back may take longer than the row.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "mixture_rows.h"

// ilr_dynamics.exceptions.InvalidDataError.
static PyObject *InvalidDataError;

typedef struct {
    PyObject_HEAD
    Mixture mixture;
    Py_buffer views[N_ARRAYS];
    Scratch *spare;
} MixtureObject;

// Letters are sizes: those of Mixture, and what follows from them.
static const struct { const char *name, *shape; } ARRAYS[N_ARRAYS] = {
    {"input_location", "m"}, {"input_scale", "m"}, {"output_location", "d"}, {"output_scale", "d"},
    {"coordinates", "mm"}, {"log_constants", "k"}, {"exponents", "k"}, {"roots", "kr"},
    {"maps", "kdq"}, {"widening_coefficients", "kw"}, {"variances", "kd"}, {"centres", "km"},
    {"extents", "km"}, {"residual_variance", "d"}, {"residual_rates", "m"}, {"splits", "b2"},
    {"numbers", "b8"}, {"first_rows", "bf8"}, {"boxes", "gc8"},
};

// ---------------------------------------------------------------- scratch memory

static Scratch *new_scratch(const Mixture *self)
{
    size_t n = (size_t)self->k + LANES;
    size_t size = sizeof(Scratch) + n * sizeof(Candidate)
                  + (size_t)(self->q + self->m + 1 + (ptrdiff_t)n * self->d) * sizeof(double);
    Scratch *scratch = PyMem_RawMalloc(size);
    if (!scratch) {
        PyErr_NoMemory();
        return NULL;
    }
    scratch->candidates = (Candidate *)(scratch + 1);
    scratch->u = (double *)(scratch->candidates + n);
    scratch->t = scratch->u + self->q;
    scratch->means = scratch->t + self->m + 1;
    return scratch;
}

// Holding the interpreter's lock: the spare one, or a new one if that is in use.
static Scratch *take_scratch(MixtureObject *object)
{
    Scratch *scratch = object->spare;
    object->spare = NULL;
    return scratch ? scratch : new_scratch(&object->mixture);
}

static void give_scratch(MixtureObject *object, Scratch *scratch)
{
    if (object->spare) PyMem_RawFree(scratch);
    else object->spare = scratch;
}

// ---------------------------------------------------------------- arrays from Python

// Contiguous array of this many items of this format; 0 with an error if it is none.
static int view_of(PyObject *array, const char *name, const char *format, ptrdiff_t n_items, int flags,
                   Py_buffer *view)
{
    if (PyObject_GetBuffer(array, view, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) return 0;
    const char *found = view->format ? view->format : "B";
    int same = !strcmp(found, format) || (*format == 'q' && !strcmp(found, "l"));
    if (same && (n_items < 0 || view->len == n_items * view->itemsize)) return 1;
    PyErr_Format(PyExc_ValueError, "%s must hold %zd numbers of format '%s', got %zd of '%s'", name,
                 n_items, format, view->len / view->itemsize, found);
    PyBuffer_Release(view);
    return 0;
}

typedef struct {
    Py_buffer views[N_GIVEN];
    Given given;
    ptrdiff_t n;
} GivenViews;

static void release_given(GivenViews *from)
{
    for (int part = 0; part < N_GIVEN; part++) PyBuffer_Release(&from->views[part]);
}

static int take_given(const Mixture *self, PyObject *const *arguments, GivenViews *into)
{
    static const char *NAMES[N_GIVEN] = {"X", "features", "mean", "factor", "doubt", "unlearnable"};
    const ptrdiff_t widths[N_GIVEN] = {self->m, self->q - self->m - 1, self->d, 1, self->d, self->d};
    memset(into, 0, sizeof *into);
    for (int part = 0; part < N_GIVEN; part++) {
        int needed = part == X || (part == FEATURES && widths[FEATURES] > 0)
                     || ((part == GLOBAL_MEAN) && self->learns_residual)
                     || (part == GLOBAL_FACTOR && into->given.of[GLOBAL_MEAN]);
        if (arguments[part] == Py_None) {
            if (!needed) continue;
            PyErr_Format(PyExc_ValueError, "%s must be given", NAMES[part]);
            release_given(into);
            return 0;
        }
        ptrdiff_t n_items = part == X ? -1 : into->n * widths[part];
        Py_buffer *view = &into->views[part];
        if (!view_of(arguments[part], NAMES[part], "d", n_items, 0, view)) {
            release_given(into);
            return 0;
        }
        into->given.of[part] = view->buf;
        if (part == X) {
            into->n = view->len / (ptrdiff_t)sizeof(double) / self->m;
            if (into->n * self->m * (ptrdiff_t)sizeof(double) != view->len) {
                PyErr_Format(PyExc_ValueError, "X must have rows of %zd numbers", self->m);
                release_given(into);
                return 0;
            }
        }
    }
    return 1;
}

// ---------------------------------------------------------------- methods

static PyObject *none_or_refusal(ptrdiff_t refused)
{
    if (refused < 0) Py_RETURN_NONE;
    return PyErr_Format(InvalidDataError, "inputs must be finite and lie less than 1e+100 scales from "
                        "the location; row %zd does not", refused);
}

PyDoc_STRVAR(check_doc,
"check(X)\n--\n\nRaise InvalidDataError if an input, in physical units, is not finite or too large.");

static PyObject *Mixture_check(PyObject *self, PyObject *X_)
{
    const Mixture *mixture = &((MixtureObject *)self)->mixture;
    Py_buffer view;
    if (!view_of(X_, "X", "d", -1, 0, &view)) return NULL;
    const double *x = view.buf;
    ptrdiff_t n = view.len / (ptrdiff_t)sizeof(double), refused = -1;
    for (ptrdiff_t i = 0; i < n && refused < 0; i++)
        if (!is_sound_input(mixture, x[i], i % mixture->m)) refused = i / mixture->m;
    PyBuffer_Release(&view);
    return none_or_refusal(refused);
}

PyDoc_STRVAR(moments_doc,
"moments(X, features, mean, factor, doubt, unlearnable, most_probable, answer)\n--\n\n"
"Moments of the mixture, or of its most probable component, at rows of inputs in physical units.\n\n"
"Fills rows of `answer` with mean, standard deviation and doubt of each output, weight of the unseen\n"
"component and number of the heaviest (-1: the unseen). What a global model predicts, or None, is\n"
"as in GlobalPrediction. InvalidDataError if an input is not finite or too large.");

static PyObject *Mixture_moments(PyObject *self, PyObject *const *arguments, Py_ssize_t n_arguments)
{
    MixtureObject *object = (MixtureObject *)self;
    const Mixture *mixture = &object->mixture;
    GivenViews from;
    Py_buffer answer;
    if (n_arguments != 8) return PyErr_Format(PyExc_TypeError, "expected 8 arguments, got %zd", n_arguments);
    int most_probable = PyObject_IsTrue(arguments[6]);
    if (most_probable < 0 || !take_given(mixture, arguments, &from)) return NULL;
    ptrdiff_t refused = -1, n_items = from.n * (3 * mixture->d + 2);
    int is_done = view_of(arguments[7], "answer", "d", n_items, PyBUF_WRITABLE, &answer);
    if (is_done) {
        Scratch *scratch = take_scratch(object);
        is_done = scratch != NULL;
        if (scratch && from.n == 1) {
            refused = all_moments(mixture, scratch, &from.given, 1, NULL, most_probable, answer.buf);
        } else if (scratch) {
            Py_BEGIN_ALLOW_THREADS
            // Without memory for it, in the order in which they are given.
            Place *order = PyMem_RawMalloc((size_t)from.n * sizeof *order);
            if (order) refused = find_order(mixture, scratch, &from.given, from.n, order);
            if (refused < 0)
                refused = all_moments(mixture, scratch, &from.given, from.n, order, most_probable,
                                      answer.buf);
            PyMem_RawFree(order);
            Py_END_ALLOW_THREADS
        }
        if (scratch) give_scratch(object, scratch);
        PyBuffer_Release(&answer);
    }
    release_given(&from);
    return is_done ? none_or_refusal(refused) : NULL;
}

PyDoc_STRVAR(components_doc,
"components(X, features, mean, factor, doubt, unlearnable, least_weight, numbers, log_weights,\n"
"           factors, means, added)\n--\n\n"
"What components say at rows of inputs, in standard units: all in order if `least_weight` is None,\n"
"else those of that weight, heaviest first, and none for the rest of a row.\n\n"
"Fills arrays of as many components a row as these have room for. Returns how many any row has.");

static PyObject *Mixture_components(PyObject *self, PyObject *const *arguments, Py_ssize_t n_arguments)
{
    static const char *NAMES[5] = {"numbers", "log_weights", "factors", "means", "added"};
    MixtureObject *object = (MixtureObject *)self;
    const Mixture *mixture = &object->mixture;
    if (n_arguments != 12) return PyErr_Format(PyExc_TypeError, "expected 12 arguments, got %zd", n_arguments);
    Components into = {.all = arguments[6] == Py_None};
    if (!into.all) {
        double least = PyFloat_AsDouble(arguments[6]);
        if (PyErr_Occurred()) return NULL;
        into.least_log_weight = log(least);
    }
    GivenViews from;
    if (!take_given(mixture, arguments, &from)) return NULL;
    Py_buffer views[5];
    int n_views = 0, is_done = 1;
    for (; n_views < 5 && is_done; n_views += is_done) {
        ptrdiff_t each = n_views < 3 ? 1 : mixture->d;
        is_done = view_of(arguments[7 + n_views], NAMES[n_views], n_views ? "d" : "q",
                          n_views ? from.n * into.capacity * each : -1, PyBUF_WRITABLE, &views[n_views]);
        if (is_done && !n_views) {
            into.capacity = from.n ? views[0].len / (ptrdiff_t)sizeof(int64_t) / from.n : 0;
            if (into.capacity * from.n * (ptrdiff_t)sizeof(int64_t) != views[0].len) {
                PyErr_SetString(PyExc_ValueError, "numbers must have as many rows as X");
                PyBuffer_Release(&views[0]);
                is_done = 0;
            }
        }
    }
    ptrdiff_t most = 0;
    Scratch *scratch = is_done ? take_scratch(object) : NULL;
    if (scratch) {
        into.numbers = views[0].buf;
        into.log_weights = views[1].buf;
        into.factors = views[2].buf;
        into.means = views[3].buf;
        into.added = views[4].buf;
        Py_BEGIN_ALLOW_THREADS
        most = all_components(mixture, scratch, &from.given, from.n, &into);
        Py_END_ALLOW_THREADS
        give_scratch(object, scratch);
    }
    while (n_views > 0) PyBuffer_Release(&views[--n_views]);
    release_given(&from);
    if (!scratch) return NULL;
    return most < 0 ? none_or_refusal(-1 - most) : PyLong_FromSsize_t(most);
}

// ---------------------------------------------------------------- making one

// Size that a letter of a shape stands for, or -1 where it is told by the array itself.
static ptrdiff_t size_of(const Mixture *self, char letter)
{
    switch (letter) {
    case 'm': return self->m ? self->m : -1;
    case 'd': return self->d ? self->d : -1;
    case 'q': return self->q ? self->q : -1;
    case 'k': return self->k ? self->k : -1;
    case 'b': return self->b;
    case 'g': return (self->b + LANES - 1) / LANES;
    case 'r': return self->m * (self->m + 3) / 2;
    case 'w': return self->q * (self->q + 1) / 2;
    case 'f': return self->n_rows * (self->n_rows + 3) / 2;
    case 'c': return 3 * self->n_coordinates + 2;
    default: return letter - '0';
    }
}

static void learn_size(Mixture *self, char letter, ptrdiff_t size)
{
    if (letter == 'm') self->m = size;
    if (letter == 'd') self->d = size;
    if (letter == 'q') self->q = size;
    if (letter == 'k') {
        self->k = size;
        self->b = (size - 1 + LANES - 1) / LANES;
        self->n_rows = self->m < MOST_ROWS ? self->m : MOST_ROWS;
        self->n_coordinates = self->m < MOST_COORDINATES ? self->m : MOST_COORDINATES;
    }
}

static int take_array(MixtureObject *object, int index, PyObject *array)
{
    const char *name = ARRAYS[index].name, *shape = ARRAYS[index].shape;
    Py_buffer *view = &object->views[index];
    if (!view_of(array, name, "d", -1, 0, view)) return 0;
    int fits = view->ndim == (int)strlen(shape);
    for (int axis = 0; fits && axis < view->ndim; axis++) {
        ptrdiff_t size = size_of(&object->mixture, shape[axis]);
        fits = size < 0 ? view->shape[axis] > 0 : view->shape[axis] == size;
        if (fits && size < 0) learn_size(&object->mixture, shape[axis], view->shape[axis]);
    }
    object->mixture.of[index] = view->buf;
    if (!fits) PyErr_Format(PyExc_ValueError, "%s has a shape that does not fit the other arrays", name);
    return fits;
}

// Numbers that are used as indices, of a file that may be damaged.
static int check_indices(const Mixture *self)
{
    int are_sound = 1;
    for (ptrdiff_t i = 0; i < self->b * LANES; i++) {
        double number = self->of[NUMBERS][i];
        are_sound &= number >= -1.0 && number < (double)(self->k - 1) && number == floor(number);
    }
    for (ptrdiff_t i = 0; i < self->b; i++) {
        double coordinate = self->of[SPLITS][2 * i];
        are_sound &= coordinate >= 0.0 && coordinate < (double)self->m && coordinate == floor(coordinate);
    }
    if (!are_sound) PyErr_SetString(PyExc_ValueError, "numbers or splits hold no indices");
    return are_sound;
}

static PyObject *Mixture_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *arrays;
    int learns_residual;
    double unseen_spread;
    if (keywords && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "expected no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "O!pd", &PyDict_Type, &arrays, &learns_residual, &unseen_spread))
        return NULL;
    MixtureObject *object = (MixtureObject *)type->tp_alloc(type, 0);
    if (!object) return NULL;
    Mixture *mixture = &object->mixture;
    for (int index = 0; index < N_ARRAYS; index++) {
        PyObject *array = PyDict_GetItemString(arrays, ARRAYS[index].name);
        if (!array && index == RESIDUAL_RATES) continue;
        if (!array) PyErr_Format(PyExc_ValueError, "%s is missing", ARRAYS[index].name);
        if (!array || !take_array(object, index, array)) goto refused;
    }
    if (mixture->q <= mixture->m) PyErr_SetString(PyExc_ValueError, "maps have too few columns");
    if (mixture->q <= mixture->m || !check_indices(mixture)) goto refused;
    mixture->log_margin = log((double)mixture->k / NEGLIGIBLE_WEIGHT);
    mixture->unseen_variance = unseen_spread * unseen_spread;
    mixture->learns_residual = learns_residual;
    object->spare = new_scratch(mixture);
    if (object->spare) return (PyObject *)object;
refused:
    Py_DECREF(object);
    return NULL;
}

static void Mixture_dealloc(PyObject *self)
{
    MixtureObject *object = (MixtureObject *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (int index = 0; index < N_ARRAYS; index++)
        if (object->views[index].obj) PyBuffer_Release(&object->views[index]);
    PyMem_RawFree(object->spare);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef METHODS[] = {
    {"check", Mixture_check, METH_O, check_doc},
    {"moments", (PyCFunction)(void (*)(void))Mixture_moments, METH_FASTCALL, moments_doc},
    {"components", (PyCFunction)(void (*)(void))Mixture_components, METH_FASTCALL, components_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot SLOTS[] = {
    {Py_tp_doc, "Mixture(arrays, learns_residual, unseen_spread)\n--\n\n"
                "Predictive mixture over named arrays of PredictiveMixture, Screening and Transforms."},
    {Py_tp_new, Mixture_new},
    {Py_tp_dealloc, Mixture_dealloc},
    {Py_tp_methods, METHODS},
    {0, NULL},
};

static PyType_Spec SPEC = {
    "ilr_dynamics.regression.prediction._mixture.Mixture", sizeof(MixtureObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, SLOTS};

static int add_contents(PyObject *module)
{
    PyObject *exceptions = PyImport_ImportModule("ilr_dynamics.exceptions");
    if (!exceptions) return -1;
    Py_XSETREF(InvalidDataError, PyObject_GetAttrString(exceptions, "InvalidDataError"));
    Py_DECREF(exceptions);
    if (!InvalidDataError) return -1;
    PyObject *type = PyType_FromSpec(&SPEC);
    int status = type ? PyModule_AddObjectRef(module, "Mixture", type) : -1;
    Py_XDECREF(type);
    if (!status) status = PyModule_AddIntConstant(module, "LANES", LANES);
    if (!status) status = PyModule_AddIntConstant(module, "MOST_ROWS", MOST_ROWS);
    if (!status) status = PyModule_AddIntConstant(module, "MOST_COORDINATES", MOST_COORDINATES);
    return status;
}

static PyModuleDef_Slot MODULE_SLOTS[] = {{Py_mod_exec, add_contents}, {0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "_mixture", .m_doc = "The predictive mixture, compiled.",
    .m_slots = MODULE_SLOTS};

PyMODINIT_FUNC PyInit__mixture(void) { return PyModuleDef_Init(&MODULE); }
