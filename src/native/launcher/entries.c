/*
 * Which folders the program's view of the file system replaces by empty ones, and which of its paths are put into
 * them. All of this is read before anything is mounted.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"
#include "mounts.h"

/* The kernel follows 40 links. */
enum { most_entries = 3 * max_paths, most_links = 40 };

char *folders[most_folders];
size_t folder_count;
struct entry entries[most_entries];
size_t entry_count;

bool is_below(const char *path, const char *folder) {
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

/* Pseudo file systems are the same for every user, and are never replaced. */
static bool is_of_kernel(const char *path) {
  return is_below(path, "/proc") || is_below(path, "/sys") || is_below(path, "/dev");
}

/*
 * A folder that only root may enter would keep a run's user from the listed paths below it. It is replaced by a
 * folder with these paths only.
 */
static void replace_if_closed(const char *folder) {
  struct stat status;
  if (*folder == '\0' || is_of_kernel(folder) || is_hidden(folder) || folder_count == most_folders) return;
  if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode) || (status.st_mode & S_IXOTH) != 0) return;
  folders[folder_count++] = strdup(folder);
}

static void note_link(const char *path, const char *target) {
  if (is_hidden(path)) add_entry((struct entry){.path = strdup(path), .link = strdup(target), .fd = -1, .tree = -1});
}

static void note_folder(const char *path) {
  if (is_hidden(path)) add_entry((struct entry){.path = strdup(path), .fd = -1, .tree = -1, .is_folder = true});
}

/* A link there may be the work of an earlier program of the run. */
static bool is_writable(const struct plan *plan, const char *path) {
  for (size_t at = 0; at < plan->rule_count; at++) {
    if (plan->rules[at].access == access_write && is_below(path, plan->rules[at].path)) return true;
  }
  return plan->own != NULL && is_below(path, plan->own);
}

enum purpose { find_places, replace_closed, only_look };

/*
 * Finds what `given` leads to, as the kernel does: part after part, through each link on the way. To find the places of
 * the view, each link, and each folder that `..` leaves again, gets one, so that the path leads there too. Otherwise,
 * folders that are closed for the run's user are replaced. False if nothing is there. `trusted` = no link was the
 * run's own.
 */
static bool resolve(const struct plan *plan, const char *given, char resolved[PATH_MAX], enum purpose purpose, bool *trusted) {
  char rest[PATH_MAX], longer[PATH_MAX], target[PATH_MAX];
  size_t length = 0;
  int links_left = most_links;
  *trusted = true;
  if (given[0] != '/' || snprintf(rest, sizeof rest, "%s", given) >= PATH_MAX) return false;
  resolved[0] = '\0';
  for (char *at = rest; *(at += strspn(at, "/")) != '\0';) {
    int part = (int)strcspn(at, "/");
    if (part == 2 && at[0] == '.' && at[1] == '.') {
      if (purpose == find_places && length > 0) note_folder(resolved);
      char *last = strrchr(resolved, '/');
      if (last != NULL) *last = '\0';
    } else if (part != 1 || at[0] != '.') {
      if (purpose == replace_closed) replace_if_closed(resolved);
      if (snprintf(resolved + length, PATH_MAX - length, "/%.*s", part, at) >= (int)(PATH_MAX - length)) return false;
      ssize_t found = readlink(resolved, target, sizeof target - 1);
      if (found > 0) {
        target[found] = '\0';
        if (links_left-- == 0) return false;
        if (purpose == find_places) note_link(resolved, target);
        if (is_writable(plan, resolved)) *trusted = false;
        if (snprintf(longer, sizeof longer, "%s/%s", target, at + part) >= PATH_MAX) return false;
        strcpy(rest, longer);
        at = rest;
        resolved[target[0] == '/' ? 0 : length] = '\0';
        length = strlen(resolved);
        continue;
      } else if (errno == ENOENT || errno == ENOTDIR) {
        return false;
      }
    }
    length = strlen(resolved);
    at += part;
  }
  if (length == 0) snprintf(resolved, PATH_MAX, "/");
  return true;
}

/* What the run's user could not read at its place, although the program may. */
static bool is_closed(const char *path, const struct stat *status) {
  mode_t needed = S_ISDIR(status->st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
  return !is_of_kernel(path) && (status->st_mode & needed) != needed;
}

/* Where links of the run lead. The agent lists their targets too, as paths of their own. */
static char *led_by_run[max_paths];
static size_t led_count;

static bool is_led_by_run(const char *path) {
  for (size_t at = 0; at < led_count; at++) {
    if (is_below(path, led_by_run[at]) || is_below(led_by_run[at], path)) return true;
  }
  return false;
}

static void add_path(const struct plan *plan, const char *given, bool writable) {
  char path[PATH_MAX];
  struct stat status;
  bool trusted;
  if (!resolve(plan, given, path, find_places, &trusted)) return;
  int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &status) != 0) return;
  if (is_hidden(path) || writable || (plan->run_user != 0 && !is_led_by_run(path) && is_closed(path, &status))) {
    add_entry((struct entry){strdup(path), NULL, fd, -1, S_ISDIR(status.st_mode), writable});
  } else {
    close(fd);
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

void find_folders(const struct plan *plan) {
  char path[PATH_MAX];
  bool trusted;
  DIR *root = opendir("/");
  struct dirent *found;
  while (root != NULL && folder_count < most_folders && (found = readdir(root)) != NULL) {
    struct stat status;
    snprintf(path, sizeof path, "/%s", found->d_name);
    if (found->d_name[0] == '.' || lstat(path, &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    if (!is_needed_whole(plan, path)) folders[folder_count++] = strdup(path);
  }
  if (root != NULL) closedir(root);
  if (plan->run_user == 0) return;
  for (size_t at = 0; at < plan->rule_count; at++) {
    if (resolve(plan, plan->rules[at].path, path, only_look, &trusted) && !trusted) led_by_run[led_count++] = strdup(path);
  }
  for (size_t at = 0; at < plan->rule_count; at++) {
    if (!resolve(plan, plan->rules[at].path, path, only_look, &trusted) || is_led_by_run(path)) continue;
    resolve(plan, plan->rules[at].path, path, replace_closed, &trusted);
  }
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
    note_link(path, target);
  }
  if (opened != NULL) closedir(opened);
}

static int by_length(const void *a, const void *b) {
  size_t one = strlen(((const struct entry *)a)->path), other = strlen(((const struct entry *)b)->path);
  return one < other ? -1 : one > other;
}

/* Programs that ignore TMPDIR and write to /tmp get their own folder there. */
static void add_own_tmp(const struct plan *plan) {
  int fd = plan->temporary == NULL ? -1 : open(plan->temporary, O_PATH | O_CLOEXEC);
  if (fd >= 0) add_entry((struct entry){strdup("/tmp"), NULL, fd, -1, true, true});
}

void find_entries(const struct plan *plan) {
  char path[PATH_MAX];
  bool trusted;
  for (size_t at = 0; at < plan->rule_count; at++) {
    const struct path_rule *rule = &plan->rules[at];
    if (rule->path[0] != '/') continue;
    if (rule->access != access_list) add_path(plan, rule->path, rule->access == access_write);
    else note_folder(resolve(plan, rule->path, path, find_places, &trusted) ? path : rule->path);
  }
  if (plan->own != NULL) add_path(plan, plan->own, true);
  keep_links("/dev");
  keep_links("/var");
  add_own_tmp(plan);
  qsort(entries, entry_count, sizeof *entries, by_length);
}

bool is_there(size_t index) {
  const struct entry *entry = &entries[index];
  for (size_t at = 0; at < index; at++) {
    if (entries[at].fd < 0 || !is_below(entry->path, entries[at].path)) continue;
    if (entries[at].writable || !entry->writable) return true;
  }
  return false;
}
