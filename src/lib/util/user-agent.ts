import { version } from './version.ts'

/** User-Agent of the commands: lets a server tell its user's own requests from clients. */
export const userAgent = `service-cli/${version}`

export function isOwnUserAgent(header: string | undefined): boolean {
  return header?.startsWith('service-cli/') === true
}
