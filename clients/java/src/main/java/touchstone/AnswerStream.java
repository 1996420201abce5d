package touchstone;

import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.Iterator;
import java.util.NoSuchElementException;

/** A stream of answers. It has no end and no deadline: close it when you no longer read it. */
public final class AnswerStream<Answer> implements Iterator<Answer>, AutoCloseable {
  private final Context.CancellableContext context = Context.current().withCancellation();
  private final Iterator<Answer> answers;
  private volatile boolean isClosed;

  <Request extends Message> AnswerStream(Channel channel, MethodDescriptor<Request, Answer> method, Request request) {
    Context before = context.attach();
    try {
      answers = ClientCalls.blockingServerStreamingCall(channel, method, CallOptions.DEFAULT, request);
    } finally {
      context.detach(before);
    }
  }

  /** Waits for the next answer. Returns false after {@code close}, which any thread may call. */
  @Override
  public boolean hasNext() {
    try {
      return !isClosed && answers.hasNext();
    } catch (StatusRuntimeException error) {
      if (isClosed && error.getStatus().getCode() == Status.Code.CANCELLED) {
        return false;
      }
      throw TouchstoneException.of(error);
    }
  }

  @Override
  public Answer next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return answers.next();
  }

  @Override
  public void close() {
    isClosed = true;
    context.cancel(null);
  }
}
