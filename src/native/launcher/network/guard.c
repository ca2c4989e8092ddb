/* The threads of the supervisor that answer the program's calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "network.h"

enum { max_threads = 256, stack_bytes = 256 * 1024 };

bool is_still_valid(uint64_t id) { return ioctl(network_listener(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0; }

static int error_of_missing_socket(int error) {
  return error == EBADF || error == ENOTSOCK || error == EISCONN ? -error : -EACCES;
}

/* Calls whose first argument is a socket. */
static void answer_for_socket(const struct seccomp_notif *asked, struct seccomp_notif_resp *response) {
  int number = (int)asked->data.args[0];
  pid_t pid = (pid_t)asked->pid;
  bool makes_sockets = network_makes_sockets();
  int socket = makes_sockets ? kept_socket(pid, number) : copy_descriptor(pid, number);
  if (socket < 0 && makes_sockets && errno == EISCONN && may_continue_alone(asked)) {
    response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else if (socket < 0) {
    response->error = error_of_missing_socket(errno);
  } else if (!is_still_valid(asked->id)) {
    response->error = -EINTR; /* nobody waits for it */
  } else if (may_continue(asked, socket)) {
    response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    response->val = make_call(asked, socket);
  }
  if (socket >= 0) close(socket);
}

static void answer(const struct seccomp_notif *asked) {
  struct seccomp_notif_resp response = {.id = asked->id};
  if (asked->data.nr == SYS_socket) response.val = make_socket(asked);
  else if (names_process(asked)) response.val = judge_process_call(asked);
  else answer_for_socket(asked, &response);
  if (response.val < 0) {
    response.error = (int)response.val;
    response.val = 0;
  } else if (names_process(asked)) {
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  }
  ioctl(network_listener(), SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Whether no process has the filter any more. Since Linux 6.11 the listener then fails at once with ENOENT. */
static bool is_over(void) {
  struct pollfd asked = {network_listener(), POLLIN, 0};
  return poll(&asked, 1, 0) > 0 && (asked.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

void answer_calls(void) {
  for (;;) {
    struct seccomp_notif asked;
    memset(&asked, 0, sizeof asked);
    if (ioctl(network_listener(), SECCOMP_IOCTL_NOTIF_RECV, &asked) == 0) answer(&asked);
    /* ENOENT also means that the caller has gone; with other errors the listener is broken, and calls get ENOSYS. */
    else if (errno != EINTR && (errno != ENOENT || is_over())) return;
  }
}

bool start_answering_thread(void *(*work)(void *), pthread_t *thread) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  bool started = pthread_create(thread, &attributes, work, NULL) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

static void *answer_too(void *unused) {
  (void)unused;
  become_like_program();
  answer_calls();
  return NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The first thread comes from the handover. */
static unsigned threads = 1, blocked;

bool begin_blocking(void) {
  pthread_t thread;
  pthread_mutex_lock(&lock);
  blocked++;
  if (threads <= blocked && threads < max_threads && start_answering_thread(answer_too, &thread)) {
    pthread_detach(thread);
    threads++;
  }
  bool may = threads > blocked;
  if (!may) blocked--;
  pthread_mutex_unlock(&lock);
  return may;
}

void end_blocking(void) {
  pthread_mutex_lock(&lock);
  blocked--;
  pthread_mutex_unlock(&lock);
}
