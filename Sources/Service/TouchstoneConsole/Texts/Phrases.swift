// The console's words: headings, labels, buttons, notices.

extension Phrase {
  // MARK: Frame

  static let product = Phrase("Touchstone console", "Touchstone 控制台")
  static let skip = Phrase("Skip to the content", "跳到正文")
  static let mainMenu = Phrase("Main menu", "主菜单")
  static let language = Phrase("Language", "语言")
  static let search = Phrase("Find", "查找")
  static let events = Phrase("Events", "事件")
  static let policies = Phrase("Policies", "策略")
  static let explain = Phrase("Explain", "试算")
  static let health = Phrase("Health", "运行状况")
  static let signOut = Phrase("Sign out", "退出登录")
  static let utc = Phrase("All times are in UTC.", "所有时间均为 UTC（协调世界时）。")
  static func signedIn(_ name: String, _ role: String) -> Phrase { Phrase("\(name) (\(role))", "\(name)（\(role)）") }

  // MARK: Sign in

  static let signIn = Phrase("Sign in", "登录")
  static let operatorName = Phrase("Name", "用户名")
  static let password = Phrase("Password", "密码")
  static let signInFailed = Phrase(
    "The sign-in failed. Check the name and the password.", "登录失败。请检查用户名和密码。")
  static func signInLocked(minutes: Int) -> Phrase {
    Phrase(
      "Too many failed sign-ins. Try again in \(minutes) \(minutes == 1 ? "minute" : "minutes").",
      "登录失败次数过多，请在 \(minutes) 分钟后重试。")
  }
  static let signInBusy = Phrase(
    "Too many people sign in at this moment. Try again.", "当前登录人数过多，请重试。")
  static let signInNotRecorded = Phrase(
    "The audit log cannot be written, so the sign-in was not accepted. Try again, or look at the service's log.",
    "审计日志无法写入，因此未能登录。请重试，或查看服务日志。")
  static let sessionEnded = Phrase(
    "The session has ended. Sign in again. Nothing was changed by the last page.",
    "会话已结束，请重新登录。上一页没有更改任何内容。")
  static let sessionMoved = Phrase(
    "The session came from another network address and was ended. Sign in again.",
    "会话来自另一个网络地址，已被终止。请重新登录。")
  static let signedOut = Phrase("You are signed out.", "您已退出登录。")

  // MARK: Find

  static let findProfile = Phrase("Find a profile", "查找用户档案")
  static let application = Phrase("Application", "应用")
  static let profile = Phrase("Profile", "用户档案")
  static let profileHint = Phrase(
    "The person's id in the application, letter by letter: upper and lower case differ.",
    "该用户在应用中的标识，须逐字一致，区分大小写。")
  static let find = Phrase("Find", "查找")
  static let show = Phrase("Show", "显示")

  // MARK: Profile

  static let whyLoginFails = Phrase("Can the person log in now?", "此用户现在能否登录？")
  static let policy = Phrase("Policy", "策略")
  static let devices = Phrase("Devices", "设备")
  static let secrets = Phrase("Passcode and gesture", "数字密码和手势")
  static let noSecrets = Phrase("Neither a passcode nor a gesture is set.", "未设置数字密码或手势。")
  static let switches = Phrase("Switches", "开关")
  static let timeline = Phrase("Timeline", "时间线")
  static let revokedBindings = Phrase("Revoked bindings", "已撤销的绑定")
  static let noActiveBinding = Phrase("No device is bound.", "没有绑定任何设备。")
  static let noEvents = Phrase("There are no events.", "没有事件。")
  static let eventsUnavailable = Phrase("The events cannot be read now.", "现在无法读取事件。")
  static let unnamedDevice = Phrase("Unnamed device", "未命名设备")
  static let passkey = Phrase("Passkey", "通行密钥")
  static let binding = Phrase("Binding", "绑定")
  static let device = Phrase("Device", "设备")
  static let deviceID = Phrase("Device id", "设备标识")
  static let model = Phrase("Model", "型号")
  static let system = Phrase("System", "系统")
  static let biometry = Phrase("Biometrics", "生物识别")
  static let failures = Phrase("Failures in a row", "连续失败次数")
  static let state = Phrase("State", "状态")
  static let lockedOut = Phrase("Biometrics locked", "生物识别已锁定")
  static let notLocked = Phrase("Not locked", "未锁定")
  static let locked = Phrase("Locked", "已锁定")
  static let disabled = Phrase("Disabled until it is set anew", "已停用，须重新设置")
  static let lockedUntil = Phrase("Locked until", "锁定至")
  static let created = Phrase("Bound", "绑定时间")
  static let lastUsed = Phrase("Last login", "上次登录")
  static let lastPosture = Phrase("Last posture", "上次设备状态")
  static let proven = Phrase("proven by the device's key", "由设备密钥证明")
  static let unproven = Phrase("reported, not proven", "仅为上报，未经证明")
  static let never = Phrase("never", "从未")
  static let attestation = Phrase("Proof of the keys", "密钥证明")
  static let keys = Phrase("Keys", "密钥")
  static let enrolled = Phrase("enrolled", "已录入")
  static let notEnrolled = Phrase("not enrolled", "未录入")
  static let unavailable = Phrase("not available", "不可用")
  static let devicePasscode = Phrase("Device passcode", "设备锁屏密码")
  static let isSet = Phrase("set", "已设置")
  static let isNotSet = Phrase("not set", "未设置")
  static let isOn = Phrase("on", "开")
  static let isOff = Phrase("off", "关")
  static let passcode = Phrase("Passcode", "数字密码")
  static let gesture = Phrase("Gesture", "手势")
  static let preferred = Phrase("offered first", "优先提供")
  static let yes = Phrase("Yes", "能")
  static let no = Phrase("No", "不能")
  static let unknown = Phrase("Unknown", "未知")
  static let noRecovery = Phrase(
    "After five failures or a changed finger, the person could only bind a phone anew: no passcode, gesture or second key would serve.",
    "若失败五次或指纹发生变化，此用户只能重新绑定手机：没有可用的数字密码、手势或第二把密钥。")

  // MARK: Events

  static let time = Phrase("Time", "时间")
  static let event = Phrase("Event", "事件")
  static let caller = Phrase("Caller", "调用方")
  static let reason = Phrase("Reason", "原因")
  static let statedReason = Phrase("Stated reason", "所述理由")
  static let number = Phrase("No.", "编号")
  static let details = Phrase("Details", "详情")
  static let earlier = Phrase("Earlier events", "更早的事件")
  static let newest = Phrase("Newest events", "最新事件")
  static let follow = Phrase("Follow: refresh every 5 seconds", "跟踪：每 5 秒刷新")
  static let stopFollowing = Phrase("Stop refreshing", "停止刷新")
  static let following = Phrase("The page refreshes every 5 seconds.", "页面每 5 秒刷新一次。")
  static let allApplications = Phrase("All applications", "所有应用")
  static let kind = Phrase("Kind", "类型")
  static let allKinds = Phrase("All kinds", "所有类型")
  static let allEvents = Phrase("All events of this profile", "此用户档案的全部事件")
  static let erasedEvent = Phrase("Erased", "已删除")
  static func eventWindow(_ first: UInt64, _ last: UInt64) -> Phrase {
    Phrase("Events \(first) to \(last) were searched.", "已搜索编号 \(first) 至 \(last) 的事件。")
  }

  static func archivedEvents(_ last: UInt64) -> Phrase {
    Phrase(
      "Events up to \(last) were archived: they are in the archive's files (events-…-….jsonl).",
      "编号不超过 \(last) 的事件已归档，存放在归档文件（events-…-….jsonl）中。")
  }

  // MARK: Policies

  static let purpose = Phrase("Purpose", "用途")
  static let factors = Phrase("Factors", "验证方式")
  static let settings = Phrase("Settings", "设置")
  static let tryPolicy = Phrase("Explain with this policy", "用此策略试算")
  static let explainTitle = Phrase("What would a login be answered?", "登录会得到什么结果？")
  static let explainHint = Phrase(
    "Nothing is opened, counted or written. A binding without a posture is judged by the posture last seen.",
    "不会开启、计数或写入任何内容。未填写设备状态时，按该绑定上次的设备状态判断。")
  static let bindingID = Phrase("Binding id", "绑定标识")
  static let orProfile = Phrase("or profile id", "或用户档案标识")
  static let otherPosture = Phrase("A device in another state", "其他状态的设备")
  static let platform = Phrase("Platform", "平台")
  static let lastSeen = Phrase("as last seen", "按上次状态")
  static let osVersion = Phrase("System version", "系统版本")
  static let sensor = Phrase("Sensor", "传感器")
  static let sensorWorks = Phrase("The sensor works", "传感器可用")
  static let fingerEnrolled = Phrase("A finger or face is enrolled", "已录入指纹或面容")
  static let sensorLocked = Phrase("The device has locked its biometrics", "设备已锁定生物识别")
  static let devicePasscodeSet = Phrase("The device has a passcode", "设备已设锁屏密码")
  static let explainNow = Phrase("Explain", "试算")
  static let result = Phrase("Result", "结果")
  static let rules = Phrase("Rules", "规则")
  static let rule = Phrase("Rule", "规则")
  static let passed = Phrase("passed", "通过")
  static let notPassed = Phrase("not passed", "未通过")
  static let personSees = Phrase("The person reads", "用户看到的文字")
  static let postureUsed = Phrase("Posture used, seen", "所用设备状态，记录于")

  // MARK: Health

  static let thisReplica = Phrase("This replica", "本副本")
  static let store = Phrase("Store", "存储")
  static let replicas = Phrase("Replicas connected to the database", "已连接数据库的副本")
  static let auditLog = Phrase("Audit log", "审计日志")
  static let upkeep = Phrase("Upkeep", "维护任务")
  static let serving = Phrase("serving", "正在服务")
  static let notServing = Phrase("not serving", "未提供服务")
  static let version = Phrase("Version", "版本")
  static let startedAt = Phrase("Started", "启动时间")
  static let newestEvent = Phrase("Newest event", "最新事件编号")
  static let firstKeptEvent = Phrase("First event that is not archived", "第一条未归档事件编号")
  static let verifiedAt = Phrase("Last verified", "上次校验")
  static let intact = Phrase("intact", "完整")
  static let broken = Phrase("broken: run touchstone audit verify", "已损坏：请运行 touchstone audit verify")
  static let notYet = Phrase("not yet", "尚未")
  static let sweptAt = Phrase("Expired records last removed", "上次清理过期记录")
  static let archivedAt = Phrase("Events last archived", "上次归档事件")
  static let reloadedAt = Phrase("Configuration last reloaded", "上次重新加载配置")
  static let clockOffset = Phrase("Clock ahead of the database's", "时钟比数据库快")
  static let certificateEnd = Phrase("TLS certificate valid until", "TLS 证书有效期至")
  static let operatorSessions = Phrase("Sessions at this console", "本控制台的会话数")
  static let storeFails = Phrase("The store does not answer now.", "存储当前没有响应。")
  static func connections(_ count: Int) -> Phrase {
    Phrase(count == 1 ? "1 connection" : "\(count) connections", "\(count) 个连接")
  }
  static func clockSeconds(_ text: String) -> Phrase { Phrase("\(text) s", "\(text) 秒") }

  // MARK: Actions

  static let unlock = Phrase("Unlock…", "解锁…")
  static let revoke = Phrase("Revoke…", "撤销…")
  static let switchOn = Phrase("Switch on…", "开启…")
  static let switchOff = Phrase("Switch off…", "关闭…")
  static let prefer = Phrase("Offer first…", "优先提供…")
  static let preferNone = Phrase("Offer none first…", "取消优先…")
  static let erase = Phrase("Erase this profile…", "删除此用户档案…")
  static let eraseHeading = Phrase("Erasure", "删除")
  static let cancel = Phrase("Cancel", "取消")
  static let reasonLabel = Phrase("Reason, for the audit log (1 to 256 bytes)", "理由，写入审计日志（1 至 256 字节）")
  static let eraseReasonHint = Phrase(
    "The reason outlives the erasure, so it must not name the person: “requested in ticket 4711”.",
    "理由在删除后仍会保留，因此不得写出此人：例如“工单 4711 的请求”。")
  static let typeProfile = Phrase("Type the profile's id to confirm", "请输入用户档案标识以确认")
  static let typedWrong = Phrase(
    "The id that you typed differs. Nothing was erased.", "输入的标识不一致，没有删除任何内容。")
  static let nothingChanged = Phrase("Nothing was changed.", "没有更改任何内容。")
  static let backToProfile = Phrase("Back to the profile", "返回用户档案")
  static let backToSearch = Phrase("Back to the search", "返回查找")

  // MARK: Refusals

  static let refused = Phrase("Refused", "已拒绝")
  static let notFound = Phrase("Not found", "未找到")
  static let pageNotFound = Phrase("There is no such page.", "没有此页面。")
  static let unknownProfile = Phrase(
    "Nothing is known of this profile in this application. It may never have been bound, or it was erased.",
    "此应用中没有此用户档案的任何信息。它可能从未绑定，或已被删除。")
  static let notGranted = Phrase("Your role does not allow this.", "您的角色不允许此操作。")
  static let applicationNotGranted = Phrase(
    "You may not see this application.", "您无权查看此应用。")
  static let forgedForm = Phrase(
    "The form was not accepted, because it did not come from this console's own page. Nothing was changed. Open the page again.",
    "表单未被接受，因为它并非来自本控制台的页面。没有更改任何内容。请重新打开页面。")
  static let hostRemedy = Phrase(
    "Behind a proxy: it must pass the browser's Host on, or the setting console_url must be the URL in the address bar.",
    "若前面有代理：代理须转发浏览器的 Host，或将配置项 console_url 设为地址栏中的网址。")
  static let opening = Phrase("Opening the page", "正在打开页面")
  static let continueToPage = Phrase("Continue", "继续")
  static let malformedRequest = Phrase(
    "The request is malformed. Nothing was changed.", "请求格式有误，没有更改任何内容。")
  static let plaintext = Phrase(
    "The console is not served in plaintext beyond this machine.", "控制台不会以明文方式提供给其他机器。")
  static let meanwhile = Phrase("Changed meanwhile", "期间已有变更")
  static let serviceBusy = Phrase("The service cannot answer now. Try again.", "服务现在无法响应，请重试。")
  static let inDoubt = Phrase(
    "The service did not answer in time. The action may have been done: look at the profile before you try again.",
    "服务未及时响应。操作可能已执行：重试前请先查看用户档案。")
  static let invalid = Phrase("An input is wrong", "输入有误")
}
