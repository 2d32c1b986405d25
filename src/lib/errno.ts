/** The `code` of an error of the operating system (`ENOENT`), or null for any other value. */
export function errnoOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || !('errno' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}
