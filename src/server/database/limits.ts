/** Bounds of the stores of accounts and buckets, which tests shrink; times in milliseconds. */
export const storeDefaults = {
  /** A database that another process keeps locked is waited for this long. */
  maxStoreWaitMs: 5000,
  /** The signing keys of the accounts server are rotated this often. */
  keyRotationMs: 90 * 24 * 60 * 60 * 1000,
  /** The accounts server looks for keys rotated by another process this often. */
  keyPollMs: 1000,
}
