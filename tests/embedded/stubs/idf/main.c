/* SPDX-License-Identifier: MIT */
#include "classfilter.h"
#include "selftest.h"

int main(void) { return cf_selftest(NULL); }
