/* SPDX-License-Identifier: MIT */
/* A row of a rule without minimum durations, for microcontrollers: in one loop, and without what only a change needs. The
   formulas are those of pass_row and follow_lead, in their order; a test holds both to the same bits. */
#ifndef CF_EVENTS_TICKS_H
#define CF_EVENTS_TICKS_H

#include "events_confirm.h"

/* The best path to k comes from the lead, and not from that segment before. */
CF_RARE int32_t enter_from_lead(const cf_events *rule, void *state, int32_t k) {
    events_view s;
    view_state(&s, rule, state);
    enter_from(&s, k, node_of_open(&s, s.head->lead));
    return s.self[s.head->lead];
}

CF_RARE void find_other_lead(const cf_events *rule, void *state) {
    events_view s;
    view_state(&s, rule, state);
    find_lead(&s);
}

/* w p of class k, which is its w e, too, where there is neither a bias nor a logarithm. */
CF_INLINE cf_real weighed_mass(const cf_events *rule, const cf_real *p, cf_real w, size_t k) {
    return k < CF_COUNT(rule->classes) ? w * p[k] : 0;
}

CF_INLINE int is_mass(const cf_events *rule) {
#ifdef CF_RULE_NO_BIAS
    return !rule->log && !(rule->min_probability > 0);
#else
    (void)rule;
    return 0;
#endif
}

/* The last row, which lasted until now: v_k <- max(v_k, -enter_k) + w e_k, as the lead is at 0, then less what the lead has
   risen by; not less where a decision is `due`, which comes before that. Returns whether a best path comes from another
   segment than before. */
static int pass_plain_row(const cf_events *rule, void *state, int due) {
    events_view s;
    cf_real w, rise = 0, ahead;
    int32_t k, own, lead, above = 0;
    int others = 0;
    events_sum before;
    view_state(&s, rule, state);
    rule = rule_of(&s);
    w = as_weight(s.head->step);
    lead = s.head->lead;
    before = open_mass(&s, lead);
    own = s.self[lead] < 0 ? -2 : s.self[lead]; /* -2 is nobody's parent */
    ahead = s.value[lead] + weighed(rule, s.last, w, (size_t)lead);
    if (!due) rise = ahead - leave_of(rule, lead);
    ahead = ahead - rise - leave_of(rule, lead);
    for (k = 0; k < states_in(&s); k++) {
        const cf_real entered = -rule->enter[k], y = weighed_mass(rule, s.last, w, (size_t)k);
        const cf_real gain = is_mass(rule) ? y : weighed(rule, s.last, w, (size_t)k);
        cf_real value = s.value[k];
        if (value < entered) {
            /* mostly, it has come from this segment before: then only its start is new */
            if (s.parent[k] != own || s.self[k] >= 0) {
                own = enter_from_lead(rule, state, k);
                others = 1;
            }
            value = entered;
            s.start[k] = s.head->last;
            s.before[k] = before;
            set_mass(&s, k, y);
        } else {
            add_mass(&s, k, y);
        }
        value = value + gain - rise;
        s.value[k] = value;
        if (value - leave_of(rule, k) >= ahead) above++; /* the lead is */
    }
    if (!due && above > 1) find_other_lead(rule, state);
    return others;
}

#endif
