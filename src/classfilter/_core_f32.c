/* The core once more, in single precision. */
#define CF_FLOAT
#include "csrc/adaptive.c"
#include "csrc/channel.c"
#include "csrc/check.c"
#include "csrc/dirichlet.c"
#include "csrc/single.c"
#include "csrc/special.c"
#include "csrc/sticky.c"
