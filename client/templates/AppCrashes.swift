// In the app: what to capture, and how to send it. Copy and adapt.
import Foundation
import Framezero

enum AppCrashes {
    // The folder of the app group, so that the extension can write there too; without an extension, any folder of the app.
    static let group = "group.com.acme.shop"
    static let server = URL(string: "https://crashes.example.com")!
    static let key = "INGEST_KEY"

    static var folder: URL? {
        let top = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)
            ?? FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        guard let folder = top?.appendingPathComponent("Crashes", isDirectory: true) else { return nil }
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// First thing in main, on the main thread.
    static func install() {
        guard let folder = folder else { return }
        // framezero_install() copies; these few bytes are never freed.
        func text(_ string: String?) -> UnsafePointer<CChar>? { string.flatMap { UnsafePointer(strdup($0)) } }
        func info(_ key: String) -> String? { Bundle.main.object(forInfoDictionaryKey: key) as? String }
        let os = ProcessInfo.processInfo.operatingSystemVersion

        var options = framezero_options()
        options.folder = text(folder.path)
        // Only with the user's consent where your privacy policy needs one; the default is addresses only.
        options.privacy = Int32(FRAMEZERO_VALUES.rawValue)
        options.app_id = text(Bundle.main.bundleIdentifier)
        options.app_name = text(info("CFBundleName"))
        options.app_version = text(info("CFBundleShortVersionString"))
        options.app_build = text(info("CFBundleVersion"))
        #if os(macOS)
        options.os_name = text("macOS")
        #else
        options.os_name = text("iOS")
        #endif
        options.os_version = text("\(os.majorVersion).\(os.minorVersion).\(os.patchVersion)")
        let code = framezero_install(&options)
        if code != 0 { NSLog("framezero_install: %d", code) }
    }

    /// At start and when the network is back. A report is handed out at most once; what could not be sent is put back.
    static func sendPending() async {
        guard let folder = folder else { return }
        var path = [CChar](repeating: 0, count: Int(FRAMEZERO_PATH_MAX))
        while framezero_pending_next(folder.path, &path) > 0 {
            var request = URLRequest(url: server.appendingPathComponent("api/v1/reports"))
            request.httpMethod = "POST"
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.setValue(key, forHTTPHeaderField: "X-Framezero-Key")
            do {
                let file = URL(fileURLWithPath: String(cString: path))
                let (_, response) = try await URLSession.shared.upload(for: request, fromFile: file)
                let status = (response as? HTTPURLResponse)?.statusCode ?? 0
                if status == 0 || status == 429 || status >= 500 {
                    framezero_pending_return(path)
                    return
                }
                // Stored, or refused for good.
                framezero_pending_done(path)
            } catch {
                framezero_pending_return(path)
                return
            }
        }
    }
}
