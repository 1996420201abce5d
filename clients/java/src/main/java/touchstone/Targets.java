package touchstone;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** Says which targets are this machine's, and reads addresses. */
final class Targets {
  private Targets() {}

  /** Returns true if all addresses are this machine's: loopback, or a Unix socket. */
  static boolean isLocal(String target) {
    int colon = target.indexOf(':');
    String scheme = colon < 0 ? "" : target.substring(0, colon);
    if (scheme.equals("unix")) {
      return true;
    }
    boolean isName = scheme.equals("dns") || AddressList.SCHEMES.contains(scheme);
    String addresses = isName ? target.substring(colon + 1).replaceFirst("^/+", "") : target;
    for (String address : addresses.split(",", -1)) {
      InetAddress numeric = numeric(host(address));
      if (!host(address).equals("localhost") && (numeric == null || !numeric.isLoopbackAddress())) {
        return false;
      }
    }
    return true;
  }

  /** Returns the host of {@code host:port} and {@code [host]:port}; without a port, the text itself. */
  static String host(String address) {
    if (address.matches("\\[[^\\]]*](:\\d+)?")) {
      return address.substring(1, address.indexOf(']'));
    }
    int colon = address.lastIndexOf(':');
    return colon < 0 ? address : address.substring(0, colon);
  }

  /** Returns the address that the digits mean, or null. Looks up no name. */
  static InetAddress numeric(String host) {
    try {
      boolean isNumeric = host.matches("\\d{1,3}(\\.\\d{1,3}){3}") || host.matches("[0-9a-fA-F:]*:[0-9a-fA-F:.]*");
      return isNumeric ? InetAddress.getByName(host) : null;
    } catch (UnknownHostException notAnAddress) {
      return null;
    }
  }
}
