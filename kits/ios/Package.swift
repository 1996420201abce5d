// swift-tools-version: 5.9
import PackageDescription

#if os(Linux)
  // For tests: a simulated phone behind Apple's names. deploy/release/kit-ios names it by address and version.
  let dependencies: [Package.Dependency] = [.package(name: "touchstone", path: "../..")]
  let phone: [Target.Dependency] = [.product(name: "LocalAuthentication", package: "touchstone")]
#else
  let dependencies: [Package.Dependency] = []
  let phone: [Target.Dependency] = []
#endif

let package = Package(
  name: "TouchstoneKit",
  platforms: [.iOS(.v15), .macOS(.v12), .visionOS(.v1)],
  products: [.library(name: "TouchstoneKit", targets: ["TouchstoneKit", "TouchstoneKitCore"])],
  dependencies: dependencies,
  targets: [
    // The decisions, which need no phone.
    .target(name: "TouchstoneKitCore"),
    // Keychain, prompts and calls.
    .target(name: "TouchstoneKit", dependencies: ["TouchstoneKitCore"] + phone),
  ])
