/*
 * The program's view of the file system. Of the root's folders, those that the program may use only in part (such as
 * /home, /run, /tmp and /var) are replaced by empty ones that hold its own paths only, so that it cannot connect to
 * sockets there, which Landlock does not prevent. Then everything is read-only except the run's own folders.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"
#include "mounts.h"

static void make_parents(const char *path) {
  char parent[PATH_MAX];
  snprintf(parent, sizeof parent, "%s", path);
  for (char *at = strchr(parent + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
    *at = '\0';
    mkdir(parent, 0755);
    *at = '/';
  }
}

static int attach(const struct entry *entry) {
  char source[48];
  make_parents(entry->path);
  if (entry->link != NULL) return symlink(entry->link, entry->path) == 0 || errno == EEXIST ? 0 : errno;
  if (entry->is_folder) mkdir(entry->path, 0755);
  else if (access(entry->path, F_OK) != 0) close(open(entry->path, O_CREAT | O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (entry->fd < 0) return 0;
  if (entry->tree >= 0) return attach_tree(entry->tree, entry->path);
  snprintf(source, sizeof source, "/proc/self/fd/%d", entry->fd);
  return mount(source, entry->path, NULL, MS_BIND | MS_REC, NULL) == 0 ? 0 : errno;
}

/*
 * Makes the copies for the run's user. 0 or an errno: then the program runs as the agent's user, because it could not
 * write to its own folders. A path that it only reads may be for everyone.
 */
static int make_trees(struct plan *plan) {
  int user_namespace = user_namespace_of(plan->run_user);
  int error = user_namespace < 0 ? errno : 0;
  for (size_t at = 0; at < entry_count && error == 0; at++) {
    struct entry *entry = &entries[at];
    if (entry->fd < 0 || is_there(at) || is_below(entry->path, "/dev")) continue;
    entry->tree = tree_for_user(entry->fd, user_namespace);
    if (entry->tree < 0 && entry->writable) error = errno;
  }
  if (user_namespace >= 0) close(user_namespace);
  if (error == 0) return 0;
  plan->run_user = 0;
  for (size_t at = 0; at < entry_count; at++) {
    if (entries[at].tree >= 0) close(entries[at].tree);
    entries[at].tree = -1;
  }
  return error;
}

static int enter(struct plan *plan, int *user_error) {
  char here[PATH_MAX], copy[NAME_MAX + 16];
  if (getcwd(here, sizeof here) == NULL) snprintf(here, sizeof here, "/");
  find_folders(plan);
  find_entries(plan);
  *user_error = plan->run_user == 0 ? 0 : make_trees(plan);
  for (size_t at = 0; at < folder_count; at++) {
    if (mount("tmpfs", folders[at], "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=512k,nr_inodes=2k") != 0) return errno;
  }
  for (size_t at = 0; at < entry_count; at++) {
    if (is_there(at)) continue;
    int error = attach(&entries[at]);
    if (error != 0) return error;
  }
  if (plan->run_user != 0 && folder_count > 0) {
    snprintf(copy, sizeof copy, "%s/.passwd", folders[0]);
    name_run_user(plan->run_user, copy, plan->environment);
  }
  int error = make_all_read_only();
  for (size_t at = 0; at < entry_count && error == 0; at++) {
    if (entries[at].writable && !is_there(at)) error = make_writable(entries[at].path);
  }
  for (size_t at = 0; at < entry_count; at++) {
    if (entries[at].fd >= 0) close(entries[at].fd);
    if (entries[at].tree >= 0) close(entries[at].tree);
  }
  /* Otherwise the working folder would be the hidden one. */
  if (chdir(here) != 0 && chdir("/") != 0) return errno;
  return error;
}

int enter_own_mounts(struct plan *plan, int *user_error) {
  /* The run's user passes through the folders that are made here, whatever the agent was started with. */
  mode_t mask = umask(022);
  int error = enter(plan, user_error);
  umask(mask);
  return error;
}
