/* SPDX-License-Identifier: MIT */
#include "cf.h"

const char *cf_strerror(cf_status status) {
    switch (status) {
    case CF_OK: return "ok";
    case CF_BAD_CLASSES: return "at least two classes are needed";
    case CF_BAD_GAMMA: return "gamma must lie in [0, 1]";
    case CF_BAD_FLOOR: return "floor must lie in [1e-30, 1)";
    case CF_BAD_ANCHOR: return "anchor must lie in [0, 1e9]";
    case CF_BAD_PRIOR: return "each alpha must be at least 1e-6 and their sum at most max_concentration";
    case CF_BAD_WEIGHT: return "eta must lie in [0, 1e9]";
    case CF_BAD_CONCENTRATION: return "max_concentration must lie between the number of classes and 1e12 (float: 1e6)";
    case CF_PROBS_NEGATIVE: return "a probability is negative";
    case CF_PROBS_INFINITE: return "a probability is above 1e30";
    case CF_PROBS_SOME_NAN: return "some probabilities are NaN and others are not";
    case CF_PROBS_SUM: return "the probabilities do not sum to 1";
    case CF_BAD_BETA: return "beta must lie in [0, 1]";
    case CF_BAD_DT: return "dt must lie in [0, 1e30]";
    case CF_NOT_CONVERGED: return "the mode was not reached in the allowed iterations";
    case CF_BAD_STAY: return "stay must lie in [0, 1]";
    case CF_BAD_CLASS_PRIOR: return "each entry of prior must be at least 1e-6, and their sum within 0.05 of 1";
    case CF_BAD_RATES: return "each rate of change must lie in [0, 1e6]";
    case CF_BAD_TOLERANCE: return "tolerance must lie in [0, 0.1]";
    case CF_BAD_STATE: return "probs of a state must not be negative, and their sum must be within 1e-4 of 1";
    case CF_BAD_POLICY: return "a setting of a policy is outside its range";
    case CF_BAD_LIKELIHOOD:
        return "each likelihood must lie in [0, 1e30], one per row above 0; a row without an observation is NaN only";
    case CF_BAD_COST: return "each cost of a change must lie in [0, 1e30]";
    case CF_BAD_BIAS: return "each bias must lie in [-1e6, 1e6]";
    case CF_BAD_MIN_PROBABILITY: return "min_probability must lie in [0, 1]";
    case CF_BAD_DURATION: return "the times of an event rule must not be negative or NaN";
    case CF_BAD_DELAY: return "max_delay must not be shorter than a minimum duration";
    case CF_BAD_TIME: return "a time must be finite and must not go back";
    case CF_BAD_MEMORY: return "an event rule needs memory for at least 4 nodes, and 2 slots for minimum durations";
    case CF_BAD_TEMPERATURE: return "temperature must lie in [0.05, 20]";
    case CF_BAD_BLOCK: return "these bytes are no state of this event rule";
    }
    return "unknown status";
}
