/*
 * Flows: the probes of one trace, all of them with the same addresses, ports and flow label. Routers that spread their
 * load by flow send all of them along one route.
 *
 * flow.c opens and closes them, flow_probe.c sends probes and reads answers (flow_echo.c those of ICMP), flow_round.c
 * sends one probe after the other, and flow_watch.c waits for answers.
 */
#ifndef LOCATION_AGENT_FLOW_H
#define LOCATION_AGENT_FLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <uv.h>

#include "../addon.h"
#include "../icmp_message.h"

enum { QUESTION_MAX = 64, MARK = 2, ROUND_MAX = 64 };

/* Less than the second after which the kernel repeats a SYN. */
enum { WAIT_MAX_MS = 900 };

/* The numbers of a round in the shared array: how many hops, errno, and then the fields of each hop. */
enum { ROUND_HEAD = 2, ROUND_FIELDS = 5, ROUND_NUMBERS = ROUND_HEAD + ROUND_MAX * ROUND_FIELDS };

/* What probes are: datagrams, SYNs, or echo requests by one of the two kinds of sockets. */
typedef enum { BY_UDP = 0, BY_TCP = 1, BY_PING_SOCKET = 2, BY_RAW_SOCKET = 3 } probe_way;

/* Who answered a probe. */
typedef enum { ROUTER_ANSWERED = 0, TARGET_ANSWERED = 1, FAILED_HERE = 2, NOBODY_ANSWERED = 3 } answer_kind;

/* How the sender of an answer is reported: not at all, as before for this distance, or by the next text. */
enum { SENDER_UNKNOWN = 0, SENDER_AS_BEFORE = 1, SENDER_NEW = 2 };

/* The answer to a probe. */
typedef struct {
  answer_kind kind;
  int type;
  int code;
  int error; /* of FAILED_HERE: an errno */
  double rtt;
  int family; /* of the sender; AF_UNSPEC = unknown */
  uint8_t from[16];
} probe_answer;

/* The sender that was last reported for a distance. */
typedef struct {
  int family;
  uint8_t from[16];
} known_sender;

typedef struct flow_watch flow_watch;

typedef struct flow {
  int family;
  probe_way way;
  bool tcp;
  struct sockaddr_storage target;
  socklen_t target_length;
  uint16_t source_port; /* network order; of echo requests: their id */
  uint16_t sequence; /* of the last echo request */
  uint8_t question[QUESTION_MAX]; /* the payload; its first bytes differ between probes */
  size_t question_length;

  int fd; /* -1 = not open */
  bool is_connecting; /* a TCP socket whose last SYN was not given up */
  bool is_watched; /* the descriptor is known to the watch */
  uint64_t sent_ns; /* CLOCK_MONOTONIC, of the probe in flight */
  int refused; /* the errno with which the system answered the probe within the call */

  bool closed;
  bool in_round; /* a probe is in flight */
  int first;
  int ttl; /* of the probe in flight */
  int last;
  uint64_t wait_ms;
  int silent; /* probes in a row without an answer */
  int max_silent;
  int error; /* that ended the round */
  probe_answer answers[ROUND_MAX + 1];
  known_sender senders[ROUND_MAX + 1];

  flow_watch *watch;
  uint64_t deadline_ns; /* CLOCK_MONOTONIC, of the wait */
  struct flow *previous; /* among the flows that wait, or those whose round is over */
  struct flow *next;
  struct flow **list; /* NULL = in neither */

  napi_env env;
  napi_ref on_round;
  napi_ref numbers_ref; /* keeps the shared array alive */
  double *numbers;
} flow;

/* flow_probe.c: sends a probe. 0 or an errno. */
int send_flow_probe(flow *one, int ttl);

/*
 * flow_probe.c: reads the answer to the probe in flight; false if there is none yet. `events`: what poll(2) reports
 * about the socket, or 0 immediately after sending.
 */
bool read_answer(flow *one, uint32_t events, probe_answer *answer);

/* flow_probe.c: sends a packet of two parts with a TTL; the first one may be empty. 0 or an errno. */
int send_parts(flow *one, int ttl, struct iovec parts[2]);

/* flow_echo.c: whether probes are echo requests. */
bool is_echo(const flow *one);

/* flow_echo.c: opens the socket. 0 or an errno. */
int open_echo_flow(flow *one);

/* flow_echo.c: sends an echo request. 0 or an errno. */
int send_echo_probe(flow *one, int ttl);

/* flow_echo.c: whether a message quotes another packet than the request in flight. */
bool is_other_echo(const flow *one, const icmp_message *message);

/* flow_echo.c: reads the reply to the request in flight; false if there is none yet. */
bool read_echo_reply(const flow *one, uint64_t now_ns, probe_answer *answer);

/* flow_probe.c: gives up the connection of a probe by TCP, so that its socket and port can be used again. */
void give_up_probe(flow *one);

/* flow_probe.c: drops what has arrived for earlier probes. */
void drop_late_answers(const flow *one);

/* flow_probe.c: closes the socket; the next probe opens another one. */
void close_flow_socket(flow *one);

/* flow_round.c: ends the probe in flight because of an event, or because its time is over. */
void on_flow_ready(flow *one, uint32_t events);
void on_flow_late(flow *one);

/* flow_round.c: reports a round that is over to JavaScript. */
void report_round(flow *one);

/* flow.c: the flow of a JavaScript value, NULL if it is none. */
flow *flow_of(napi_env env, napi_value value);

/* flow_watch.c: the watch of an environment, with a reference for a flow. NULL if there is no memory. */
flow_watch *watch_of(napi_env env);
void release_watch(flow_watch *watch);

/* flow_watch.c: waits for an event of the socket, at most `wait_ms`. 0 or an errno. */
int await_answer(flow *one, uint64_t wait_ms);

/* flow_watch.c: the round of a flow that waited is over; it is reported after all events of this turn. */
void await_report(flow *one);

/* flow_watch.c: neither waits for this flow any longer, nor reports it. */
void forget_flow(flow *one);

/* flow_watch.c: before the descriptor of a flow is closed. */
void unwatch_socket(flow *one);

/* flow_watch.c: calls a function of JavaScript from the event loop. */
void call_back(flow_watch *watch, napi_env env, napi_ref function_ref, napi_value argument);

#endif
