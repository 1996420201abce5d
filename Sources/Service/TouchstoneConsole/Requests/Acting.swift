// Pages that change something: first a confirmation, then the action.

internal import DispatchHTTP
internal import DispatchRPC
internal import TouchstoneCodec

extension Console {
  /// The order in a link or a form.
  private struct Order {
    var action: ConsoleAction
    var application: String
    var profile: String
    var target: String

    var profilePath: String { ConsoleLink.profile(application, profile) }
  }

  private func order(_ visit: Visit) -> Order? {
    guard let action = ConsoleAction(rawValue: visit.field(Form.Field.action)) else { return nil }
    return Order(
      action: action, application: visit.field(Form.Field.application), profile: visit.field(Form.Field.profile),
      target: visit.field(Form.Field.target))
  }

  /// The form that asks for the reason.
  func confirmation(_ visit: Visit) async -> HTTPResponse {
    guard let order = order(visit) else { return malformed(visit.request) }
    guard visit.operator.mayCall(order.action.method) else {
      let page = Page.message(
        visit.reader, .refused, [visit.reader(.notGranted)], back: (.backToProfile, order.profilePath))
      return visit.page(page, .forbidden)
    }
    do throws(CallFailure) {
      let profile = try await profile(of: order, visit)
      guard order.action.isDue(on: profile, target: order.target) else { return meanwhile(visit, order) }
      var view = view(of: order, profile, visit)
      // As it was typed before the session ended.
      view.reason = visit.field(Form.Field.reason)
      return visit.page(.action(visit.reader, view))
    } catch {
      return failure(error, visit, back: (.backToSearch, ConsolePath.home))
    }
  }

  /// Looks at the profile again, because another operator, or the person, may have been faster than this form.
  func act(_ visit: Visit) async -> HTTPResponse {
    guard let order = order(visit) else { return malformed(visit.request) }
    let reason = visit.field(Form.Field.reason)
    // The page has no such button for this role, so the form is not the page's: the service refuses it, and writes the
    // event.
    guard visit.operator.mayCall(order.action.method) else { return await perform(order, reason, visit, nil) }
    let profile: V1.GetProfileResponse
    do throws(CallFailure) {
      profile = try await self.profile(of: order, visit)
    } catch {
      guard error.code == .notFound else { return failure(error, visit, back: (.backToSearch, ConsolePath.home)) }
      return meanwhile(visit, order)
    }
    guard order.action.isDue(on: profile, target: order.target) else { return meanwhile(visit, order) }
    if order.action == .erase, !visit.field(Form.Field.confirmation).utf8.elementsEqual(order.profile.utf8) {
      return again(visit, order, profile, reason, visit.reader(.typedWrong))
    }
    return await perform(order, reason, visit, profile)
  }

  /// - Parameter profile: for the form, if it must be shown again.
  private func perform(
    _ order: Order, _ reason: String, _ visit: Visit, _ profile: V1.GetProfileResponse?
  ) async -> HTTPResponse {
    do throws(CallFailure) {
      // A role that may not change them is refused before they are read.
      let result = try await order.action.perform(
        by: visit.calls, applicationID: order.application, profileID: order.profile, target: order.target,
        settings: profile?.settings, reason: reason)
      return switch result {
      case .done(let archivedThrough): done(order, archivedThrough: archivedThrough, visit)
      case .nothingToDo: meanwhile(visit, order)
      }
    } catch {
      if error.reason == "SETTINGS_CHANGED" { return meanwhile(visit, order) }
      if error.code == .invalidArgument, let profile {
        return again(visit, order, profile, reason, "\(visit.reader(.invalid)): \(error.message)")
      }
      return failure(error, visit, back: (.backToProfile, order.profilePath))
    }
  }

  /// Leads to a page that says so once.
  private func done(_ order: Order, archivedThrough: UInt64, _ visit: Visit) -> HTTPResponse {
    let path = order.action == .erase ? ConsolePath.home : order.profilePath
    var session = visit.session
    session.usedAt = clock()
    session.notice = Session.Notice(page: path, action: order.action, archivedThrough: archivedThrough)
    var response = redirect(to: path)
    let isSecure = ConsoleCookie.session(in: visit.request)?.isSecure == true
    response.fields.append(cookie(of: session, visit.key, isSecure: isSecure))
    return response
  }

  private func profile(of order: Order, _ visit: Visit) async throws(CallFailure) -> V1.GetProfileResponse {
    try await visit.calls(
      V1.AdministrationService.getProfile,
      V1.GetProfileRequest(applicationID: order.application, profileID: order.profile))
  }

  private func view(of order: Order, _ profile: V1.GetProfileResponse, _ visit: Visit) -> ActionView {
    let binding = profile.bindings.first {
      $0.state == .active
        && (order.action == .revoke ? $0.bindingID : $0.deviceID).utf8.elementsEqual(order.target.utf8)
    }
    return ActionView(
      action: order.action, applicationID: order.application, profileID: order.profile, target: order.target,
      targetName: order.action.hasTarget ? binding.map { Page.deviceName(visit.reader, $0) } : nil)
  }

  /// The form once more, with what was typed.
  private func again(
    _ visit: Visit, _ order: Order, _ profile: V1.GetProfileResponse, _ reason: String, _ error: String
  ) -> HTTPResponse {
    var view = view(of: order, profile, visit)
    view.reason = reason
    view.error = error
    return visit.page(.action(visit.reader, view), .badRequest)
  }

  private func meanwhile(_ visit: Visit, _ order: Order) -> HTTPResponse {
    let reader = visit.reader
    let back: (Phrase, String) =
      order.action == .erase ? (.backToSearch, ConsolePath.home) : (.backToProfile, order.profilePath)
    return visit.page(
      .message(reader, .meanwhile, [reader(order.action, .meanwhile), reader(.nothingChanged)], back: back),
      .conflict)
  }
}
