/*
 * The program's view of the file system. Of the root's folders, those that the program may use only in part (such as
 * /home, /run, /tmp and /var) are replaced by empty ones that hold its own paths only, so that it cannot connect to
 * sockets there, which Landlock does not prevent. Then everything is read-only except the run's own folders.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"
#include "mounts.h"

enum { most_folders = 64, most_entries = 3 * max_paths, most_links = 16 };

/* A path of the program below a replaced folder. */
struct entry {
  char *path;
  char *link; /* the target, if it is a symbolic link */
  int fd;     /* what is mounted there; -1 = an empty folder */
  int tree;   /* a copy of it for the run's user; -1 = none */
  bool is_folder;
  bool writable;
};

static char *folders[most_folders];
static size_t folder_count;
static struct entry entries[most_entries];
static size_t entry_count;

static bool is_below(const char *path, const char *folder) {
  size_t length = strlen(folder);
  if (length == 1) return true; /* the root */
  return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static bool is_hidden(const char *path) {
  for (size_t at = 0; at < folder_count; at++) {
    if (is_below(path, folders[at])) return true;
  }
  return false;
}

static void add_entry(struct entry entry) {
  for (size_t at = 0; at < entry_count; at++) {
    if (strcmp(entries[at].path, entry.path) != 0) continue;
    entries[at].writable |= entry.writable;
    if (entries[at].fd < 0 && entry.fd >= 0) entries[at] = entry;
    return;
  }
  if (entry_count < most_entries) entries[entry_count++] = entry;
}

/*
 * Notes what is at `path`. A link on the way is noted as a link, so that programs which resolve a path get the same
 * answer as outside.
 */
static void add_path(const char *given, bool writable, int links_left) {
  char path[PATH_MAX], part[PATH_MAX], target[PATH_MAX], whole[PATH_MAX];
  if (links_left == 0 || realpath(given, whole) == NULL || snprintf(path, sizeof path, "%s", given) >= PATH_MAX) return;
  for (char *end = path + 1; *end != '\0';) {
    end += strcspn(end, "/");
    snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
    ssize_t length = readlink(part, target, sizeof target - 1);
    if (length > 0) {
      target[length] = '\0';
      if (is_hidden(part)) add_entry((struct entry){.path = strdup(part), .link = strdup(target), .fd = -1, .tree = -1});
      /* The link's own target may have links on its way, and so may the rest. */
      add_path(whole, writable, links_left - 1);
      return;
    }
    while (*end == '/') end++;
  }
  struct stat status;
  int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &status) != 0) return;
  if (is_hidden(path) || writable) {
    add_entry((struct entry){strdup(path), NULL, fd, -1, S_ISDIR(status.st_mode), writable});
  }
}

/* A folder of the root is replaced unless the program may use all of it. */
static bool is_needed_whole(const struct plan *plan, const char *path) {
  if (strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0 || strcmp(path, "/etc") == 0) return true;
  if (plan->temporary != NULL && strcmp(path, "/tmp") == 0) return true; /* the run's own folder is mounted there */
  for (size_t at = 0; at < plan->rule_count; at++) {
    if (plan->rules[at].access != access_list && is_below(path, plan->rules[at].path)) return true;
  }
  return false;
}

static void find_folders(const struct plan *plan) {
  DIR *root = opendir("/");
  struct dirent *found;
  while (root != NULL && folder_count < most_folders && (found = readdir(root)) != NULL) {
    char path[NAME_MAX + 2];
    struct stat status;
    snprintf(path, sizeof path, "/%s", found->d_name);
    if (found->d_name[0] == '.' || lstat(path, &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    if (!is_needed_whole(plan, path)) folders[folder_count++] = strdup(path);
  }
  if (root != NULL) closedir(root);
}

/* Links such as /var/run and /dev/fd lead to paths with their own rules. */
static void keep_links(const char *folder) {
  DIR *opened = is_hidden(folder) ? opendir(folder) : NULL;
  struct dirent *found;
  for (int left = 64; opened != NULL && left > 0 && (found = readdir(opened)) != NULL; left--) {
    char path[PATH_MAX], target[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, found->d_name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0) continue;
    target[length] = '\0';
    add_entry((struct entry){.path = strdup(path), .link = strdup(target), .fd = -1, .tree = -1});
  }
  if (opened != NULL) closedir(opened);
}

static void find_entries(const struct plan *plan) {
  for (size_t at = 0; at < plan->rule_count; at++) {
    const struct path_rule *rule = &plan->rules[at];
    if (rule->path[0] != '/') continue;
    if (rule->access != access_list) add_path(rule->path, rule->access == access_write, most_links);
    else if (is_hidden(rule->path)) {
      add_entry((struct entry){.path = strdup(rule->path), .fd = -1, .tree = -1, .is_folder = true});
    }
  }
  if (plan->own != NULL) add_path(plan->own, true, most_links);
  keep_links("/dev");
  keep_links("/var");
}

static int by_length(const void *a, const void *b) {
  size_t one = strlen(((const struct entry *)a)->path), other = strlen(((const struct entry *)b)->path);
  return one < other ? -1 : one > other;
}

/* Mounted already, as part of a folder above it. */
static bool is_there(size_t index) {
  const struct entry *entry = &entries[index];
  for (size_t at = 0; at < index; at++) {
    if (entries[at].fd < 0 || !is_below(entry->path, entries[at].path)) continue;
    if (entries[at].writable || !entry->writable) return true;
  }
  return false;
}

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
  else close(open(entry->path, O_CREAT | O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0644));
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

/* Programs that ignore TMPDIR and write to /tmp get their own folder there. */
static void add_own_tmp(const struct plan *plan) {
  int fd = plan->temporary == NULL ? -1 : open(plan->temporary, O_PATH | O_CLOEXEC);
  if (fd >= 0) add_entry((struct entry){strdup("/tmp"), NULL, fd, -1, true, true});
}

int enter_own_mounts(struct plan *plan, int *user_error) {
  char here[PATH_MAX], copy[NAME_MAX + 16];
  if (getcwd(here, sizeof here) == NULL) snprintf(here, sizeof here, "/");
  find_folders(plan);
  find_entries(plan);
  add_own_tmp(plan);
  qsort(entries, entry_count, sizeof *entries, by_length);
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
