// The whole extension (OS 27): the system starts it for a process of the app that crashed. Copy it into a target of the
// type "Crash Reporter Extension"; docs/client.md has the target's settings.
import ExtensionFoundation
import Foundation
import Framezero

#if canImport(CrashReportExtension)
import CrashReportExtension

@main
struct CrashReporter: CrashReporterExtension {
    init() {}

    // Synchronous: the corpse is gone when this returns.
    func processCrashReport(process: CrashedProcess) {
        let group = "group.com.acme.shop"
        // nil after re-signing without the entitlement.
        guard let top = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group) else { return }
        let folder = top.appendingPathComponent("Crashes", isDirectory: true)
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        folder.path.withCString { path in
            var options = framezero_options()
            options.folder = path
            // The most that is read; the level that the app set holds if it is lower.
            options.privacy = Int32(FRAMEZERO_VALUES.rawValue)
            let code = framezero_capture_corpse(process.corpsePort, process.reason.exception, &options)
            if code != 0 { NSLog("framezero_capture_corpse: %d", code) }
        }
    }
}
#else
// The SDK of the simulator lacks the framework; the target still has to build.
@main
struct CrashReporter: AppExtension {
    init() {}
    var configuration: some AppExtensionConfiguration { ConnectionHandler { _ in false } }
}
#endif
