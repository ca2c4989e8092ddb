/* What filter.c and filter_rules.c share: the parts of which a seccomp filter is built. */
#ifndef FILTER_H
#define FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "launcher.h"

void emit(uint16_t operation, uint32_t value, uint8_t when_true, uint8_t when_false);
void refuse_with(int error);
/* The kernel reads ids, commands and flags from the low half, which both architectures store first. */
void load_argument(int index);
void load_number(void);
void refuse_if_equal(uint32_t value, int error);
/* The instructions between the two are for one system call, which is allowed at the end: one block per call. */
size_t begin_block(int number);
void end_block(size_t block);

/* filter_rules.c */
void filter_new_processes(const struct plan *plan);
void filter_modes(const struct plan *plan, bool in_namespaces);
void filter_sockets(const struct plan *plan);

#endif
