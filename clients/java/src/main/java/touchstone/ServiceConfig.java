package touchstone;

import com.google.protobuf.DescriptorProtos.MethodOptions.IdempotencyLevel;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Says how gRPC picks an address, and which calls it repeats (gRFC A6), as the .proto files promise.
 *
 * <p>A call that ended with ABORTED had no effect. One that ended with UNAVAILABLE may have had one: it is repeated
 * only if the method's {@code idempotency_level} allows that.
 */
final class ServiceConfig {
  private ServiceConfig() {}

  static Map<String, Object> of(String balancing) {
    Map<String, Object> config = new HashMap<>();
    config.put("methodConfig", List.of(
        Map.of("name", repeatable(), "retryPolicy", retry("ABORTED", "UNAVAILABLE")),
        Map.of("name", List.of(Map.of()), "retryPolicy", retry("ABORTED"))));
    // While most calls fail, gRPC makes fewer retries.
    config.put("retryThrottling", Map.of("maxTokens", 10.0, "tokenRatio", 0.1));
    if (!balancing.isEmpty()) {
      config.put("loadBalancingConfig", List.of(Map.of(balancing, Map.of())));
    }
    return config;
  }

  private static Map<String, Object> retry(String... codes) {
    return Map.of(
        "maxAttempts", 3.0,
        "initialBackoff", "0.1s",
        "maxBackoff", "2s",
        "backoffMultiplier", 2.0,
        "retryableStatusCodes", List.of(codes));
  }

  static List<Map<String, String>> repeatable() {
    List<Map<String, String>> names = new ArrayList<>();
    for (FileDescriptor file : TouchstoneMethods.FILES) {
      for (ServiceDescriptor service : file.getServices()) {
        for (MethodDescriptor method : service.getMethods()) {
          if (method.getOptions().getIdempotencyLevel() != IdempotencyLevel.IDEMPOTENCY_UNKNOWN) {
            names.add(Map.of("service", service.getFullName(), "method", method.getName()));
          }
        }
      }
    }
    return names;
  }
}
