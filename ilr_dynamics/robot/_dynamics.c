// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// Regressor of inverse dynamics, and what a posterior of its parameters predicts: docs/mathematics.md,
// "A global model", and dynamics_terms.py, which names the columns. Arrays are those of DynamicsRegressor.
//
// The interpreter's lock is held: nothing here takes long for one row, and an object has scratch memory
// for one call.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define CLONES
#endif
#define INLINE static inline __attribute__((always_inline))

enum { N_INERTIAL = 10, N_SPEEDS = 4, N_WAVES = 12, N_POSITION_TERMS = 5 };
enum { N_OF_MOTOR = 2 + N_SPEEDS, N_OF_JOINT = N_SPEEDS + N_POSITION_TERMS + 1 + 2 * N_WAVES };
enum { PLACEMENTS, AXES, GRAVITY, MOTORS, INERTIAL, SPEEDS, FREQUENCIES, N_ARRAYS };

typedef struct {
    PyObject_HEAD
    Py_buffer views[N_ARRAYS];
    const double *of[N_ARRAYS];
    Py_ssize_t n, n_frequencies;
    double *columns, *arms, *motor_terms;
} Dynamics;

// ---------------------------------------------------------------- rigid bodies

typedef double Vector[3];

INLINE void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

INLINE double product(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// R of the pose of a joint that has turned by q: placement, then Rodrigues' formula about the axis.
static void rotation(const double *placement, const double *axis, double q, Vector R[3])
{
    double s = sin(q), c = cos(q);
    for (int row = 0; row < 3; row++) {
        const double *fixed = placement + 4 * row;
        double along = product(fixed, axis);
        Vector across;
        cross(fixed, axis, across);
        for (int column = 0; column < 3; column++)
            R[row][column] = c * fixed[column] + (1.0 - c) * along * axis[column] + s * across[column];
    }
}

// R' a: from the frame of the previous joint to this one's.
INLINE void turned(const Vector R[3], const double *a, double *b)
{
    for (int i = 0; i < 3; i++) b[i] = R[0][i] * a[0] + R[1][i] * a[1] + R[2][i] * a[2];
}

// Force and moment at the joint's frame for each inertial parameter [m, m c, I] of a body with this
// angular velocity, angular acceleration and acceleration, gravity included.
static void body_columns(const double *w, const double *alpha, const double *a,
                         Vector force[N_INERTIAL], Vector moment[N_INERTIAL])
{
    // Entries of the inertia by which the parameters go: xx, xy, yy, xz, yz, zz.
    static const int FIRST[6] = {0, 0, 1, 0, 1, 2}, SECOND[6] = {0, 1, 1, 2, 2, 2};
    memset(force, 0, N_INERTIAL * sizeof(Vector));
    memset(moment, 0, N_INERTIAL * sizeof(Vector));
    memcpy(force[0], a, sizeof(Vector));
    for (int i = 0; i < 3; i++) {
        Vector unit = {0.0}, swung, around;
        unit[i] = 1.0;
        cross(w, unit, swung);
        cross(w, swung, around);
        cross(alpha, unit, force[1 + i]);
        for (int j = 0; j < 3; j++) force[1 + i][j] += around[j];
        cross(unit, a, moment[1 + i]);
    }
    for (int entry = 0; entry < 6; entry++) {
        Vector momentum = {0.0}, rate = {0.0}, around;
        int i = FIRST[entry], j = SECOND[entry];
        momentum[i] = w[j];
        momentum[j] = w[i];
        rate[i] = alpha[j];
        rate[j] = alpha[i];
        cross(w, momentum, around);
        for (int k = 0; k < 3; k++) moment[4 + entry][k] = rate[k] + around[k];
    }
}

// Columns of all bodies: each joint's axis is carried outwards, where it takes its share of the force
// and moment of every body beyond it. The columns of other bodies stay 0.
static void rigid_columns(const Dynamics *self, const double *q, const double *qd, const double *qdd,
                          Py_ssize_t width)
{
    Py_ssize_t n = self->n;
    Vector w = {0.0}, alpha = {0.0}, a, *axes = (Vector *)self->arms, *levers = axes + n;
    for (int i = 0; i < 3; i++) a[i] = -self->of[GRAVITY][i];
    for (Py_ssize_t body = 0; body < n; body++) {
        const double *placement = self->of[PLACEMENTS] + 16 * body, *axis = self->of[AXES] + 3 * body;
        Vector R[3], p = {placement[3], placement[7], placement[11]}, swung, around, first, force[N_INERTIAL];
        Vector moment[N_INERTIAL];
        rotation(placement, axis, q[body], R);
        cross(alpha, p, first);
        cross(w, p, swung);
        cross(w, swung, around);
        for (int i = 0; i < 3; i++) first[i] += a[i] + around[i];
        turned(R, first, a);
        turned(R, w, first);
        cross(first, axis, around);
        turned(R, alpha, swung);
        for (int i = 0; i < 3; i++) {
            w[i] = first[i] + axis[i] * qd[body];
            alpha[i] = swung[i] + axis[i] * qdd[body] + around[i] * qd[body];
        }
        body_columns(w, alpha, a, force, moment);
        memcpy(axes[body], axis, sizeof(Vector));
        memset(levers[body], 0, sizeof(Vector));
        for (Py_ssize_t joint = 0; joint <= body; joint++) {
            if (joint < body) {
                for (int i = 0; i < 3; i++) first[i] = levers[joint][i] + p[i];
                turned(R, first, levers[joint]);
                turned(R, axes[joint], first);
                memcpy(axes[joint], first, sizeof(Vector));
            }
            Vector lever;
            cross(axes[joint], levers[joint], lever);
            double *columns = self->columns + joint * width + body * N_INERTIAL;
            for (int c = 0; c < N_INERTIAL; c++)
                columns[c] = product(axes[joint], moment[c]) + product(lever, force[c]);
        }
    }
}

// ---------------------------------------------------------------- all columns

INLINE double dot(const double *a, const double *b, Py_ssize_t n)
{
    double sums[8] = {0.0};
    Py_ssize_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int lane = 0; lane < 8; lane++) sums[lane] += a[i + lane] * b[i + lane];
    for (; i < n; i++) sums[0] += a[i] * b[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

static Py_ssize_t width_of(const Dynamics *self)
{
    return self->n * (N_INERTIAL + N_OF_MOTOR) + N_OF_JOINT + 2 * self->n_frequencies;
}

// Columns of an unknown potential, the last ones of every joint: the slopes along q of the cosine and
// the sine of each frequency, with the other sign, as a joint balances the slope.
static void potential_columns(const Dynamics *self, const double *q, Py_ssize_t width)
{
    Py_ssize_t n = self->n, m = self->n_frequencies;
    double *last = self->columns + width - 2 * m;
    for (Py_ssize_t k = 0; k < m; k++) {
        const double *frequency = self->of[FREQUENCIES] + k * n;
        double phase = dot(frequency, q, n), s = sin(phase), c = cos(phase);
        for (Py_ssize_t joint = 0; joint < n; joint++) {
            last[joint * width + k] = -s * frequency[joint];
            last[joint * width + m + k] = c * frequency[joint];
        }
    }
}

// Columns (n, C) at one input [q, qd, qdd].
static void set_columns(const Dynamics *self, const double *x)
{
    Py_ssize_t n = self->n, width = width_of(self), n_common = n * (N_INERTIAL + N_OF_MOTOR);
    const double *q = x, *qd = x + n, *qdd = x + 2 * n, *speeds = self->of[SPEEDS];
    double *terms = self->motor_terms;
    memset(self->columns, 0, (size_t)(n * width) * sizeof(double));
    rigid_columns(self, q, qd, qdd, width);
    potential_columns(self, q, width);
    for (Py_ssize_t motor = 0; motor < n; motor++) {
        const double *pulls = self->of[MOTORS] + motor * n;
        terms[motor] = dot(pulls, qdd, n);
        terms[n + motor] = dot(pulls, qd, n);
        for (int s = 0; s < N_SPEEDS; s++)
            terms[(2 + s) * n + motor] = tanh(terms[n + motor] / speeds[s]);
    }
    for (Py_ssize_t joint = 0; joint < n; joint++) {
        double *columns = self->columns + joint * width, *own = columns + n_common;
        double load = fabs(dot(columns, self->of[INERTIAL], n * N_INERTIAL));
        double sign = tanh(qd[joint] / speeds[N_SPEEDS]);
        for (Py_ssize_t i = 0; i < N_OF_MOTOR * n; i++)
            columns[n * N_INERTIAL + i] = terms[i] * self->of[MOTORS][i % n * n + joint];
        for (int s = 0; s < N_SPEEDS; s++) *own++ = tanh(qd[joint] / speeds[s]);
        *own++ = 1.0;
        *own++ = q[joint];
        *own++ = q[joint] * q[joint];
        *own++ = sin(q[joint]);
        *own++ = cos(q[joint]);
        *own++ = load * sign;
        for (int wave = 1; wave <= N_WAVES; wave++, own++) {
            own[0] = sin(wave * q[joint]) * sign;
            own[N_WAVES] = cos(wave * q[joint]) * sign;
        }
    }
}

// phi' S phi over a symmetric S, without the rows of columns that are 0.
CLONES static double quadratic_form(const double *phi, const double *S, Py_ssize_t width)
{
    double sum = 0.0;
    for (Py_ssize_t i = 0; i < width; i++, S += width) {
        if (phi[i] == 0.0) continue;
        sum += phi[i] * (phi[i] * S[i] + 2.0 * dot(S + i + 1, phi + i + 1, width - i - 1));
    }
    return sum;
}

// ---------------------------------------------------------------- Python

static int view_of(PyObject *array, const char *name, Py_ssize_t n_items, int flags, Py_buffer *view)
{
    if (PyObject_GetBuffer(array, view, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) return 0;
    int is_float = view->format && !strcmp(view->format, "d");
    if (is_float && (n_items < 0 || view->len == n_items * view->itemsize)) return 1;
    if (n_items < 0)
        PyErr_Format(PyExc_ValueError, "%s must hold 64-bit floats, got format '%s'", name,
                     view->format ? view->format : "B");
    else
        PyErr_Format(PyExc_ValueError, "%s must hold %zd 64-bit floats, got %zd bytes", name, n_items, view->len);
    PyBuffer_Release(view);
    return 0;
}

// Rows of inputs, or -1 with an error.
static Py_ssize_t rows_of(const Dynamics *self, PyObject *X, Py_buffer *view)
{
    if (!view_of(X, "X", -1, 0, view)) return -1;
    Py_ssize_t size = 3 * self->n * (Py_ssize_t)sizeof(double);
    if (view->len % size == 0) return view->len / size;
    PyErr_Format(PyExc_ValueError, "X must have rows of %zd numbers [q, qd, qdd]", 3 * self->n);
    PyBuffer_Release(view);
    return -1;
}

PyDoc_STRVAR(fill_doc, "fill(X, columns)\n--\n\nFill columns (n_samples, n, C) at inputs (n_samples, 3 n).");

static PyObject *Dynamics_fill(PyObject *object, PyObject *const *arguments, Py_ssize_t n_arguments)
{
    Dynamics *self = (Dynamics *)object;
    Py_buffer X, into;
    if (n_arguments != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments, got %zd", n_arguments);
    Py_ssize_t size = self->n * width_of(self), n_rows = rows_of(self, arguments[0], &X);
    if (n_rows < 0) return NULL;
    int is_done = view_of(arguments[1], "columns", n_rows * size, PyBUF_WRITABLE, &into);
    for (Py_ssize_t row = 0; is_done && row < n_rows; row++) {
        set_columns(self, (double *)X.buf + row * 3 * self->n);
        memcpy((double *)into.buf + row * size, self->columns, (size_t)size * sizeof(double));
    }
    if (is_done) PyBuffer_Release(&into);
    PyBuffer_Release(&X);
    if (!is_done) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(predict_doc,
"predict(X, mean, covariance, torques, variances)\n--\n\n"
"Fill torques (n_samples, n) by the parameters' mean (n, C), and variances by their covariance\n"
"(n, C, C); both None for torques alone.");

static PyObject *Dynamics_predict(PyObject *object, PyObject *const *arguments, Py_ssize_t n_arguments)
{
    static const char *NAMES[4] = {"mean", "covariance", "torques", "variances"};
    Dynamics *self = (Dynamics *)object;
    Py_ssize_t n = self->n, width = width_of(self);
    Py_buffer X, views[4];
    if (n_arguments != 5) return PyErr_Format(PyExc_TypeError, "expected 5 arguments, got %zd", n_arguments);
    Py_ssize_t n_rows = rows_of(self, arguments[0], &X);
    if (n_rows < 0) return NULL;
    const Py_ssize_t sizes[4] = {n * width, n * width * width, n_rows * n, n_rows * n};
    memset(views, 0, sizeof views);
    int is_done = 1, with_variance = arguments[2] != Py_None;
    for (int i = 0; is_done && i < 4; i++)
        if (with_variance || i % 2 == 0)
            is_done = view_of(arguments[1 + i], NAMES[i], sizes[i], i > 1 ? PyBUF_WRITABLE : 0, &views[i]);
    for (Py_ssize_t row = 0; is_done && row < n_rows; row++) {
        set_columns(self, (double *)X.buf + row * 3 * n);
        for (Py_ssize_t joint = 0; joint < n; joint++) {
            const double *phi = self->columns + joint * width;
            ((double *)views[2].buf)[row * n + joint] = dot(phi, (double *)views[0].buf + joint * width, width);
            if (with_variance)
                ((double *)views[3].buf)[row * n + joint] =
                    quadratic_form(phi, (double *)views[1].buf + joint * width * width, width);
        }
    }
    for (int i = 0; i < 4; i++) PyBuffer_Release(&views[i]);
    PyBuffer_Release(&X);
    if (!is_done) return NULL;
    Py_RETURN_NONE;
}

static PyObject *Dynamics_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *NAMES[] = {"placements", "axes", "gravity", "motors", "inertial", "speeds", "frequencies", NULL};
    PyObject *arrays[N_ARRAYS];
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOOOOOO", NAMES, &arrays[0], &arrays[1],
                                     &arrays[2], &arrays[3], &arrays[4], &arrays[5], &arrays[6]))
        return NULL;
    Dynamics *self = (Dynamics *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    for (int i = 0; i < N_ARRAYS; i++) {
        Py_ssize_t n = self->n, sizes[N_ARRAYS] = {-1, 3 * n, 3, n * n, N_INERTIAL * n, N_SPEEDS + 1, -1};
        if (!view_of(arrays[i], NAMES[i], sizes[i], 0, &self->views[i])) goto refused;
        self->of[i] = self->views[i].buf;
        if (i == PLACEMENTS) self->n = self->views[i].len / (16 * (Py_ssize_t)sizeof(double));
        if (self->views[PLACEMENTS].len != self->n * 16 * (Py_ssize_t)sizeof(double)) {
            PyErr_SetString(PyExc_ValueError, "placements must be of shape (n, 4, 4)");
            goto refused;
        }
    }
    Py_ssize_t row = self->n * (Py_ssize_t)sizeof(double), size = self->views[FREQUENCIES].len;
    self->n_frequencies = row ? size / row : 0;
    if (size != self->n_frequencies * row) {
        PyErr_SetString(PyExc_ValueError, "frequencies must be of shape (m, n)");
        goto refused;
    }
    self->columns = PyMem_RawCalloc((size_t)(self->n * (width_of(self) + 6 + N_OF_MOTOR)) + 1, sizeof(double));
    if (self->columns) {
        self->arms = self->columns + self->n * width_of(self);
        self->motor_terms = self->arms + 6 * self->n;
        return (PyObject *)self;
    }
    PyErr_NoMemory();
refused:
    Py_DECREF(self);
    return NULL;
}

static void Dynamics_dealloc(PyObject *object)
{
    Dynamics *self = (Dynamics *)object;
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < N_ARRAYS; i++) PyBuffer_Release(&self->views[i]);
    PyMem_RawFree(self->columns);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef METHODS[] = {
    {"fill", (PyCFunction)(void (*)(void))Dynamics_fill, METH_FASTCALL, fill_doc},
    {"predict", (PyCFunction)(void (*)(void))Dynamics_predict, METH_FASTCALL, predict_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot SLOTS[] = {
    {Py_tp_doc, "Dynamics(placements, axes, gravity, motors, inertial, speeds, frequencies)\n--\n\n"
                "Regressor of an arm's inverse dynamics."},
    {Py_tp_new, Dynamics_new}, {Py_tp_dealloc, Dynamics_dealloc}, {Py_tp_methods, METHODS}, {0, NULL},
};

static PyType_Spec SPEC = {"ilr_dynamics.robot._dynamics.Dynamics", sizeof(Dynamics), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, SLOTS};

static int add_contents(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&SPEC);
    int status = type ? PyModule_AddObjectRef(module, "Dynamics", type) : -1;
    Py_XDECREF(type);
    return status;
}

static PyModuleDef_Slot MODULE_SLOTS[] = {{Py_mod_exec, add_contents}, {0, NULL}};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, .m_name = "_dynamics",
                                    .m_doc = "Regressor of inverse dynamics, compiled.", .m_slots = MODULE_SLOTS};

PyMODINIT_FUNC PyInit__dynamics(void) { return PyModuleDef_Init(&MODULE); }
