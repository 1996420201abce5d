// `import Security` for code that is written for Apple's module of that name. All of it is in LocalAuthentication; this is a
// module, and a product, of its own so that those who need none have none: where it can be imported, `canImport(Security)`
// is true.

@_exported public import LocalAuthentication
