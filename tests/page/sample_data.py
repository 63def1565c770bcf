"""Reports of an app that does not exist, for the page's tests and screenshots: a shop with a few dozen bugs.

reports(n) gives the bodies of n reports in framezero's own format, always the same ones. Bugs differ in how often and in
which versions they happen, as those of a real app do.
"""

import json
import random

APP = {"id": "com.acme.shop", "name": "Shop"}
MAIN = {"uuid": "5f1e2d3c-4b5a-3697-8877-66554433aa01", "name": "Shop", "arch": "arm64", "address": "0x102000000",
        "path": "/private/var/containers/Bundle/Application/Shop.app/Shop", "size": 4194304}
SYSTEM = [
    ("UIKitCore", "/System/Library/PrivateFrameworks/UIKitCore.framework/UIKitCore", 0x190000000),
    ("CoreFoundation", "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation", 0x1a0000000),
    ("libdispatch.dylib", "/usr/lib/system/libdispatch.dylib", 0x1b0000000),
    ("libobjc.A.dylib", "/usr/lib/libobjc.A.dylib", 0x1c0000000),
    ("SwiftUI", "/System/Library/Frameworks/SwiftUI.framework/SwiftUI", 0x1d0000000),
    ("libsystem_kernel.dylib", "/usr/lib/system/libsystem_kernel.dylib", 0x1e0000000),
]
TAP = [("UIKitCore", "-[UIControl sendAction:to:forEvent:]"), ("UIKitCore", "-[UIControl _sendActionsForEvents:withEvent:]"),
       ("UIKitCore", "-[UIWindow sendEvent:]"), ("UIKitCore", "-[UIApplication sendEvent:]"),
       ("CoreFoundation", "__CFRunLoopDoSources0"), ("CoreFoundation", "CFRunLoopRunSpecific"), ("UIKitCore", "UIApplicationMain")]
QUEUE = [("libdispatch.dylib", "_dispatch_call_block_and_release"), ("libdispatch.dylib", "_dispatch_client_callout"),
         ("libdispatch.dylib", "_dispatch_lane_serial_drain"), ("libdispatch.dylib", "_dispatch_workloop_worker_thread")]
RAISE = [("CoreFoundation", "__exceptionPreprocess"), ("libobjc.A.dylib", "objc_exception_throw")]
# own functions with their files, newest first | frames above | frames below | what happened | weight | from which version on
BUGS = [
    ([("CartView.total(of:)", "CartView.swift", 118), ("CartView.refresh()", "CartView.swift", 64), ("CartViewController.viewWillAppear(_:)", "CartViewController.swift", 41)],
     [], TAP, {"signal": "SIGTRAP", "mach": "EXC_BREAKPOINT", "reason": "Index out of range"}, 40, 0),
    ([("-[SHPriceCell setPrice:]", "SHPriceCell.m", 87), ("-[SHPriceListController tableView:cellForRowAtIndexPath:]", "SHPriceListController.m", 203)],
     RAISE + [("CoreFoundation", "-[NSObject(NSObject) doesNotRecognizeSelector:]")], TAP,
     {"signal": "SIGABRT", "mach": "EXC_CRASH", "exception": "NSInvalidArgumentException",
      "reason": "-[NSNull doubleValue]: unrecognized selector sent to instance 0x1f8a3c2d0"}, 25, 0),
    ([("closure #1 in ImageCache.load(_:)", "ImageCache.swift", 152), ("ImageCache.load(_:)", "ImageCache.swift", 139)],
     [("libobjc.A.dylib", "objc_msgSend")], QUEUE, {"signal": "SIGSEGV", "mach": "EXC_BAD_ACCESS", "code": "KERN_INVALID_ADDRESS", "address": "0x10"}, 18, 1),
    ([("PaymentSheet.confirm()", "PaymentSheet.swift", 233), ("closure #2 in PaymentSheet.body.getter", "PaymentSheet.swift", 77)],
     [], [("SwiftUI", "partial apply for closure #1 in Button.body"), *TAP], {"signal": "SIGTRAP", "mach": "EXC_BREAKPOINT",
      "reason": "Fatal error: Unexpectedly found nil while unwrapping an Optional value"}, 14, 2),
    ([("shop::Catalogue::find(std::string const&) const", "catalogue.cpp", 310), ("shop::Search::run(shop::Query const&)", "search.cpp", 92)],
     [], QUEUE, {"signal": "SIGSEGV", "mach": "EXC_BAD_ACCESS", "code": "KERN_INVALID_ADDRESS", "address": "0x0"}, 9, 0),
    ([("-[SHSyncEngine applyChanges:]", "SHSyncEngine.m", 511), ("-[SHSyncEngine syncNow]", "SHSyncEngine.m", 120)],
     RAISE + [("CoreFoundation", "-[__NSArrayM objectAtIndex:]")], QUEUE,
     {"signal": "SIGABRT", "mach": "EXC_CRASH", "exception": "NSRangeException", "reason": "*** -[__NSArrayM objectAtIndex:]: index 7 beyond bounds [0 .. 2]"}, 7, 3),
    ([("Checkout.submit(order:)", "Checkout.swift", 58), ("CheckoutModel.send()", "CheckoutModel.swift", 31)],
     [("libsystem_kernel.dylib", "__ulock_wait2")], TAP, {"signal": "SIGKILL", "mach": "EXC_CRASH", "reason": "0x8badf00d: scene-update watchdog transgression"}, 5, 4),
    ([("LoginFlow.handle(callback:)", "LoginFlow.swift", 144)], [], TAP, {"signal": "SIGTRAP", "mach": "EXC_BREAKPOINT", "reason": "Fatal error: 'try!' expression unexpectedly raised an error"}, 4, 4),
    ([("-[SHBarcodeReader captureOutput:didOutput:]", "SHBarcodeReader.m", 74)], [("libobjc.A.dylib", "objc_release")], QUEUE,
     {"signal": "SIGSEGV", "mach": "EXC_BAD_ACCESS", "code": "KERN_INVALID_ADDRESS", "address": "0x7fffffffffffffe8"}, 3, 0),
]
MORE = ("Wishlist.move(from:to:)", "RecipeParser.parse(_:)", "ReviewForm.validate()", "StoreMap.annotate(_:)", "PushRouter.open(_:)",
        "-[SHVideoPlayer seekTo:]", "OrderHistory.merge(_:)", "CouponScanner.decode(_:)", "ProfileEditor.save()",
        "shop::Cache::evict(unsigned long)", "Downloader.resume(task:)", "-[SHKeychain readItem:]", "AddressBook.match(_:)",
        "Recommendations.rank(_:)", "Migration.run(from:)", "TabBar.badge(for:)", "WidgetTimeline.next()", "Receipt.verify()")
for number, name in enumerate(MORE):
    file = name.split(".")[0].strip("-[").split(" ")[0].split("::")[-1] + ".swift"
    BUGS.append(([(name, file, 20 + 7 * number)], [], TAP if number % 2 else QUEUE,
                 {"signal": ("SIGTRAP", "SIGSEGV", "SIGABRT")[number % 3]}, 2.2 - number * 0.1, number % 6))
VERSIONS = [("4.0", "400"), ("4.1", "410"), ("4.1.1", "411"), ("4.2", "420"), ("4.2", "421"), ("4.3", "430")]
SYSTEMS = ["17.6.1", "18.0", "18.1", "18.1.1", "18.2", "26.0", "26.1"]
DEVICES = ["iPhone14,5", "iPhone15,2", "iPhone15,3", "iPhone16,1", "iPhone17,1", "iPhone17,3", "iPad13,4", "iPad14,1"]


def frame(image, function, file=None, line=None):
    base = int(MAIN["address"], 16) if image == "Shop" else next(at for name, _, at in SYSTEM if name == image)
    symbol = {"function": function}
    if file:
        symbol.update(file=f"/Users/ci/shop/Sources/{file}", line=line)
    return {"address": hex(base + 0x1000 + sum(map(ord, function)) * 64), **symbol}


def report(rng, newest):
    """One report from a version up to VERSIONS[newest]."""
    own, above, below, crash, _, since = rng.choices(BUGS, [bug[4] if bug[5] <= newest else 0 for bug in BUGS])[0]
    version, build = VERSIONS[rng.choices(range(since, newest + 1), [3 ** i for i in range(newest + 1 - since)])[0]]
    frames = [frame(*one) for one in above] + [frame("Shop", *one) for one in own] + [frame(*one) for one in below]
    return json.dumps({
        "framezero": 1, "id": f"{rng.getrandbits(128):032x}", "app": {**APP, "version": version, "build": build},
        "os": {"name": "iOS", "version": rng.choices(SYSTEMS, [1, 2, 4, 5, 3, 6, 9])[0]}, "arch": "arm64",
        "device": {"model": rng.choices(DEVICES, [3, 5, 3, 6, 9, 7, 1, 1])[0]}, "crash": {"thread": 0, **crash},
        "threads": [{"index": 0, "name": "main", "crashed": True, "frames": frames},
                    {"index": 1, "frames": [frame("libsystem_kernel.dylib", "mach_msg2_trap")]}],
        "images": [MAIN] + [{"uuid": f"{at:032x}", "name": name, "path": path, "arch": "arm64", "address": hex(at), "size": 0x8000000}
                            for name, path, at in SYSTEM],
        "user": {"id": f"user-{int(rng.expovariate(1 / 90))}"}, "tags": {"channel": rng.choice(["beta", "store", "store", "store"])},
        "breadcrumbs": [{"timestamp": "2026-11-20T10:11:02Z", "category": "ui", "message": "opened the cart"}],
    }).encode()


def reports(n, newest=len(VERSIONS) - 1, seed=1):
    rng = random.Random(seed)
    return [report(rng, newest) for _ in range(n)]
