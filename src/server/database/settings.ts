import { isLoopback, withoutBrackets } from '../../lib/util/net.ts'
import { usage } from '../../lib/util/errors.ts'
import { Secret } from '../../lib/util/secret.ts'

/** Where a PostgreSQL database is, and how it is reached. */
export interface DatabaseSettings {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  /** Without one: `PGUSER`, else the user of this process. */
  readonly user: string | undefined
  /** Without one: `PGPASSWORD`, else the password file of PostgreSQL (`PGPASSFILE`). */
  readonly password: Secret | undefined
  /** Certificates are always verified. */
  readonly tls: boolean
  /** File of the certificate authority. */
  readonly rootCertificate: string | undefined
  /** `-c name=value` for each connection. */
  readonly options: string | undefined
}

/** The environment variable with the address of the database, which may have a password. */
export const databaseVariable = 'SERVICE_DATABASE_URL'

const form = 'write postgres://USER@HOST:5432/DATABASE'
const parameters = ['host', 'sslmode', 'sslrootcert', 'options']

/**
 * Parses `postgres://user:password@host:port/database`. `source` names the flag or variable in the
 * error, which never has the text: it may hold a password. Throws `usage_invalid`.
 */
export function parseDatabaseUrl(text: string, source: string): DatabaseSettings {
  const url = URL.parse(text)
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw usage(`${source} is not the address of a PostgreSQL database`, form)
  }
  const unknown = [...url.searchParams.keys()].find(name => !parameters.includes(name))
  if (unknown !== undefined) {
    throw usage(
      `${source} has the unknown parameter ${unknown}`,
      `the parameters are ${parameters.join(', ')}`,
    )
  }
  const parameter = (name: string) => url.searchParams.get(name) ?? undefined
  const database = decode(url.pathname.slice(1), source)
  if (database === '' || database.includes('/')) throw usage(`${source} names no database`, form)
  const host = parameter('host') ?? withoutBrackets(decode(url.hostname, source))
  if (host === '') throw usage(`${source} names no host`, form)
  return {
    host,
    port: url.port === '' ? 5432 : Number(url.port),
    database,
    user: url.username === '' ? undefined : decode(url.username, source),
    password: url.password === '' ? undefined : new Secret(decode(url.password, source)),
    tls: readTls(parameter('sslmode'), host, source),
    rootCertificate: parameter('sslrootcert'),
    options: parameter('options'),
  }
}

/** TLS is the default for every host but this machine. */
function readTls(mode: string | undefined, host: string, source: string): boolean {
  if (mode === undefined) return !(host.startsWith('/') || isLoopback(host))
  if (mode === 'verify-full') return true
  if (mode === 'disable') return false
  throw usage(`${source} has sslmode=${mode}`, 'sslmode is verify-full or disable')
}

function decode(text: string, source: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw usage(`${source} has an invalid % sequence`, 'write a % as %25')
  }
}

/** The database in messages: without user and password. */
export function databaseName({ host, port, database }: DatabaseSettings): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}/${database}`
}
