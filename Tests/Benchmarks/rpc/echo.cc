// The echo that DispatchRPC is measured against, on grpc's C++: one completion queue on one thread, bytes as they are
// (no protobuf), which is the cheapest way of its API to answer a unary call.

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

namespace {

std::string Contents(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// With a certificate and a key TLS, otherwise plaintext.
std::shared_ptr<grpc::ServerCredentials> Credentials(int argc, char** argv) {
  if (argc < 3) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({Contents(argv[2]), Contents(argv[1])});
  return grpc::SslServerCredentials(options);
}

// One call: asked for, read, answered, gone.
class Call {
 public:
  Call(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* queue)
      : service_(service), queue_(queue), stream_(&context_) {
    service_->RequestCall(&context_, &stream_, queue_, queue_, this);
  }

  void Proceed(bool ok) {
    if (!ok || state_ == State::kAnswered) {
      delete this;
    } else if (state_ == State::kAwaited) {
      new Call(service_, queue_);
      state_ = State::kReading;
      stream_.Read(&message_, this);
    } else {
      state_ = State::kAnswered;
      stream_.WriteAndFinish(message_, grpc::WriteOptions(), grpc::Status::OK, this);
    }
  }

 private:
  enum class State { kAwaited, kReading, kAnswered };

  grpc::AsyncGenericService* const service_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  grpc::ByteBuffer message_;
  State state_ = State::kAwaited;
};

}  // namespace

int main(int argc, char** argv) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", Credentials(argc, argv), &port);
  grpc::AsyncGenericService service;
  builder.RegisterAsyncGenericService(&service);
  auto queue = builder.AddCompletionQueue();
  auto server = builder.BuildAndStart();
  if (!server) return 1;
  std::cout << port << std::endl;
  new Call(&service, queue.get());
  void* call = nullptr;
  bool ok = false;
  while (queue->Next(&call, &ok)) static_cast<Call*>(call)->Proceed(ok);
}
