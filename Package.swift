// swift-tools-version:5.5
// The client of framezero, for apps: docs/client.md. The server is built with CMake.
import PackageDescription

let package = Package(
    name: "Framezero",
    platforms: [.iOS(.v12), .macOS(.v10_14), .tvOS(.v12)],
    products: [
        .library(name: "Framezero", type: .static, targets: ["Framezero"])
    ],
    targets: [
        .target(
            name: "Framezero",
            path: "client",
            exclude: ["CMakeLists.txt", "templates"],
            sources: ["src"],
            publicHeadersPath: "include",
            linkerSettings: [.linkedLibrary("c++")]
        )
    ],
    cLanguageStandard: .c11,
    cxxLanguageStandard: .cxx14
)
