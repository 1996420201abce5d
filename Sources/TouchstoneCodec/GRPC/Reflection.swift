// reflection.proto: what a server serves, for clients that have no .proto files.

/// Namespace of the grpc.reflection.v1 messages; those of v1alpha are the same, byte for byte.
public enum GRPCReflection {
  public struct Request: WireMessage {
    public enum Question: Hashable, Sendable {
      case fileByFilename(String)
      case fileContainingSymbol(String)
      case fileContainingExtension(ExtensionRequest)
      case allExtensionNumbersOfType(String)
      case listServices(String)
    }

    public var host: String
    public var messageRequest: Question?

    public init(host: String = "", messageRequest: Question? = nil) {
      self.host = host
      self.messageRequest = messageRequest
    }
  }

  public struct ExtensionRequest: WireMessage {
    public var containingType: String
    public var extensionNumber: Int32

    public init(containingType: String = "", extensionNumber: Int32 = 0) {
      self.containingType = containingType
      self.extensionNumber = extensionNumber
    }
  }

  /// Answers ``Request``.
  public struct Response: WireMessage {
    public enum Answer: Hashable, Sendable {
      case fileDescriptorResponse(FileDescriptorResponse)
      case allExtensionNumbersResponse(ExtensionNumberResponse)
      case listServicesResponse(ListServiceResponse)
      case errorResponse(ErrorResponse)
    }

    public var validHost: String
    public var originalRequest: Request?
    public var messageResponse: Answer?

    public init(validHost: String = "", originalRequest: Request? = nil, messageResponse: Answer? = nil) {
      self.validHost = validHost
      self.originalRequest = originalRequest
      self.messageResponse = messageResponse
    }
  }

  public struct FileDescriptorResponse: WireMessage {
    /// google.protobuf.FileDescriptorProto, encoded.
    public var fileDescriptorProto: [[UInt8]]

    public init(fileDescriptorProto: [[UInt8]] = []) {
      self.fileDescriptorProto = fileDescriptorProto
    }
  }

  public struct ExtensionNumberResponse: WireMessage {
    public var baseTypeName: String
    public var extensionNumber: [Int32]

    public init(baseTypeName: String = "", extensionNumber: [Int32] = []) {
      self.baseTypeName = baseTypeName
      self.extensionNumber = extensionNumber
    }
  }

  public struct ListServiceResponse: WireMessage {
    public var service: [ServiceResponse]

    public init(service: [ServiceResponse] = []) {
      self.service = service
    }
  }

  public struct ServiceResponse: WireMessage {
    /// With its package.
    public var name: String

    public init(name: String = "") {
      self.name = name
    }
  }

  public struct ErrorResponse: WireMessage {
    /// A gRPC status code.
    public var errorCode: Int32
    public var errorMessage: String

    public init(errorCode: Int32 = 0, errorMessage: String = "") {
      self.errorCode = errorCode
      self.errorMessage = errorMessage
    }
  }
}
