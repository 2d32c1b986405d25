import { isLoopback } from '../../lib/util/net.ts'
import { usage } from '../../lib/util/errors.ts'

/** The environment variable with the address of the database, which may have a password. */
export const databaseVariable = 'SERVICE_DATABASE_URL'

const form = 'write postgres://USER@HOST:5432/DATABASE'

/**
 * Parses `postgres://user:password@host:port/database`, with the parameters of libpq that `pg`
 * knows. TLS with a verified certificate is the default for every host but this machine. `source`
 * names the flag or variable in the error, which never has the text: it may hold a password. Throws
 * `usage_invalid`.
 */
export function parseDatabaseUrl(text: string, source: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw usage(`${source} is not the address of a PostgreSQL database`, form)
  }
  if (/%(?![0-9a-f]{2})/i.test(url.href)) {
    throw usage(`${source} has an invalid % sequence`, 'write a % as %25')
  }
  const host = hostOf(url)
  if (host === '') throw usage(`${source} names no host`, form)
  if (!/^\/[^/]+$/.test(url.pathname)) throw usage(`${source} names no database`, form)
  const mode = url.searchParams.get('sslmode')
  if (mode === null) {
    const isLocal = host.startsWith('/') || isLoopback(host)
    url.searchParams.set('sslmode', isLocal ? 'disable' : 'verify-full')
  } else if (mode !== 'verify-full' && mode !== 'disable') {
    throw usage(`${source} has sslmode=${mode}`, 'sslmode is verify-full or disable')
  }
  return url
}

/** A name, an address, or the folder of a Unix socket. */
function hostOf(url: URL): string {
  return url.searchParams.get('host') ?? url.hostname
}

/** The database in messages: without user and password. */
export function databaseName(url: URL): string {
  return `${hostOf(url)}:${url.port || 5432}${url.pathname}`
}
