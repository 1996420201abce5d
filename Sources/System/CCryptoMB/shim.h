// Intel's crypto_mb, if `make release ACCELERATED=1` builds; otherwise nothing.
#pragma once

#if __has_include(<crypto_mb/ec_nistp256.h>)
// Without the functions that take OpenSSL's types.
#define BN_OPENSSL_DISABLE
#include <crypto_mb/cpu_features.h>
#include <crypto_mb/ec_nistp256.h>
#include <crypto_mb/version.h>

// Swift does not import macros that are expressions of several others.
static inline int ccryptomb_has_avx512_ifma(void) {
  return (mbx_get_cpu_features() & MBX_AVX512_GENERAL_ISA) == MBX_AVX512_GENERAL_ISA;
}
#endif
