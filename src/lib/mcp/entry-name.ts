const defaultName = 'service-cli'

/** The default name of the entry for a server of this kind of application. */
export function entryName(kind = 'unknown'): string {
  return kind === 'unknown' || !/^[A-Za-z0-9_-]{1,64}$/.test(kind) ? defaultName : kind
}
