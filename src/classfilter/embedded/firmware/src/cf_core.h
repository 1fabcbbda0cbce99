/* SPDX-License-Identifier: MIT */
/* The parts of the core that this configuration needs, as text: classfilter.c alone includes it. */
#ifndef CF_CORE_H
#define CF_CORE_H

/* The same bits on every machine: a product and a sum are rounded each. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#ifdef __cplusplus /* which has no such word of its own */
#define restrict __restrict
#endif

#define CF_TABLES
#include "classfilter.h"

#ifdef CF_DIRICHLET
#include "core/dirichlet_f32.h"
#else
#include "core/sticky_f32.h"
#endif
#ifdef CF_CHANNELS
#include "core/channel_f32.h"
#endif
#ifdef CF_TEMPERED
#include "core/temper_f32.h"
#endif
#ifdef CF_EVENTS
#include "core/events_f32.h"
#endif
#ifdef CF_ADAPTIVE
#include "core/policy_adaptive_f32.h"
#endif

#endif
