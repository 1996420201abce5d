package touchstone;

import io.grpc.Attributes;
import io.grpc.EquivalentAddressGroup;
import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.NameResolverRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads {@code ipv4:10.0.0.1:7443,10.0.0.2:7443}, as gRPC does in other languages. gRPC for Java 1.41 reads no such
 * lists.
 */
final class AddressList extends NameResolverProvider {
  static final List<String> SCHEMES = List.of("ipv4", "ipv6");

  static {
    SCHEMES.forEach(scheme -> NameResolverRegistry.getDefaultRegistry().register(new AddressList(scheme)));
  }

  private final String scheme;

  private AddressList(String scheme) {
    this.scheme = scheme;
  }

  /** Loads this class, which makes the lists known to gRPC. */
  static void register() {}

  @Override
  protected boolean isAvailable() {
    return true;
  }

  /** Lets a version of gRPC that reads such lists itself go first. */
  @Override
  protected int priority() {
    return 1;
  }

  @Override
  public String getDefaultScheme() {
    return scheme;
  }

  @Override
  public NameResolver newNameResolver(URI target, NameResolver.Args args) {
    String[] addresses = target.getSchemeSpecificPart().replaceFirst("^/+", "").split(",", -1);
    List<EquivalentAddressGroup> groups = new ArrayList<>();
    for (String address : addresses) {
      InetAddress numeric = Targets.numeric(Targets.host(address));
      String port = address.substring(address.lastIndexOf(':') + 1);
      if (numeric == null || !port.matches("\\d{1,5}")) {
        throw new IllegalArgumentException(target + ": \"" + address + "\" is not an address and a port");
      }
      // TLS expects the certificate of each server to name that server's address.
      Attributes authority = Attributes.newBuilder().set(EquivalentAddressGroup.ATTR_AUTHORITY_OVERRIDE, address).build();
      groups.add(new EquivalentAddressGroup(new InetSocketAddress(numeric, Integer.parseInt(port)), authority));
    }
    return new Resolver(addresses[0], groups);
  }

  private static final class Resolver extends NameResolver {
    private final String authority;
    private final List<EquivalentAddressGroup> groups;

    Resolver(String authority, List<EquivalentAddressGroup> groups) {
      this.authority = authority;
      this.groups = groups;
    }

    @Override
    public String getServiceAuthority() {
      return authority;
    }

    @Override
    public void start(Listener2 listener) {
      listener.onResult(ResolutionResult.newBuilder().setAddresses(groups).build());
    }

    @Override
    public void shutdown() {}
  }
}
