// How the messages of Reflection.swift and the generated structs correspond.

internal import CTouchstoneProto

extension GRPCReflection.Request: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Reflection__V1__ServerReflectionRequest>) {
    grpc__reflection__v1__server_reflection_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.host, &c.host)
    mapper.oneOf(&value.messageRequest, &c)
  }
}

extension GRPCReflection.Request.Question: OneOf {
  init?(_ c: Grpc__Reflection__V1__ServerReflectionRequest) {
    switch c.message_request_case {
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
      self = .fileByFilename(FieldReader.text(c.file_by_filename))
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
      self = .fileContainingSymbol(FieldReader.text(c.file_containing_symbol))
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
      self = .fileContainingExtension(GRPCReflection.ExtensionRequest(c.file_containing_extension))
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
      self = .allExtensionNumbersOfType(FieldReader.text(c.all_extension_numbers_of_type))
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
      self = .listServices(FieldReader.text(c.list_services))
    default: return nil
    }
  }

  func write(to c: inout Grpc__Reflection__V1__ServerReflectionRequest, _ writer: inout FieldWriter) {
    switch self {
    case .fileByFilename(let name):
      c.message_request_case = GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME
      c.file_by_filename = writer.cString(name)
    case .fileContainingSymbol(let symbol):
      c.message_request_case = GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL
      c.file_containing_symbol = writer.cString(symbol)
    case .fileContainingExtension(let request):
      c.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION
      c.file_containing_extension = writer.cMessage(request)
    case .allExtensionNumbersOfType(let type):
      c.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE
      c.all_extension_numbers_of_type = writer.cString(type)
    case .listServices(let text):
      c.message_request_case = GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES
      c.list_services = writer.cString(text)
    }
  }
}

extension GRPCReflection.ExtensionRequest: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Reflection__V1__ExtensionRequest>) {
    grpc__reflection__v1__extension_request__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.containingType, &c.containing_type)
    mapper.field(&value.extensionNumber, &c.extension_number)
  }
}

extension GRPCReflection.Response: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Reflection__V1__ServerReflectionResponse>) {
    grpc__reflection__v1__server_reflection_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.validHost, &c.valid_host)
    mapper.field(&value.originalRequest, &c.original_request)
    mapper.oneOf(&value.messageResponse, &c)
  }
}

extension GRPCReflection.Response.Answer: OneOf {
  init?(_ c: Grpc__Reflection__V1__ServerReflectionResponse) {
    switch c.message_response_case {
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE:
      self = .fileDescriptorResponse(GRPCReflection.FileDescriptorResponse(c.file_descriptor_response))
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ALL_EXTENSION_NUMBERS_RESPONSE:
      self = .allExtensionNumbersResponse(GRPCReflection.ExtensionNumberResponse(c.all_extension_numbers_response))
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE:
      self = .listServicesResponse(GRPCReflection.ListServiceResponse(c.list_services_response))
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE:
      self = .errorResponse(GRPCReflection.ErrorResponse(c.error_response))
    default: return nil
    }
  }

  func write(to c: inout Grpc__Reflection__V1__ServerReflectionResponse, _ writer: inout FieldWriter) {
    switch self {
    case .fileDescriptorResponse(let response):
      c.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE
      c.file_descriptor_response = writer.cMessage(response)
    case .allExtensionNumbersResponse(let response):
      c.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ALL_EXTENSION_NUMBERS_RESPONSE
      c.all_extension_numbers_response = writer.cMessage(response)
    case .listServicesResponse(let response):
      c.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE
      c.list_services_response = writer.cMessage(response)
    case .errorResponse(let response):
      c.message_response_case = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE
      c.error_response = writer.cMessage(response)
    }
  }
}

extension GRPCReflection.FileDescriptorResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Reflection__V1__FileDescriptorResponse>) {
    grpc__reflection__v1__file_descriptor_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.repeated(&value.fileDescriptorProto, &c.file_descriptor_proto, &c.n_file_descriptor_proto)
  }
}

extension GRPCReflection.ExtensionNumberResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Reflection__V1__ExtensionNumberResponse>) {
    grpc__reflection__v1__extension_number_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.baseTypeName, &c.base_type_name)
    mapper.repeated(&value.extensionNumber, &c.extension_number, &c.n_extension_number)
  }
}

extension GRPCReflection.ListServiceResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Reflection__V1__ListServiceResponse>) {
    grpc__reflection__v1__list_service_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.repeated(&value.service, &c.service, &c.n_service)
  }
}

extension GRPCReflection.ServiceResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Reflection__V1__ServiceResponse>) {
    grpc__reflection__v1__service_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.name, &c.name)
  }
}

extension GRPCReflection.ErrorResponse: MappedMessage {
  static var empty: Self { Self() }

  static func initialize(_ c: UnsafeMutablePointer<Grpc__Reflection__V1__ErrorResponse>) {
    grpc__reflection__v1__error_response__init(c)
  }

  static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper) {
    mapper.field(&value.errorCode, &c.error_code)
    mapper.field(&value.errorMessage, &c.error_message)
  }
}
