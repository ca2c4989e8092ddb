/* What entries.c, mounts.c, read_only.c and run_user.c share: the program's own view of the file system. */
#ifndef MOUNTS_H
#define MOUNTS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher.h"

/* The same on every architecture since 2019; headers may be older than the kernel. */
enum { nr_mount_setattr_call = 442, nr_open_tree_call = 428, nr_move_mount_call = 429 };
enum { at_empty_path = 0x1000, at_recursive = 0x8000 };
enum { attr_read_only = 1, attr_no_suid = 2, attr_no_dev = 4, attr_idmap = 0x100000 };

struct mount_change {
  uint64_t set;
  uint64_t clear;
  uint64_t propagation;
  uint64_t user_namespace;
};

/* A path of the program below a replaced folder, or one with other rights than at its place. */
struct entry {
  char *path;
  char *link; /* the target, if it is a symbolic link */
  int fd;     /* what is mounted there; -1 = an empty folder */
  int tree;   /* a copy of it for the run's user; -1 = none */
  bool is_folder;
  bool writable;
};

/* entries.c: replaced folders, and entries with the shortest path first. */
enum { most_folders = 64 };
extern char *folders[];
extern size_t folder_count;
extern struct entry entries[];
extern size_t entry_count;
void find_folders(const struct plan *plan);
void find_entries(const struct plan *plan);
/* Whether the entry is mounted already, as part of a folder above it. */
bool is_there(size_t index);
bool is_below(const char *path, const char *folder);

/* read_only.c: 0 or an errno. */
int make_all_read_only(void);
int make_writable(const char *path);

/* run_user.c: a user namespace that maps files of root to `user`; -1 and errno. */
int user_namespace_of(unsigned user);
/* A detached copy of the mount at `fd`, with root's files shown as those of the namespace's user; -1 and errno. */
int tree_for_user(int fd, int user_namespace);
int attach_tree(int tree, const char *path);
/* Adds the user to /etc/passwd as the program sees it; `copy` is a new path in a folder of the program's view. */
void name_run_user(unsigned user, const char *copy, char **environment);

#endif
