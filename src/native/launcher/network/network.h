/*
 * The network of the program: a second seccomp filter hands every call that names an address to the supervisor, which
 * copies the address, judges it, and makes the call itself on its own copy of the socket. A program that changes the
 * address meanwhile changes nothing.
 */
#ifndef NETWORK_H
#define NETWORK_H

#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "../launcher.h"

/* filter.c: returns the descriptor of the listener, or -1 with errno. */
int install_network_filter(bool in_namespaces);

/* rules.c */
struct destination {
  struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d */
  uint16_t port;           /* 0 for protocols without ports */
  bool is_stream;
};
/* False if the address is too short or of another family. */
bool read_destination(const struct sockaddr_storage *address, socklen_t length, bool is_stream,
                      struct destination *destination);
/* 0, or the errno with which it is refused; a refusal is reported once per destination. */
int judge(const struct destination *destination);
void report_refused_path(const char *path);

/* embedded.c: the IPv4 addresses that an IPv6 one carries, in mapped form; how many. */
enum { max_carried = 4 };
size_t carried_addresses(const struct in6_addr *address, struct in6_addr carried[max_carried]);

/* own.c: the program's own sockets, which it may reach on loopback. */
void remember_own_socket(int socket);
enum listener { listener_none, listener_own, listener_foreign };
/* Whose sockets a connection to this address of this machine could reach. */
enum listener listener_at(const struct destination *destination);
bool is_loopback(const struct in6_addr *address);

/*
 * paths.c: opens the socket file of an AF_UNIX address as process `pid` sees it, and writes an address that
 * leads to the same file. The descriptor, or a negative errno.
 */
int open_socket_file(pid_t pid, const struct sockaddr_un *asked, socklen_t length, struct sockaddr_un *opened);

/* memory.c: false if the process's memory cannot be read. */
bool read_memory(pid_t pid, uint64_t address, void *into, size_t length);
void write_memory(pid_t pid, uint64_t address, const void *from, size_t length);

/* process.c: of a process or of any of its threads. False if it is gone. */
struct process {
  pid_t group, parent; /* the first thread, and the process that started it */
};
bool read_process(pid_t pid, struct process *process);
bool is_single_threaded(pid_t pid);

/* signals.c: calls that name another process. 0, or a negative errno with which the call is refused. */
bool names_process(const struct seccomp_notif *asked);
int judge_process_call(const struct seccomp_notif *asked);

/* rights.c: the control data of a message. 0 or an errno; call `close_rights` in any case. */
enum { max_control = 2048, max_rights = 253 };
struct control {
  char bytes[max_control] __attribute__((aligned(16)));
  size_t length;
  int copies[max_rights];
  size_t count;
};
int translate_control(pid_t pid, bool is_local, struct control *control);
void close_rights(struct control *control);

/* calls.c: makes one call of the program; its result, or a negative errno. */
int64_t make_call(const struct seccomp_notif *asked, int socket);
/* Whether the call may continue as the program made it. */
bool may_continue(const struct seccomp_notif *asked, int socket);
/* The same, for a stream of which there is no copy any more. */
bool may_continue_alone(const struct seccomp_notif *asked);

/* send.c: the calls that send to an address. */
struct kind {
  int domain, type;
};
bool is_internet(const struct kind *kind);
bool is_stream(const struct kind *kind);
/* An address of the program, copied and judged. `file` is a descriptor to close afterwards, or -1. */
struct target {
  struct sockaddr_storage address;
  socklen_t length;
  int file;
};
/* Both: 0 or an errno. `judge_target` replaces the address of a socket file by one that the program cannot change. */
int read_target(pid_t pid, uint64_t at, uint64_t length, struct target *target);
int judge_target(pid_t pid, const struct kind *kind, struct target *target);
/* Whether a call on this socket would wait. */
bool is_blocking(int socket, int flags);
int64_t make_sendto(const struct seccomp_notif *asked, int socket, const struct kind *kind);
int64_t make_sendmsg(const struct seccomp_notif *asked, int socket, const struct kind *kind);
int64_t make_sendmmsg(const struct seccomp_notif *asked, int socket, const struct kind *kind);

/* sockets.c: for hosts where no process may copy a descriptor of another. */
/* Makes a socket for the program; its number there, or a negative errno. */
int64_t make_socket(const struct seccomp_notif *asked);
/* The copy of a process's socket; -1 and EISCONN for a stream that needs no address any more. */
int kept_socket(pid_t pid, int number);
/* A connected or listening stream: the program alone decides when it is closed. */
void drop_stream(int socket);
/* Closes copies of sockets that the program has closed, and so frees their ports. */
void sweep_sockets(void);

/* handover.c */
const struct plan *network_plan(void);
int network_listener(void);
/* The supervisor makes the program's sockets. */
bool network_makes_sockets(void);
/* A copy of a process's descriptor, or -1 and errno. `pid` may be any of its threads. */
int copy_descriptor(pid_t pid, int number);
/* Gives the calling thread the program's user, without capabilities. */
void become_like_program(void);

/* guard.c */
bool is_still_valid(uint64_t id);
/* Answers until no process has the filter any more. */
void answer_calls(void);
bool start_answering_thread(void *(*work)(void *), pthread_t *thread);
/*
 * Around a call that may wait, so that another thread answers meanwhile. False = too many calls wait already: the
 * program gets EAGAIN.
 */
bool begin_blocking(void);
void end_blocking(void);

#endif
