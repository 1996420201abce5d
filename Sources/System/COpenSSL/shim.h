// What Swift cannot call of OpenSSL: function-like macros, and parameters that keep pointers to their names.
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
#include <string.h>
#include <openssl/x509v3.h>

static const uint64_t copenssl_no_compression = SSL_OP_NO_COMPRESSION;
static const uint64_t copenssl_no_renegotiation = SSL_OP_NO_RENEGOTIATION;
static const uint64_t copenssl_cipher_server_preference = SSL_OP_CIPHER_SERVER_PREFERENCE;
static const uint64_t copenssl_prioritize_chacha = SSL_OP_PRIORITIZE_CHACHA;
static const uint64_t copenssl_ignore_unexpected_eof = SSL_OP_IGNORE_UNEXPECTED_EOF;

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

// Whether a key in DER spells its elliptic curve out, or is of SM2, which may. OpenSSL 3 reads keys together with their
// certificates, and takes a square root for each compressed point: modulo a prime of the sender's choice (k * 2^600 + 1) that is
// 100 ms. What follows the algorithm must be the curve's name; only the content of an identifier has a single encoding.
static inline int copenssl_spells_curve_out(const void *bytes, size_t count) {
  static const unsigned char elliptic_curve[] = {0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01};
  static const unsigned char sm2[] = {0x2A, 0x81, 0x1C, 0xCF, 0x55, 0x01, 0x82, 0x2D};
  static const unsigned char object_identifier = 0x06;
  const unsigned char *next = bytes, *end = next + count;
  for (; end - next > (long)sizeof elliptic_curve; next++) {
    if (memcmp(next, elliptic_curve, sizeof elliptic_curve) == 0 && next[sizeof elliptic_curve] != object_identifier) return 1;
    if (memcmp(next, sm2, sizeof sm2) == 0) return 1;
  }
  return 0;
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

/// HMAC-SHA-256 with this key.
static inline int copenssl_set_hmac_key(EVP_MAC_CTX *mac, const unsigned char *key, size_t count) {
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)key, count),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA256", 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(mac, parameters);
}

/// OPENSSL_free, a macro.
static inline void copenssl_free(void *memory) {
  OPENSSL_free(memory);
}
