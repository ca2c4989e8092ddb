#ifndef LOCATION_AGENT_ADDON_H
#define LOCATION_AGENT_ADDON_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <stdbool.h>

/* Adds a function to the exports; returns false with an exception pending if Node refuses. */
bool export_function(napi_env env, napi_value exports, const char *name, napi_callback function);

/* Throws a TypeError (a mistake in our own JavaScript) and returns NULL. */
napi_value refuse(napi_env env, const char *message);

napi_value int_value(napi_env env, int value);

/* Echo ports: echo.c. */
bool export_echo(napi_env env, napi_value exports);

/* Probes with a low TTL: trace.c. */
bool export_trace(napi_env env, napi_value exports);

/* Probes of one flow: flow.c and flow_round.c. */
bool export_flow(napi_env env, napi_value exports);
bool export_flow_round(napi_env env, napi_value exports);

/* Packet captures on this host: capture.c. */
bool export_capture(napi_env env, napi_value exports);

/* IPv6 neighbours of this host: neighbours.c. */
bool export_neighbours(napi_env env, napi_value exports);

/* Messages to the service manager: notify.c. */
bool export_notify(napi_env env, napi_value exports);

/* Certificates of TLS servers: tls_peer.c. */
bool export_tls_peer(napi_env env, napi_value exports);

#endif
