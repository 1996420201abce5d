package touchstone;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Calls a service. Threads may share it.
 *
 * <p>Each method takes the request's message and returns the answer's; both are in {@code touchstone.v1}. It throws a
 * {@link TouchstoneException} if there is no answer.
 */
public final class TouchstoneClient extends TouchstoneMethods implements AutoCloseable {
  private final ManagedChannel connection;
  private final String applicationId;
  private final Duration timeout;
  private final Metadata headers;
  private final Channel channel;

  private TouchstoneClient(ManagedChannel connection, String applicationId, Duration timeout, Metadata headers) {
    this.connection = connection;
    this.applicationId = applicationId;
    this.timeout = timeout;
    this.headers = headers;
    channel = ClientInterceptors.intercept(
        connection, MetadataUtils.newAttachHeadersInterceptor(headers), new Deadlines(timeout));
  }

  /**
   * Begins a client.
   *
   * @param target {@code host:port}, or another name of gRPC's: {@code dns:///touchstone:7443} for all of a name,
   *     {@code ipv4:10.0.0.1:7443,10.0.0.2:7443} for a list.
   */
  public static Builder builder(String target) {
    return new Builder(target);
  }

  /** Returns a client on the same connection, whose calls take at most this long with all their retries. */
  public TouchstoneClient withTimeout(Duration timeout) {
    return new TouchstoneClient(connection, applicationId, timeout, headers);
  }

  /**
   * Returns a client on the same connection, for texts in a person's language, as in Accept-Language:
   * {@code zh-Hans, en;q=0.5}.
   */
  public TouchstoneClient withLanguages(String languages) {
    Metadata changed = new Metadata();
    changed.merge(headers);
    changed.discardAll(Builder.LANGUAGES);
    Builder.put(changed, Builder.LANGUAGES, "languages", languages);
    return new TouchstoneClient(connection, applicationId, timeout, changed);
  }

  /**
   * Returns the channel of the calls, for gRPC's own asynchronous stubs. It sends the key, bounds each call and repeats what
   * may be repeated. Requests of such stubs must name the application, and {@link TouchstoneException#of} reads
   * their errors.
   */
  public Channel channel() {
    return channel;
  }

  /** Ends running calls, also those of clients that share the connection. */
  @Override
  public void close() {
    connection.shutdownNow();
  }

  @Override
  <Request extends Message, Answer> Answer call(MethodDescriptor<Request, Answer> method, Request request) {
    try {
      return ClientCalls.blockingUnaryCall(channel, method, CallOptions.DEFAULT, withApplication(request));
    } catch (StatusRuntimeException error) {
      throw TouchstoneException.of(error);
    }
  }

  @Override
  <Request extends Message, Answer> AnswerStream<Answer> open(MethodDescriptor<Request, Answer> method, Request request) {
    return new AnswerStream<>(channel, method, withApplication(request));
  }

  /**
   * Names the client's application if the request names none: in its own field, and in {@code filter} and
   * {@code begin}.
   */
  @SuppressWarnings("unchecked")
  private <Request extends Message> Request withApplication(Request request) {
    if (applicationId.isEmpty()) {
      return request;
    }
    Message.Builder filled = request.toBuilder();
    name(filled);
    for (FieldDescriptor field : request.getDescriptorForType().getFields()) {
      if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE
          && !field.isRepeated()
          && field.getMessageType().findFieldByName(APPLICATION) != null) {
        Message.Builder inner = ((Message) filled.getField(field)).toBuilder();
        name(inner);
        filled.setField(field, inner.build());
      }
    }
    return (Request) filled.build();
  }

  private void name(Message.Builder message) {
    Descriptor type = message.getDescriptorForType();
    FieldDescriptor field = type.findFieldByName(APPLICATION);
    if (field != null && message.getField(field).equals("")) {
      message.setField(field, applicationId);
    }
  }

  private static final String APPLICATION = "application_id";

  /** Sets a deadline for a call that has none. A stream has no end and gets no deadline. */
  private static final class Deadlines implements ClientInterceptor {
    private final Duration timeout;

    Deadlines(Duration timeout) {
      this.timeout = timeout;
    }

    @Override
    public <Request, Answer> ClientCall<Request, Answer> interceptCall(
        MethodDescriptor<Request, Answer> method, CallOptions options, Channel next) {
      boolean isBounded = options.getDeadline() != null || method.getType() != MethodDescriptor.MethodType.UNARY;
      return next.newCall(
          method, isBounded ? options : options.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS));
    }
  }

  /** The settings of a client. */
  public static final class Builder {
    private static final Metadata.Key<String> KEY = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    private static final Metadata.Key<String> LANGUAGES =
        Metadata.Key.of("accept-language", Metadata.ASCII_STRING_MARSHALLER);

    private final String target;
    private final List<ClientInterceptor> interceptors = new ArrayList<>();
    private ChannelCredentials credentials = InsecureChannelCredentials.create();
    private String applicationId = "";
    private String key = "";
    private String languages = "";
    private String balancing = "";
    private Duration timeout = Duration.ofSeconds(10);
    private Consumer<ManagedChannelBuilder<?>> adjustment = builder -> {};

    private Builder(String target) {
      this.target = target;
    }

    /** Sets the application of each request that names none. */
    public Builder applicationId(String applicationId) {
      this.applicationId = applicationId;
      return this;
    }

    /**
     * Encrypts the calls: {@code TlsChannelCredentials} with the authorities of the service's certificate, and with the caller's
     * own certificate if it has one. Without it, calls go in plaintext, which the service takes on its own machine
     * alone.
     */
    public Builder credentials(ChannelCredentials credentials) {
      this.credentials = credentials;
      return this;
    }

    /**
     * Sets the caller's key, as {@code touchstone callers new-key} printed it. It never goes to another machine in
     * plaintext.
     */
    public Builder key(String key) {
      this.key = key;
      return this;
    }

    /** Sets the time from a call to its answer, with all retries. Default: 10 seconds. */
    public Builder timeout(Duration timeout) {
      this.timeout = timeout;
      return this;
    }

    /** Sets the languages of texts that the person reads, as in Accept-Language. */
    public Builder languages(String languages) {
      this.languages = languages;
      return this;
    }

    /**
     * Sets gRPC's name of a way to share calls among the target's addresses: {@code round_robin} for replicas. Without it
     * all calls go to one address that answers.
     */
    public Builder balancing(String policy) {
      balancing = policy;
      return this;
    }

    /** Adds gRPC's interceptors, which see each call: to count calls, or to send the header of a trace. */
    public Builder interceptors(ClientInterceptor... interceptors) {
      Collections.addAll(this.interceptors, interceptors);
      return this;
    }

    /** Changes gRPC's own builder at the end: executors, keepalive, sizes. It may replace what the client has set. */
    public Builder channel(Consumer<ManagedChannelBuilder<?>> adjustment) {
      this.adjustment = adjustment;
      return this;
    }

    /** Makes the client, which connects at the first call. */
    public TouchstoneClient build() {
      boolean isPlaintext = credentials instanceof InsecureChannelCredentials;
      if (!key.isEmpty() && isPlaintext && !Targets.isLocal(target)) {
        throw new IllegalArgumentException("no key is sent to " + target + " in plaintext: give the client credentials");
      }
      Metadata headers = new Metadata();
      put(headers, KEY, "key", key.isEmpty() ? "" : "Bearer " + key);
      put(headers, LANGUAGES, "languages", languages);
      AddressList.register();
      ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder(target, credentials)
          .userAgent("touchstone-client-java")
          .enableRetry()
          .disableServiceConfigLookUp()
          .defaultServiceConfig(ServiceConfig.of(balancing))
          .intercept(interceptors);
      if (isPlaintext) {
        // A proxy of the environment would get the key.
        builder.proxyDetector(address -> null);
      }
      adjustment.accept(builder);
      return new TouchstoneClient(builder.build(), applicationId, timeout, headers);
    }

    /** Refuses a value that no header can hold: gRPC would send "?". The error does not quote it, as it may be the key. */
    private static void put(Metadata headers, Metadata.Key<String> header, String name, String value) {
      if (!value.chars().allMatch(letter -> letter >= ' ' && letter <= '~')) {
        throw new IllegalArgumentException(name + " has a line break or another character that no header has");
      }
      if (!value.isEmpty()) {
        headers.put(header, value);
      }
    }
  }
}
