/*
 * The certificates that the peer of a TLS client has sent, as it sent them. Node has two ways to read them. One ends the
 * process on a certificate with a curve that NIST does not name (Node 24 and 26), the other loses the memory of each
 * issuer. So they are read from OpenSSL itself, whose functions Node's program exports: no header of OpenSSL is needed,
 * and one build serves every Node.
 *
 * JavaScript cannot name a connection of OpenSSL. But OpenSSL calls back whenever one is made, and that happens within
 * the constructor of a TLSSocket: right after it, `newestTls` gives the connection's number.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "addon.h"

/* CRYPTO_EX_INDEX_SSL of <openssl/crypto.h>, the same in OpenSSL 1.1 and 3. */
#define INDEX_SSL 0
/* A power of two. Thousands of connections are open at most. */
#define BUCKETS 1024
/* More certificates than any server needs. */
#define MAX_CERTIFICATES 20

typedef void on_event(void *ssl, void *value, void *data, int index, long argl, void *argp);
typedef int on_copy(void *to, const void *from, void **value, int index, long argl, void *argp);

/* OpenSSL's functions; all or none are known. */
static struct {
  int (*get_ex_new_index)(int class_index, long argl, void *argp, on_event *made, on_copy *copied, on_event *freed);
  int (*set_ex_data)(void *data, int index, void *value);
  void *(*peer_chain)(const void *ssl);
  int (*count)(const void *stack);
  void *(*value)(const void *stack, int index);
  int (*to_der)(const void *certificate, unsigned char **out);
} openssl;

struct connection {
  void *ssl;
  uint64_t number;
  struct connection *next;
};

/* Guards all below: worker threads have connections, too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection *by_number[BUCKETS];
static uint64_t last_number;
static bool tried, watching;
/* The number of this thread's newest connection; 0 = none since it was asked for. */
static __thread uint64_t newest;

static void when_made(void *ssl, void *value, void *data, int index, long argl, void *argp) {
  (void)value, (void)argl, (void)argp;
  struct connection *one = malloc(sizeof *one);
  /* Without memory, its certificates are read in Node's way. */
  if (one == NULL || openssl.set_ex_data(data, index, one) != 1) {
    free(one);
    return;
  }
  pthread_mutex_lock(&lock);
  newest = ++last_number;
  struct connection **bucket = &by_number[newest % BUCKETS];
  *one = (struct connection){.ssl = ssl, .number = newest, .next = *bucket};
  *bucket = one;
  pthread_mutex_unlock(&lock);
}

static void when_freed(void *ssl, void *value, void *data, int index, long argl, void *argp) {
  (void)ssl, (void)data, (void)index, (void)argl, (void)argp;
  struct connection *gone = value;
  if (gone == NULL) return; /* made before this addon was loaded */
  pthread_mutex_lock(&lock);
  struct connection **at = &by_number[gone->number % BUCKETS];
  while (*at != NULL && *at != gone) at = &(*at)->next;
  if (*at == gone) *at = gone->next;
  pthread_mutex_unlock(&lock);
  free(gone);
}

/* A copy of a connection would share its entry. Node makes none. */
static int when_copied(void *to, const void *from, void **value, int index, long argl, void *argp) {
  (void)to, (void)from, (void)value, (void)index, (void)argl, (void)argp;
  return 0;
}

static bool find_functions(void) {
  *(void **)&openssl.get_ex_new_index = dlsym(RTLD_DEFAULT, "CRYPTO_get_ex_new_index");
  *(void **)&openssl.set_ex_data = dlsym(RTLD_DEFAULT, "CRYPTO_set_ex_data");
  *(void **)&openssl.peer_chain = dlsym(RTLD_DEFAULT, "SSL_get_peer_cert_chain");
  *(void **)&openssl.count = dlsym(RTLD_DEFAULT, "OPENSSL_sk_num");
  *(void **)&openssl.value = dlsym(RTLD_DEFAULT, "OPENSSL_sk_value");
  *(void **)&openssl.to_der = dlsym(RTLD_DEFAULT, "i2d_X509");
  return openssl.get_ex_new_index != NULL && openssl.set_ex_data != NULL && openssl.peer_chain != NULL &&
         openssl.count != NULL && openssl.value != NULL && openssl.to_der != NULL;
}

/* watchTls(): begins to number connections, once per process. False if this program does not export OpenSSL. */
static napi_value watch_tls(napi_env env, napi_callback_info info) {
  (void)info;
  pthread_mutex_lock(&lock);
  if (!tried) {
    tried = true;
    watching = find_functions() &&
               openssl.get_ex_new_index(INDEX_SSL, 0, NULL, when_made, when_copied, when_freed) >= 0;
  }
  bool done = watching;
  pthread_mutex_unlock(&lock);
  napi_value result = NULL;
  napi_get_boolean(env, done, &result);
  return result;
}

/* newestTls(): the number of this thread's newest connection, 0 if there is none since the last call. */
static napi_value newest_tls(napi_env env, napi_callback_info info) {
  (void)info;
  napi_value result = NULL;
  napi_create_double(env, (double)newest, &result);
  newest = 0;
  return result;
}

static void *ssl_of(uint64_t number) {
  pthread_mutex_lock(&lock);
  struct connection *one = by_number[number % BUCKETS];
  while (one != NULL && one->number != number) one = one->next;
  void *ssl = one == NULL ? NULL : one->ssl;
  pthread_mutex_unlock(&lock);
  return ssl;
}

/*
 * peerCertificates(number): DER of the certificates in the order in which the server sent them; empty before the
 * handshake and after the connection's end. Only for connections of this thread.
 */
static napi_value peer_certificates(napi_env env, napi_callback_info info) {
  size_t given = 1;
  napi_value argument, result;
  double number;
  if (napi_get_cb_info(env, info, &given, &argument, NULL, NULL) != napi_ok || given < 1 ||
      napi_get_value_double(env, argument, &number) != napi_ok || !(number >= 0)) {
    return refuse(env, "peerCertificates(number)");
  }
  if (napi_create_array(env, &result) != napi_ok) return NULL;
  void *ssl = ssl_of((uint64_t)number);
  void *chain = ssl == NULL ? NULL : openssl.peer_chain(ssl);
  int count = chain == NULL ? 0 : openssl.count(chain);
  for (int i = 0; i < count && i < MAX_CERTIFICATES; i++) {
    void *certificate = openssl.value(chain, i);
    int length = openssl.to_der(certificate, NULL);
    /* Without one of them, the next would take its place. */
    if (length <= 0) break;
    unsigned char *bytes;
    napi_value buffer;
    if (napi_create_buffer(env, (size_t)length, (void **)&bytes, &buffer) != napi_ok) return NULL;
    if (openssl.to_der(certificate, &bytes) != length) break;
    uint32_t at;
    if (napi_get_array_length(env, result, &at) != napi_ok || napi_set_element(env, result, at, buffer) != napi_ok) {
      return NULL;
    }
  }
  return result;
}

bool export_tls_peer(napi_env env, napi_value exports) {
  return export_function(env, exports, "watchTls", watch_tls) &&
         export_function(env, exports, "newestTls", newest_tls) &&
         export_function(env, exports, "peerCertificates", peer_certificates);
}
