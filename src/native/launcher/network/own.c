/* The program's own servers: sockets that it bound or let listen, by inode. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "network.h"

/*
 * When the list is full, sockets that no longer exist are forgotten. The newest stay in any case, because a socket
 * that has no port yet is in no table of the kernel.
 */
enum { max_sockets = 8192, newest = 1024 };

static const char *const tables[] = {"/proc/self/net/tcp", "/proc/self/net/tcp6", "/proc/self/net/udp",
                                     "/proc/self/net/udp6"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ino_t sockets[max_sockets];
static bool exists[max_sockets];
static size_t count;

/* Its place in the list, or `count`. The newest are found first. */
static size_t place_of(ino_t inode) {
  for (size_t at = count; at > 0; at--) {
    if (sockets[at - 1] == inode) return at - 1;
  }
  return count;
}

static bool is_remembered(ino_t inode) { return place_of(inode) < count; }

static void mark_existing(const char *table) {
  FILE *file = fopen(table, "re");
  char line[512];
  if (file == NULL) return;
  while (fgets(line, sizeof line, file) != NULL) {
    unsigned long inode;
    if (sscanf(line, " %*d: %*s %*s %*s %*s %*s %*s %*s %*s %lu", &inode) != 1) continue;
    size_t at = place_of((ino_t)inode);
    if (at < count) exists[at] = true;
  }
  fclose(file);
}

static void forget_closed(void) {
  size_t left = 0;
  memset(exists, 0, sizeof exists);
  for (size_t at = 0; at < sizeof tables / sizeof *tables; at++) mark_existing(tables[at]);
  for (size_t at = 0; at < count; at++) {
    if (exists[at] || at >= count - newest) sockets[left++] = sockets[at];
  }
  if (left > max_sockets - newest) { /* too many at once: the oldest go */
    size_t surplus = left - (max_sockets - newest);
    left -= surplus;
    memmove(sockets, sockets + surplus, left * sizeof *sockets);
  }
  count = left;
}

void remember_own_socket(int socket) {
  struct stat status;
  if (fstat(socket, &status) != 0) return;
  pthread_mutex_lock(&lock);
  if (!is_remembered(status.st_ino)) {
    if (count == max_sockets) forget_closed();
    sockets[count++] = status.st_ino;
  }
  pthread_mutex_unlock(&lock);
}

static bool is_unspecified(const struct in6_addr *address) {
  return IN6_IS_ADDR_UNSPECIFIED(address) ||
         (IN6_IS_ADDR_V4MAPPED(address) && memcmp(address->s6_addr + 12, "\0\0\0\0", 4) == 0);
}

bool is_loopback(const struct in6_addr *address) {
  return is_unspecified(address) || IN6_IS_ADDR_LOOPBACK(address) ||
         (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

/* An address as /proc/net writes it: words of four bytes, each in the machine's order. */
static bool read_hex_address(const char *text, bool is_v6, struct in6_addr *address) {
  uint32_t words[4] = {0, 0, htonl(0xffff), 0};
  const char *at = text;
  for (int word = is_v6 ? 0 : 3; word < 4; word++, at += 8) {
    if (sscanf(at, "%8x", &words[word]) != 1) return false;
  }
  memcpy(address, words, sizeof words);
  return true;
}

/* Whether the sockets that a connection could reach are all the program's own. */
static enum listener find_listener(const char *table, bool is_v6, const struct destination *destination) {
  FILE *file = fopen(table, "re");
  if (file == NULL) return listener_none;
  char line[512], local[64];
  enum listener found = listener_none;
  while (found != listener_foreign && fgets(line, sizeof line, file) != NULL) {
    unsigned port, state;
    unsigned long inode;
    struct in6_addr address;
    if (sscanf(line, " %*d: %63[0-9A-F]:%x %*s %x %*s %*s %*s %*s %*s %lu", local, &port, &state, &inode) != 4) continue;
    if (destination->is_stream && state != 0x0A) break; /* listening sockets come first */
    if (port != destination->port || !read_hex_address(local, is_v6, &address)) continue;
    bool reaches = is_unspecified(&address) || is_unspecified(&destination->address) ||
                   memcmp(&address, &destination->address, sizeof address) == 0;
    if (reaches) found = is_remembered((ino_t)inode) ? listener_own : listener_foreign;
  }
  fclose(file);
  return found;
}

enum listener listener_at(const struct destination *destination) {
  pthread_mutex_lock(&lock);
  enum listener v4 = find_listener(tables[destination->is_stream ? 0 : 2], false, destination);
  enum listener v6 =
      find_listener(tables[destination->is_stream ? 1 : 3], true, destination);
  pthread_mutex_unlock(&lock);
  if (v4 == listener_foreign || v6 == listener_foreign) return listener_foreign;
  return v4 == listener_own || v6 == listener_own ? listener_own : listener_none;
}
