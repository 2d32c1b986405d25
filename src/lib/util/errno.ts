/** The `code` of an error of the operating system (`ENOENT`), or null for any other value. */
export function errnoOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || !('errno' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

/** Returns whether the path does not exist. */
export function isMissing(error: unknown): boolean {
  const code = errnoOf(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ELOOP: 'too many symbolic links',
}

/** The reason why a file cannot be read, in words; the error code when it has no words. */
export function readProblem(error: unknown): string {
  const code = errnoOf(error)
  return code === null ? 'unknown error' : (reasons[code] ?? code)
}
