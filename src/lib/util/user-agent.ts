import { version } from './version.ts'

/** What the commands of this program send, so that a server can tell its user's own looks from clients. */
export const userAgent = `service-cli/${version}`

export function isOwnUserAgent(header: string | undefined): boolean {
  return header?.startsWith('service-cli/') === true
}
