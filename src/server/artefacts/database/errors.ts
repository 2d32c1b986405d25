import { connectionReason } from '../../../lib/util/connection-reason.ts'
import { messageOf, ServiceError } from '../../../lib/util/errors.ts'

/** The SQLSTATE of PostgreSQL or the code of a socket; null for any other error. */
function databaseCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

/** A serialization failure or a deadlock: the transaction can be repeated. */
export function isConflict(error: unknown): boolean {
  const code = databaseCode(error)
  return code === '40001' || code === '40P01'
}

/** An error of one statement, which leaves the connection usable. */
export function isStatementError(error: unknown): boolean {
  return (error as { severity?: unknown }).severity === 'ERROR'
}

/** The connection was lost before PostgreSQL had confirmed a change. */
export class Unconfirmed extends Error {
  constructor(cause: unknown) {
    super('a change was not confirmed', { cause })
  }
}

const sqlState = /^[0-9A-Z]{5}$/

/** What is wrong and what to do, by SQLSTATE or its class (PostgreSQL, appendix A). */
const reasons: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  '28P01': ['the password is wrong', 'check the user and the password of the address'],
  '28000': ['the user may not log in', 'check the user of the address and pg_hba.conf'],
  '3D000': ['the database does not exist', 'create it with createdb'],
  '42501': [
    'permission denied',
    'make the user the owner of the database, or grant it CREATE on the schema',
  ],
  '25006': ['it is read-only', 'name the primary server, not a standby'],
  '53300': ['too many connections', 'raise max_connections, or run fewer servers'],
  '55P03': ['another transaction kept it locked', 'try again'],
  '57014': ['the statement took too long', 'try again; look at the load of the database'],
  '57': ['PostgreSQL is starting or stopping', 'try again when it runs'],
  '08': ['the connection was cut', 'try again when PostgreSQL runs'],
  XX001: ['a table is damaged', 'look at the log of PostgreSQL, and restore a backup'],
  XX002: ['an index is damaged', 'run REINDEX'],
  XX: ['internal error', 'look at the log of PostgreSQL'],
}

/** By the text of errors of the driver, which have no code. */
const driverTexts: readonly (readonly [RegExp, readonly [reason: string, hint: string]])[] = [
  [
    /does not support SSL/,
    ['it has no TLS', 'turn TLS on there; ?sslmode=disable sends everything unencrypted'],
  ],
  [
    /password must be a( non-empty)? string/,
    ['it asks for a password', 'give it in SERVICE_DATABASE_URL, PGPASSWORD or a PGPASSFILE'],
  ],
  [
    /timeout exceeded when trying to connect/,
    ['no connection became free in time', 'look at the load of the database'],
  ],
  [/timeout/i, ['no answer in time', 'check host, port and network']],
  [/Connection terminated|not queryable/, ['the connection was cut', 'try again']],
  [/after calling end on the pool/, ['it is closed', 'the server is stopping']],
]

/**
 * What a caller gets for `error`; `what` says what did not happen. Errors that are not of the
 * database stay what they are. The details of PostgreSQL, which may hold values, are left out.
 * `data.reason` names no address.
 */
export function toDatabaseError(error: unknown, address: string, what: string): unknown {
  if (error instanceof ServiceError) return error
  if (error instanceof Unconfirmed) {
    const known = toDatabaseError(error.cause, address, 'a change was not confirmed')
    if (!(known instanceof ServiceError)) return known
    const hint = 'the change may have been made: look before you repeat it'
    return new ServiceError(known.code, known.message, { hint, data: known.data })
  }
  const code = databaseCode(error)
  const text = messageOf(error)
  const driver = driverTexts.find(([form]) => form.test(text))
  if (code === null && driver === undefined) return error
  if (code === '53100') {
    const hint = 'free space on the disk of PostgreSQL'
    const data = { reason: 'its disk is full' }
    return new ServiceError('storage_full', `${address}: ${what}: ${data.reason}`, { hint, data })
  }
  const known = code === null ? undefined : (reasons[code] ?? reasons[code.slice(0, 2)])
  const isOther = known === undefined && driver === undefined && sqlState.test(code ?? '')
  const [reason, hint] = known ??
    driver?.[1] ?? [
      isOther ? `PostgreSQL error ${code}` : connectionReason(code ?? ''),
      'check host, port and network, and that PostgreSQL runs',
    ]
  // Names tables and columns, no values.
  const told = isOther ? `${text} (${code})` : reason
  const data = { reason }
  return new ServiceError('storage_failed', `${address}: ${what}: ${told}`, { hint, data })
}

/** Reports a failing database as unavailable, so that the caller may try again. */
export function asUnavailable(error: unknown): never {
  if (!(error instanceof ServiceError) || error.code !== 'storage_failed') throw error
  throw new ServiceError('storage_unavailable', error.message, { hint: error.hint })
}
