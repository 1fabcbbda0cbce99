/* SPDX-License-Identifier: MIT */
#include "classfilter.h"
#include "cf_selftest.h"

int main(void) { return cf_selftest(NULL); }
