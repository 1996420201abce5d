// `import Security` for code that is written for Apple's module of that name. LocalAuthentication has everything. This
// is a separate module and product, because `canImport(Security)` is true wherever it can be imported, and most
// packages do not want that.

@_exported public import LocalAuthentication
