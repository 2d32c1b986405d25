import type { IncomingHttpHeaders } from 'node:http'

/** The revisions of the stateless era, newest first. Dates, so they compare as strings. */
export const statelessRevisions: readonly string[] = Object.freeze(['2026-07-28'])

const firstRevision = '2026-07-28'

/** Does the version belong to the era, served or not? */
export function isStatelessRevision(version: string): boolean {
  return version >= firstRevision
}

/** Does the version header name the era? */
export function namesStatelessEra(headers: IncomingHttpHeaders): boolean {
  const version = headers['mcp-protocol-version']
  return typeof version === 'string' && isStatelessRevision(version)
}
