/* SPDX-License-Identifier: MIT */
/* What the C library asks of a board: printf writes by semihosting. */
#include "board.h"

int _write(int file, const char *text, int length);
void *_sbrk(int more);

int _write(int file, const char *text, int length) {
    char word[2] = {0, 0};
    int i;
    (void)file;
    for (i = 0; i < length; i++) {
        word[0] = text[i];
        board_write(word);
    }
    return length;
}

/* A small heap: printf has a buffer there. */
void *_sbrk(int more) {
    static char heap[2048];
    static int used;
    char *const from = heap + used;
    if (used + more > (int)sizeof heap) board_exit(72);
    used += more;
    return from;
}
