package touchstone;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import com.google.protobuf.UnknownFieldSet;
import io.grpc.Grpc;
import io.grpc.HandlerRegistry;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.ServerCalls;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.net.ProxySelector;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.junit.After;
import org.junit.Test;
import touchstone.v1.BeginEvaluationRequest;
import touchstone.v1.ExplainEvaluationRequest;
import touchstone.v1.GetSigningKeysRequest;
import touchstone.v1.ListEventsRequest;
import touchstone.v1.SubmitAttemptRequest;

/** What the client promises beside a service that a test plays. */
public class ClientTest {
  private final List<AutoCloseable> opened = new ArrayList<>();

  @After
  public void close() throws Exception {
    for (AutoCloseable one : opened) {
      one.close();
    }
  }

  /** Refuses each call the first time by the status, and counts the calls of each method. */
  private final class Failing extends HandlerRegistry {
    final Map<String, Integer> calls = new ConcurrentHashMap<>();
    final Map<String, byte[]> requests = new ConcurrentHashMap<>();
    final Map<String, Metadata> headers = new ConcurrentHashMap<>();
    final Server server;
    private final Status status;

    Failing(Status status) throws IOException {
      this.status = status;
      server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
          .fallbackHandlerRegistry(this)
          .directExecutor()
          .build()
          .start();
      opened.add(server::shutdownNow);
    }

    String target() {
      return "127.0.0.1:" + server.getPort();
    }

    TouchstoneClient client() {
      return opened(TouchstoneClient.builder(target()).applicationId("shop"));
    }

    @Override
    public ServerMethodDefinition<?, ?> lookupMethod(String name, String authority) {
      io.grpc.MethodDescriptor<byte[], byte[]> method =
          io.grpc.MethodDescriptor.newBuilder(new Bytes(), new Bytes())
              .setFullMethodName(name)
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .build();
      ServerCallHandler<byte[], byte[]> handler = ServerCalls.asyncUnaryCall((request, answer) -> {
        String method1 = name.substring(name.indexOf('/') + 1);
        requests.put(method1, request);
        if (calls.merge(method1, 1, Integer::sum) == 1) {
          answer.onError(status.asRuntimeException());
        } else {
          answer.onNext(new byte[0]);
          answer.onCompleted();
        }
      });
      ServerCallHandler<byte[], byte[]> noting = (call, metadata) -> {
        headers.put(name.substring(name.indexOf('/') + 1), metadata);
        return handler.startCall(call, metadata);
      };
      return ServerMethodDefinition.create(method, noting);
    }
  }

  private static final class Bytes implements io.grpc.MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] bytes) {
      return new java.io.ByteArrayInputStream(bytes);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException error) {
        throw new IllegalStateException(error);
      }
    }
  }

  private TouchstoneClient opened(TouchstoneClient.Builder builder) {
    TouchstoneClient client = builder.build();
    opened.add(client);
    return client;
  }

  private static final BeginEvaluationRequest BEGIN = BeginEvaluationRequest.newBuilder().setPolicy("login").build();
  private static final SubmitAttemptRequest SUBMIT =
      SubmitAttemptRequest.newBuilder().setEvaluation(ByteString.copyFromUtf8("1")).build();
  private static final GetSigningKeysRequest KEYS = GetSigningKeysRequest.getDefaultInstance();

  @Test
  public void itHasEveryMethodOfTheApi() {
    Map<String, Method> declared = new java.util.HashMap<>();
    for (Method method : TouchstoneMethods.class.getMethods()) {
      declared.put(method.getName(), method);
    }
    int count = 0;
    for (FileDescriptor file : TouchstoneMethods.FILES) {
      for (ServiceDescriptor service : file.getServices()) {
        for (MethodDescriptor method : service.getMethods()) {
          String name = Character.toLowerCase(method.getName().charAt(0)) + method.getName().substring(1);
          Method found = declared.get(name);
          assertEquals(name, method.getInputType().getName(), found.getParameterTypes()[0].getSimpleName());
          String answer = method.isServerStreaming() ? "AnswerStream" : method.getOutputType().getName();
          assertEquals(name, answer, found.getReturnType().getSimpleName());
          count++;
        }
      }
    }
    assertTrue(count + " methods", count >= 25);
  }

  @Test
  public void onlyWhatMayHappenTwiceIsRepeatedAfterUnavailable() throws IOException {
    Failing service = new Failing(Status.UNAVAILABLE);
    service.client().beginEvaluation(BEGIN);
    TouchstoneClient client = service.client();
    assertThrows(TouchstoneException.Unavailable.class, () -> client.submitAttempt(SUBMIT));
    assertEquals(Map.of("BeginEvaluation", 2, "SubmitAttempt", 1), service.calls);
  }

  @Test
  public void everyMethodIsRepeatedAfterAborted() throws IOException {
    Failing service = new Failing(Status.ABORTED);
    service.client().submitAttempt(SUBMIT);
    assertEquals(Map.of("SubmitAttempt", 2), service.calls);
  }

  @Test
  public void whatMayHappenTwiceIsSaidByTheProtos() {
    Set<String> names = ServiceConfig.repeatable().stream().map(name -> name.get("method")).collect(Collectors.toSet());
    for (String once : List.of(
        "SubmitAttempt", "CompleteBinding", "SetSecret", "RemoveSecret", "SetUnlockSettings", "ConsumeToken")) {
      assertFalse(once, names.contains(once));
    }
    assertTrue(names.containsAll(List.of("BeginEvaluation", "GetProfile")) && names.size() >= 15);
  }

  @Test
  public void callsAreSharedAmongReplicasIfThatIsWanted() throws IOException {
    for (String balancing : List.of("", "round_robin")) {
      Failing first = new Failing(Status.ABORTED);
      Failing second = new Failing(Status.ABORTED);
      String target = "ipv4:" + first.target() + "," + second.target();
      TouchstoneClient client = opened(TouchstoneClient.builder(target).balancing(balancing));
      for (int i = 0; i < 20; i++) {
        client.getSigningKeys(KEYS);
      }
      int serving = (first.calls.isEmpty() ? 0 : 1) + (second.calls.isEmpty() ? 0 : 1);
      assertEquals(balancing, balancing.isEmpty() ? 1 : 2, serving);
    }
  }

  @Test
  public void aListWithoutAPortIsRefused() {
    for (String target : List.of("ipv4:10.0.0.1", "ipv4:shop:7443", "ipv4:10.0.0.1:7443,", "ipv4:10.0.0.1:70000")) {
      assertThrows(target, IllegalArgumentException.class, () -> TouchstoneClient.builder(target).build());
    }
  }

  @Test
  public void aCallEndsInTime() throws IOException {
    // The kernel accepts there, and no program answers.
    try (ServerSocket unanswered = new ServerSocket(0)) {
      TouchstoneClient client = opened(
          TouchstoneClient.builder("127.0.0.1:" + unanswered.getLocalPort()).timeout(Duration.ofMillis(200)));
      assertThrows(TouchstoneException.DeadlineExceeded.class, () -> client.getSigningKeys(KEYS));
      TouchstoneClient patient = client.withTimeout(Duration.ofMillis(1));
      assertThrows(TouchstoneException.DeadlineExceeded.class, () -> patient.getSigningKeys(KEYS));
    }
  }

  @Test
  public void theApplicationIsNamedWhereTheRequestNamesNone() throws Exception {
    Failing service = new Failing(Status.ABORTED);
    TouchstoneClient client = service.client();
    client.beginEvaluation(BEGIN);
    assertEquals("shop", BeginEvaluationRequest.parseFrom(service.requests.get("BeginEvaluation")).getApplicationId());
    client.beginEvaluation(BEGIN.toBuilder().setApplicationId("bank").build());
    assertEquals("bank", BeginEvaluationRequest.parseFrom(service.requests.get("BeginEvaluation")).getApplicationId());
    client.listEvents(ListEventsRequest.getDefaultInstance());
    assertEquals("shop", ListEventsRequest.parseFrom(service.requests.get("ListEvents")).getFilter().getApplicationId());
    client.explainEvaluation(ExplainEvaluationRequest.newBuilder().setBegin(BEGIN).build());
    assertEquals("shop", ExplainEvaluationRequest.parseFrom(service.requests.get("ExplainEvaluation")).getBegin().getApplicationId());
    assertEquals("login", ExplainEvaluationRequest.parseFrom(service.requests.get("ExplainEvaluation")).getBegin().getPolicy());
  }

  @Test
  public void keyAndLanguagesAreHeaders() throws IOException {
    Failing service = new Failing(Status.ABORTED);
    TouchstoneClient client = opened(TouchstoneClient.builder(service.target()).key("tsk_secret").languages("de"));
    client.withLanguages("zh-Hans").getSigningKeys(KEYS);
    Metadata headers = service.headers.get("GetSigningKeys");
    assertEquals("Bearer tsk_secret", headers.get(key("authorization")));
    List<String> languages = new ArrayList<>();
    headers.getAll(key("accept-language")).forEach(languages::add);
    assertEquals(List.of("zh-Hans"), languages);
    assertTrue(headers.get(key("user-agent")).startsWith("touchstone-client-java"));
  }

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  @Test
  public void noKeyGoesToAnotherMachineInPlaintext() throws Exception {
    Map<String, Boolean> targets = Map.ofEntries(
        Map.entry("localhost:7443", true), Map.entry("127.0.0.1:7443", true), Map.entry("[::1]:7443", true),
        Map.entry("dns:///localhost:7443", true), Map.entry("ipv4:127.0.0.1:7443,127.0.0.2:7443", true),
        Map.entry("unix:/run/touchstone.sock", true), Map.entry("ipv4:127.0.0.1:7443,10.0.0.1:7443", false),
        Map.entry("touchstone:7443", false), Map.entry("10.0.0.1:7443", false), Map.entry("127.0.0.1.example.org:7443", false),
        Map.entry("localhost.example.org", false), Map.entry("dns:///touchstone:7443", false),
        Map.entry("dns://localhost/touchstone:7443", false), Map.entry("[fe80::1]:7443", false), Map.entry("[::1]@10.0.0.1:7443", false),
        Map.entry("localhost:@10.0.0.1:7443", false), Map.entry("", false));
    for (Map.Entry<String, Boolean> target : targets.entrySet()) {
      assertEquals(target.getKey(), target.getValue(), Targets.isLocal(target.getKey()));
    }
    TouchstoneClient.Builder elsewhere = TouchstoneClient.builder("touchstone:7443").key("tsk_secret");
    IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, elsewhere::build);
    assertFalse(refused.getMessage().contains("tsk_"));
    opened(elsewhere.credentials(TlsChannelCredentials.create()));
    opened(TouchstoneClient.builder("touchstone:7443"));
  }

  @Test
  public void whatNoHeaderHoldsIsRefusedWithoutTheKeyInTheError() {
    for (String bad : List.of("tsk_secret\n", "tsk_secret\0", "tsk_secreté")) {
      for (TouchstoneClient.Builder builder : List.of(
          TouchstoneClient.builder("localhost:7443").key(bad), TouchstoneClient.builder("localhost:7443").languages(bad))) {
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, builder::build);
        assertTrue(refused.getMessage().contains("no header has") && !refused.getMessage().contains("tsk_"));
      }
      TouchstoneClient client = opened(TouchstoneClient.builder("localhost:7443"));
      assertThrows(IllegalArgumentException.class, () -> client.withLanguages(bad));
    }
  }

  @Test
  public void noProxyOfTheEnvironmentGetsACallInPlaintext() throws IOException {
    List<URI> asked = new ArrayList<>();
    ProxySelector before = ProxySelector.getDefault();
    ProxySelector.setDefault(new ProxySelector() {
      @Override
      public synchronized List<java.net.Proxy> select(URI uri) {
        asked.add(uri);
        return List.of(java.net.Proxy.NO_PROXY);
      }

      @Override
      public void connectFailed(URI uri, SocketAddress address, IOException error) {}
    });
    try {
      Failing service = new Failing(Status.ABORTED);
      service.client().getSigningKeys(KEYS);
      assertEquals(List.of(), asked);
      TouchstoneClient encrypted = opened(
          TouchstoneClient.builder("localhost:" + service.server.getPort()).credentials(TlsChannelCredentials.create()));
      assertThrows(TouchstoneException.Unavailable.class, () -> encrypted.getSigningKeys(KEYS));
      assertFalse("with TLS gRPC looks for a proxy", asked.isEmpty());
    } finally {
      ProxySelector.setDefault(before);
    }
  }

  private static UnknownFieldSet message(Object... fields) {
    UnknownFieldSet.Builder message = UnknownFieldSet.newBuilder();
    for (int i = 0; i < fields.length; i += 2) {
      UnknownFieldSet.Field.Builder field = UnknownFieldSet.Field.newBuilder();
      Object value = fields[i + 1];
      if (value instanceof Long) {
        field.addVarint((Long) value);
      } else {
        field.addLengthDelimited(
            value instanceof UnknownFieldSet ? ((UnknownFieldSet) value).toByteString() : ByteString.copyFromUtf8((String) value));
      }
      message.mergeField((int) fields[i], field.build());
    }
    return message.build();
  }

  private static TouchstoneException refused(byte[] details) {
    Metadata trailers = new Metadata();
    trailers.put(Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER), details);
    return TouchstoneException.of(new StatusRuntimeException(Status.RESOURCE_EXHAUSTED.withDescription("full"), trailers));
  }

  @Test
  public void anErrorHasEveryDetail() {
    String prefix = "type.googleapis.com/google.rpc.";
    UnknownFieldSet status = message(
        1, 8L, 2, "full",
        3, message(1, prefix + "ErrorInfo", 2, message(1, "A_REASON", 2, "touchstone", 3, message(1, "a", 2, "b"))),
        3, message(1, prefix + "ErrorInfo", 2, message(1, "A_SECOND_REASON")),
        3, message(1, prefix + "BadRequest", 2, message(1, message(1, "a.b", 2, "is empty"))),
        3, message(1, prefix + "RetryInfo", 2, message(1, message(1, 1L, 2, 500_000_000L))),
        3, message(1, prefix + "QuotaFailure", 2, message(1, message(1, "application:shop", 2, "too many"))),
        3, message(1, prefix + "LocalizedMessage", 2, message(1, "en", 2, "Wait.")),
        3, message(1, prefix + "OfALaterVersion", 2, "x"));
    TouchstoneException error = refused(status.toByteArray());
    assertTrue(error instanceof TouchstoneException.ResourceExhausted);
    assertEquals("A_REASON", error.getReason());
    assertEquals(Map.of("a", "b"), error.getMetadata());
    assertEquals(Map.of("a.b", "is empty"), error.getFields());
    assertEquals(Duration.ofMillis(1500), error.getRetryAfter().get());
    assertEquals(List.of("application:shop"), error.getQuotas());
    assertEquals("Wait.", error.getText());
    assertEquals("RESOURCE_EXHAUSTED (A_REASON): full; a.b: is empty", error.getMessage());
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, Status.fromThrowable(error).getCode());
  }

  @Test
  public void unreadableDetailsAreTreatedAsAbsent() {
    for (byte[] bytes : List.of(
        new byte[] {-1, -1}, message(3, "\u0012\u0005x").toByteArray(), "\n".getBytes(StandardCharsets.UTF_8),
        message(3, message(1, "x/google.rpc.RetryInfo", 2, message(1, message(1, Long.MAX_VALUE, 2, Long.MAX_VALUE)))).toByteArray())) {
      TouchstoneException error = refused(bytes);
      assertEquals("full", error.getStatus().getDescription());
      assertTrue(error.getReason().isEmpty() && error.getFields().isEmpty() && error.getRetryAfter().isEmpty());
    }
  }
}
