package touchstone;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.Timestamp;
import io.grpc.TlsChannelCredentials;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import touchstone.v1.*;

/**
 * The client in front of a service with TLS. The properties "target", "authority" and "key" name it; the caller is the
 * shop.
 */
public class ServiceTest {
  private static final String TARGET = System.getProperty("target");
  private TouchstoneClient client;

  private static TouchstoneClient.Builder builder(String target) throws IOException {
    return TouchstoneClient.builder(target).applicationId("shop").key(System.getProperty("key"))
        .credentials(TlsChannelCredentials.newBuilder().trustManager(new File(System.getProperty("authority"))).build());
  }

  @Before
  public void open() throws IOException {
    client = builder(TARGET).build();
  }

  @After
  public void close() {
    client.close();
  }

  @Test
  public void wrongFieldsAreNamed() {
    TouchstoneException.InvalidArgument error = assertThrows(TouchstoneException.InvalidArgument.class, () ->
        client.beginEvaluation(BeginEvaluationRequest.newBuilder()
            .setPolicy("login").setPosture(DevicePosture.newBuilder().setPlatform("ios")).build()));
    assertTrue(error.getFields().keySet().containsAll(List.of("localized_reason", "posture.os_version")));
    assertEquals(1, error.getMessage().split("localized_reason: ", -1).length - 1);
  }

  @Test
  public void aRefusalHasItsReasonAndATextInThePersonsLanguage() throws IOException {
    try (TouchstoneClient stranger = builder(TARGET).key("tsk_wrong").build()) {
      TouchstoneException error = assertThrows(TouchstoneException.Unauthenticated.class, () ->
          stranger.getSigningKeys(GetSigningKeysRequest.getDefaultInstance()));
      assertTrue(error.getReason().startsWith("KEY_"));
    }
    assertEquals("APPLICATION_NOT_GRANTED", assertThrows(TouchstoneException.PermissionDenied.class, () ->
        client.getProfile(GetProfileRequest.newBuilder().setApplicationId("bank").setProfileId("anna").build())).getReason());
    assertThrows(TouchstoneException.NotFound.class, () ->
        client.getProfile(GetProfileRequest.newBuilder().setProfileId("unknown").build()));
    PrimaryAuthentication old = PrimaryAuthentication.newBuilder()
        .setMethod("password").setAuthenticatedAt(Timestamp.newBuilder().setSeconds(1)).build();
    DevicePosture posture = DevicePosture.newBuilder().setPlatform("android").setOsVersion("14").setBiometryAvailable(true)
        .setBiometryEnrolled(true).setPasscodeSet(true).build();
    TouchstoneException error = assertThrows(TouchstoneException.FailedPrecondition.class, () ->
        client.withLanguages("zh-Hans").beginBinding(BeginBindingRequest.newBuilder().setProfileId("anna")
            .setDeviceId(UUID.randomUUID().toString()).setPrimary(old).setPosture(posture).build()));
    assertEquals("PRIMARY_AUTHENTICATION_TOO_OLD", error.getReason());
    assertTrue(error.getText().chars().anyMatch(letter -> letter >= 0x4E00 && letter <= 0x9FFF));
  }

  @Test
  public void itFollowsTheAuditLog() {
    List<Event> listed = client.listEvents(ListEventsRequest.getDefaultInstance()).getEventsList();
    assertFalse(listed.isEmpty());
    AnswerStream<WatchEventsResponse> events = client.watchEvents(WatchEventsRequest.getDefaultInstance());
    assertEquals(listed.get(0).getSequence(), events.next().getEvent().getSequence());
    events.close();
    assertFalse(events.hasNext());
    assertThrows(NoSuchElementException.class, events::next);
    try (AnswerStream<WatchEventsResponse> beyond =
        client.watchEvents(WatchEventsRequest.newBuilder().setAfterSequence(1L << 40).build())) {
      assertEquals("BEYOND_LOG_END", assertThrows(TouchstoneException.OutOfRange.class, beyond::next).getReason());
    }
  }

  @Test
  public void aWaitingReaderIsEndedByAnotherThread() throws InterruptedException {
    AnswerStream<WatchEventsResponse> events = client.watchEvents(WatchEventsRequest.newBuilder()
        .setFilter(EventFilter.newBuilder().addKinds("profile.")).build());
    boolean[] hasNext = {true};
    Thread reader = new Thread(() -> hasNext[0] = events.hasNext());
    reader.start();
    events.close();
    reader.join();
    assertFalse(hasNext[0]);
  }

  @Test
  public void stubsOfGrpcShareTheConnection() throws ExecutionException, InterruptedException {
    EvaluationServiceGrpc.EvaluationServiceFutureStub stub = EvaluationServiceGrpc.newFutureStub(client.channel());
    ListenableFuture<CanEvaluatePolicyResponse> future =
        stub.canEvaluatePolicy(CanEvaluatePolicyRequest.newBuilder().setApplicationId("bank").setPolicy("login").build());
    ExecutionException failed = assertThrows(ExecutionException.class, future::get);
    assertEquals("APPLICATION_NOT_GRANTED", TouchstoneException.of(failed.getCause()).getReason());
  }

  @Test
  public void aListOfAddressesIsEncryptedToo() throws IOException {
    String port = TARGET.substring(TARGET.lastIndexOf(':'));
    try (TouchstoneClient listed = builder("ipv4:127.0.0.1" + port).build()) {
      assertFalse(listed.getSigningKeys(GetSigningKeysRequest.getDefaultInstance()).getJwkSet().isEmpty());
    }
  }
}
