// What Swift cannot call of OpenSSL: function-like macros.
#pragma once

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

static inline int copenssl_set_min_version(SSL_CTX *context, int version) {
  return (int)SSL_CTX_set_min_proto_version(context, version);
}

static inline int copenssl_set_groups(SSL_CTX *context, const char *names) {
  return (int)SSL_CTX_set1_groups_list(context, names);
}

static inline void copenssl_set_mode(SSL_CTX *context, long mode) {
  SSL_CTX_set_mode(context, mode);
}

static inline void copenssl_set_read_ahead(SSL_CTX *context) {
  SSL_CTX_set_read_ahead(context, 1);
}

static inline void copenssl_set_max_certificate_bytes(SSL_CTX *context, long bytes) {
  SSL_CTX_set_max_cert_list(context, bytes);
}

static inline void copenssl_set_session_cache_mode(SSL_CTX *context, long mode) {
  SSL_CTX_set_session_cache_mode(context, mode);
}

static inline int copenssl_set_server_name(SSL *ssl, const char *name) {
  return (int)SSL_set_tlsext_host_name(ssl, name);
}

static inline void copenssl_set_retry_read(BIO *bio) {
  BIO_set_retry_read(bio);
}

static inline void copenssl_set_retry_write(BIO *bio) {
  BIO_set_retry_write(bio);
}

static inline void copenssl_clear_retry(BIO *bio) {
  BIO_clear_retry_flags(bio);
}
